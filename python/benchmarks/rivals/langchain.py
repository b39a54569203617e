"""LangChain's `trim_messages`, before every model call and kept as the new history.

A window of messages is `token_counter=len`, by its reference. Keeping what is left as the history
is what the guide's `before_model` middleware does, and the kindest case: nothing old is read again.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    convert_to_messages,
    trim_messages,
)


class LangChain:
    """A chat over it."""

    name = "LangChain `trim_messages`"

    def __init__(self, history: Sequence[dict[str, str]]) -> None:
        self.messages: list[BaseMessage] = convert_to_messages(history)
        self.window = len(history)

    def run(self, turns: Sequence[tuple[str, str]]) -> None:
        """Chat for some turns."""
        for question, reply in turns:
            self.messages.append(HumanMessage(question))
            self.messages = trim_messages(
                self.messages,
                strategy="last",
                token_counter=len,
                max_tokens=self.window,
                start_on="human",
                include_system=True,
            )
            self.messages.append(AIMessage(reply))
