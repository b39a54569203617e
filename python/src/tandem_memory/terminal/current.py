"""The session that a talk is in: its chat, and the question in it that has no answer."""

from __future__ import annotations

from typing import Self

from ..chat.asynchronous import AsyncChat
from ..chat.engine import AsyncOllamaEngine
from .archive import Archive, export_name
from .history import render_opening, turn_question
from .setup import Setup
from .texts import HINTS

__all__ = ["Current"]

NEW = "new"
"""What asks for a session to begin, in the place of a session's id."""


class Current:
    """One session of the archive at a time.

    `chat`: the chat with the engine's model. `opening`: what to tell about the session.
    `failed`: the question to ask again, None where the last one was answered.
    """

    def __init__(
        self, setup: Setup, archive: Archive, place: str, engine: AsyncOllamaEngine, chat: AsyncChat
    ) -> None:
        self.chat = chat
        self.opening = ""
        self.failed: str | None = None
        self._setup = setup
        self._archive = archive
        self._place = place
        self._engine = engine

    @classmethod
    async def open(
        cls,
        setup: Setup,
        archive: Archive,
        engine: AsyncOllamaEngine,
        *,
        place: str,
        wish: str | None,
    ) -> Self:
        """Go on with the session of this id, or the newest.

        Where there is none, and where `NEW` is wished, one begins.
        """
        session = None if wish == NEW else archive.find(wish)
        chat = await setup.open(engine, archive, session["session_id"] if session else None)
        self = cls(setup, archive, place, engine, chat)
        self._look()
        return self

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.chat.session_id or ""

    @property
    def engine(self) -> AsyncOllamaEngine:
        """What runs the model."""
        return self._engine

    @engine.setter
    def engine(self, engine: AsyncOllamaEngine) -> None:
        self._engine = self.chat.engine = engine

    def is_empty(self) -> bool:
        """Return whether nothing has been asked in the session."""
        return not self._archive.turns(self.session_id, 1)

    async def enter(self, session_id: str | None) -> None:
        """Go on with another session, which begins where there is none; None is a new one."""
        await self._go_on(self._engine, session_id)
        self._look()

    async def use(self, engine: AsyncOllamaEngine) -> None:
        """Go on with another model."""
        await self._go_on(engine, self.session_id)
        self._engine = engine

    async def summarize(self) -> None:
        """Wait for a summary of what needs one, if summaries are wished for."""
        if self._setup.summarize and not await self.chat.settle():
            await self.chat.summarize()

    def export(self, file: str | None) -> None:
        """Write the session to `file`, or to one that is named after it."""
        self._archive.export_sessions(self.session_id, file or export_name(self.session_id))

    async def _go_on(self, engine: AsyncOllamaEngine, session_id: str | None) -> None:
        chat = await self._setup.open(engine, self._archive, session_id)
        await self.chat.close()
        self.chat = chat

    def _look(self) -> None:
        """See what the session is, and whether its last question was answered."""
        title = self._archive.title(self.session_id)
        self.opening = render_opening(self.session_id, title, self._place)
        self.failed = None
        for turn in self._archive.turns(self.session_id, 1):
            if turn["status"] in {"failed", "pending"}:
                self.failed = turn_question(turn)
                self.opening += "\n" + HINTS[f"last_{turn['status']}"]
