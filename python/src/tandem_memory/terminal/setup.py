"""What was asked for on the command line, as models and chats."""

from __future__ import annotations

from dataclasses import replace

from ..chat.asynchronous import AsyncChat
from ..chat.correction import Corrections
from ..chat.engine import AsyncEngine
from ..chat.modelfile import load_models
from ..chat.settings import ModelEntry
from .archive import Archive
from .arguments import Arguments

__all__ = ["Setup"]

DEFAULT_PATH = "local/chat/small"

LEASE_MILLISECONDS = 5_000
"""Short, since somebody waits for it who has started the program again after a crash."""

WAIT_MILLISECONDS = 6_000
"""A little longer than a lease, so that a dead program is waited for."""


class Setup:
    """The model entries, and the wishes that hold for whichever of them is used.

    `think`: whether the model is to think; None is as its entry says. `summarize`: whether it is to
    summarise what is about to leave the window.

    Raises `InvalidModelFileError`.
    """

    def __init__(self, given: Arguments) -> None:
        self._models = load_models(given.file)
        self._host = given.host
        self._system = given.system
        self._turns = given.turns
        self.think = given.think
        self.summarize = given.summarize
        # What is learnt of a model holds for all sessions of the program.
        self._corrections = Corrections()

    @property
    def entries(self) -> list[ModelEntry]:
        """All entries, sorted by path."""
        return [self.find(path) for path in self._models.paths]

    def find(self, path: str | None) -> ModelEntry:
        """Return the entry at `path` as it is wished, or raise `UnknownModelError`."""
        entry = self._models.find(path or DEFAULT_PATH)
        host = self._host or entry.host
        return replace(entry, host=host, think=entry.think if self.think is None else self.think)

    async def open(
        self, engine: AsyncEngine, archive: Archive, session_id: str | None
    ) -> AsyncChat:
        """Return a chat in a session of the archive; None makes a new one."""
        return await AsyncChat.open(
            archive.store,
            archive.user_id,
            session_id,
            model=engine,
            wait_milliseconds=WAIT_MILLISECONDS,
            lease_milliseconds=LEASE_MILLISECONDS,
            system_prompt=self._system,
            max_turns=... if self._turns is None else self._turns,
            corrections=self._corrections,
            summarize=self.summarize,
        )
