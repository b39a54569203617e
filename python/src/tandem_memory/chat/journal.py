"""`Journal`: the memory of a conversation, and what is written down of it when.

An exchange writes its question before the model is called, and after that what came of it: `keep`
or `fail`. It works on a copy of the memory, which takes the memory's place only once it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.values import JsonObject
from ..storage.records import Status

__all__ = ["Journal"]


class Journal:
    """Keeps the memory in this process alone; `StoredJournal` writes it down as well."""

    blocks = False
    """Whether calls wait for a disk or a network, so that an event loop must not make them."""

    session_id: str | None = None
    """The session that it is written to, if any."""

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
        memory.restore(self.memory.snapshot())
        return memory

    def ask(self, question: Message | None) -> None:
        """Write a question down; None goes on with the newest turn."""

    def keep(
        self,
        memory: MemoryManager,
        message: JsonObject,  # noqa: ARG002 - what a record needs
        dropped: Sequence[Message],  # noqa: ARG002
        status: Status = "complete",  # noqa: ARG002
    ) -> None:
        """Let `memory` take the memory's place: a copy, to which `message` was added last.

        `dropped`: what left it since it was copied. `status`: how the turn stands.
        """
        self.memory = memory

    def fail(self, part: JsonObject | None) -> None:
        """Leave the memory as it is; `part` is what had come of the answer."""

    def undo(self) -> list[Message]:
        """Drop the last turn of the window and return its messages."""
        return self.memory.undo()

    def clear(self) -> None:
        """Empty the conversation; the system prompt stays."""
        self.memory.clear()
