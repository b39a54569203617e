"""`Shelf`: what a store must be able to do with its rows; all else is the same for every store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .documents import SessionDocument
from .records import Removed, Session, StoredMessage, StoredTurn
from .rules import Rule, State

__all__ = ["Shelf"]


class Shelf(Protocol):
    """What holds the rows. Each call is one transaction: all of it happens, or nothing does.

    Ids have been checked. Returned values are the caller's own. A session that is not there raises
    `SessionNotFoundError`; in `change` and `open` it is a state without a session instead.
    """

    def change(self, user_id: str, session_id: str, rule: Rule) -> Session:
        """Read the session's state, write what `rule` makes of it, return its row after that."""
        ...

    def open(self, user_id: str, session_id: str) -> tuple[State, list[StoredMessage]]:
        """Return a session's state and the messages of its window."""
        ...

    def sessions(self, user_id: str, limit: int | None) -> list[Session]:
        """Return a user's sessions, the highest revision first, at most `limit`."""
        ...

    def turns(
        self, user_id: str, session_id: str, limit: int | None, before: int | None
    ) -> list[StoredTurn]:
        """Return the newest turns that were not removed, numbered below `before`, oldest first."""
        ...

    def remove(self, user_id: str, session_id: str, check: Callable[[State], object]) -> Removed:
        """Remove a session for good, unless `check` raises."""
        ...

    def forget(self, user_id: str) -> Removed:
        """Remove all that there is of a user."""
        ...

    def read(self, user_id: str, session_id: str | None) -> list[SessionDocument]:
        """Return one session, or all of a user's by ascending revision, with all their rows."""
        ...

    def insert(self, user_id: str, sessions: Sequence[SessionDocument]) -> list[Session]:
        """Add sessions in their order; raises `SessionExistsError` and then adds none of them."""
        ...

    def close(self) -> None:
        """Give back what the shelf holds open."""
        ...
