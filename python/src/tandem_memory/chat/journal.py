"""`Journal`: the memory of a conversation, and what is written down of it when.

An exchange writes its question before the model is called, and after that what came of it. It works
on a copy of the memory, which takes the memory's place only once it is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..core.manager import MemoryManager
from ..core.messages import Message, read_message
from ..core.values import JsonObject
from ..storage.records import Status

__all__ = ["Journal"]


class Journal:
    """Keeps the memory in this process alone; `StoredJournal` writes it down as well."""

    session_id: str | None = None
    """The session that it is written to, if any."""

    waiting: Sequence[Sequence[Message]] = ()
    """Turns of an earlier process that left without being summarised, oldest first."""

    def __init__(self, new_memory: Callable[[], MemoryManager]) -> None:
        self.memory = new_memory()
        self._new_memory = new_memory

    def hold(self) -> Iterator[float]:
        """Get the sole right to go on; yields how many seconds to wait before each further try."""
        return iter(())

    def release(self) -> None:
        """Give that right back, where it was got."""

    def copy(self) -> MemoryManager:
        """Return a copy of the memory, to go on with."""
        memory = self._new_memory()
        memory.restore(self.memory.snapshot(), trim=False)
        return memory

    def ask(self, question: JsonObject | None) -> None:
        """Check a question, and write it down; None goes on with the newest turn."""
        if question is not None:
            read_message(question)

    def settle(
        self,
        *,
        memory: MemoryManager | None,
        message: JsonObject | None,  # noqa: ARG002 - for those who write
        dropped: Sequence[Message],  # noqa: ARG002
        status: Status,  # noqa: ARG002
    ) -> None:
        """Let `memory` take the memory's place, and write down what has come to it.

        `memory`: a copy; None where the turn has failed, which leaves the memory as it is.
        `message`: what was added last, or the part that came of an answer that failed, if any.
        `dropped`: what left since the copy was made. `status`: how the turn stands.
        """
        if memory is not None:
            self.memory = memory

    def undo(self) -> list[Message]:
        """Drop the last turn of the window and return its messages."""
        return self.memory.undo()

    def clear(self) -> None:
        """Empty the conversation; the system prompt stays."""
        self.memory.clear()
