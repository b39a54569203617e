"""What was asked for on the command line, as models and chats."""

from __future__ import annotations

from dataclasses import replace

from ..chat.asynchronous import AsyncChat
from ..chat.engine import AsyncEngine
from ..chat.modelfile import load_models
from ..chat.settings import ModelEntry
from .arguments import Arguments

__all__ = ["Setup"]

DEFAULT_PATH = "local/chat/small"


class Setup:
    """The model entries, and the wishes that hold for whichever of them is used.

    `think`: whether the model is to think; None is as its entry says.

    Raises `InvalidModelFileError`.
    """

    def __init__(self, given: Arguments) -> None:
        self._models = load_models(given.file)
        self._host = given.host
        self._system = given.system
        self._turns = given.turns
        self.think = given.think

    @property
    def entries(self) -> list[ModelEntry]:
        """All entries, sorted by path."""
        return [self.find(path) for path in self._models.paths]

    def find(self, path: str | None) -> ModelEntry:
        """Return the entry at `path` as it is wished, or raise `UnknownModelError`."""
        entry = self._models.find(path or DEFAULT_PATH)
        host = self._host or entry.host
        return replace(entry, host=host, think=entry.think if self.think is None else self.think)

    def start(self, engine: AsyncEngine) -> AsyncChat:
        """Return a new chat with the engine's model."""
        turns = ... if self._turns is None else self._turns
        return AsyncChat(engine, system_prompt=self._system, max_turns=turns)
