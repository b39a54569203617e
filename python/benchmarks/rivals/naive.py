"""The twenty-line manager that every tutorial has: an upper bound, since it checks nothing."""

from __future__ import annotations

from collections.abc import Sequence

Message = dict[str, str]


class MemoryManager:
    """Keeps the system message and, after a reply, the last `2 * max_turns` messages."""

    def __init__(self, system_prompt: str, max_turns: int) -> None:
        self.messages: list[Message] = [{"role": "system", "content": system_prompt}]
        self.max_turns = max_turns

    def add_user_message(self, content: str) -> None:
        """Add a question."""
        self.messages.append({"role": "user", "content": content})

    def add_assistant_message(self, content: str) -> None:
        """Add a reply and drop what is too old."""
        self.messages.append({"role": "assistant", "content": content})
        if len(self.messages) > 1 + 2 * self.max_turns:
            self.messages = self.messages[:1] + self.messages[-2 * self.max_turns :]

    def get_messages(self) -> list[Message]:
        """Return the list itself."""
        return self.messages


class Naive:
    """A chat over it; `hands_out` asks for the messages before each reply, as a chat does."""

    name = "the twenty-line manager"

    def __init__(self, history: Sequence[Message], *, hands_out: bool) -> None:
        self.memory = MemoryManager(history[0]["content"], (len(history) - 1) // 2)
        self.memory.messages.extend(history[1:])
        self.hands_out = hands_out

    def run(self, turns: Sequence[tuple[str, str]]) -> None:
        """Chat for some turns."""
        for question, reply in turns:
            self.memory.add_user_message(question)
            if self.hands_out:
                self.memory.get_messages()
            self.memory.add_assistant_message(reply)
