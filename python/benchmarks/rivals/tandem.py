"""`MemoryManager` with its defaults: each message checked, copied and its tokens estimated."""

from __future__ import annotations

from collections.abc import Sequence

from tandem_memory.core.manager import MemoryManager


class Tandem:
    """A chat over it; `hands_out` asks for the messages before each reply, as a chat does."""

    name = "Tandem Memory"

    def __init__(self, history: Sequence[dict[str, str]], *, hands_out: bool) -> None:
        self.memory = MemoryManager(history[0]["content"], (len(history) - 1) // 2)
        for message in history[1:]:
            self.memory.add(message)
        self.hands_out = hands_out

    def run(self, turns: Sequence[tuple[str, str]]) -> None:
        """Chat for some turns."""
        for question, reply in turns:
            self.memory.add_user_message(question)
            if self.hands_out:
                self.memory.get_messages()
            self.memory.add_assistant_message(reply)
