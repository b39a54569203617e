# ruff: noqa: D102 - `Shelf` says what each method of `SheetShelf` does
"""`SheetShelf`: a shelf that holds a user's sessions whole, on whatever desk they are laid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from ..core.errors import SessionExistsError, SessionNotFoundError
from ..core.values import copy_json
from .documents import (
    SessionDocument,
    Sheet,
    apply_change,
    read_sheet,
    sheet_state,
    sheet_turns,
    sheet_window,
    write_sheet,
)
from .records import Removed, Session, StoredMessage, StoredTurn
from .rules import Rule, State, no_session

__all__ = ["Desk", "SheetShelf", "UserSheets"]


@dataclass
class UserSheets:
    """One user's sessions by their ids, the one changed last at the end, and the last revision."""

    revision: int = 0
    sheets: dict[str, Sheet] = field(default_factory=dict[str, Sheet])


class Desk(Protocol):
    """Where a user's sheets are laid to be worked on, one user and one worker at a time."""

    def reading(self, user_id: str) -> AbstractContextManager[UserSheets]:
        """Lay out the user's sheets, or none where there is no such user."""
        ...

    def writing(self, user_id: str) -> AbstractContextManager[UserSheets]:
        """Lay them out, and keep them as the block leaves them, unless it raises.

        A user whose revision is 0 after that is dropped.
        """
        ...

    def close(self) -> None:
        """Give back what the desk holds open."""
        ...


class SheetShelf:
    """Holds sheets on a desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def change(self, user_id: str, session_id: str, rule: Rule) -> Session:
        with self._desk.writing(user_id) as user:
            revision = user.revision + 1
            sheet = user.sheets.get(session_id)
            state = sheet_state(sheet, revision) if sheet else None
            change = rule(state or no_session(user_id, session_id, revision))
            if sheet is None:
                sheet = Sheet(change.session)
            apply_change(sheet, change)
            if change.session["revision"] == revision:
                user.revision = revision
                user.sheets.pop(session_id, None)
                user.sheets[session_id] = sheet
            return copy_json(change.session)

    def open(self, user_id: str, session_id: str) -> tuple[State, list[StoredMessage]]:
        with self._desk.reading(user_id) as user:
            sheet = user.sheets.get(session_id)
            if sheet is None:
                return no_session(user_id, session_id, user.revision + 1), []
            return sheet_state(sheet, user.revision + 1), sheet_window(sheet)

    def sessions(self, user_id: str, limit: int | None) -> list[Session]:
        with self._desk.reading(user_id) as user:
            newest = islice(reversed(user.sheets.values()), limit)
            return [copy_json(sheet.session) for sheet in newest]

    def turns(
        self, user_id: str, session_id: str, limit: int | None, before: int | None
    ) -> list[StoredTurn]:
        with self._desk.reading(user_id) as user:
            return sheet_turns(find(user, user_id, session_id), limit, before)

    def remove(self, user_id: str, session_id: str, check: Callable[[State], object]) -> Removed:
        with self._desk.writing(user_id) as user:
            sheet = find(user, user_id, session_id)
            check(sheet_state(sheet, 0))
            del user.sheets[session_id]
            return count_removed([sheet])

    def forget(self, user_id: str) -> Removed:
        with self._desk.writing(user_id) as user:
            removed = count_removed(user.sheets.values())
            user.revision, user.sheets = 0, {}
            return removed

    def read(self, user_id: str, session_id: str | None) -> list[SessionDocument]:
        with self._desk.reading(user_id) as user:
            sheets = list(user.sheets.values())
            if session_id is not None:
                sheets = [find(user, user_id, session_id)]
            return [copy_json(write_sheet(sheet)) for sheet in sheets]

    def insert(self, user_id: str, sessions: Sequence[SessionDocument]) -> list[Session]:
        with self._desk.writing(user_id) as user:
            sheets = dict(user.sheets)
            for number, document in enumerate(sessions, user.revision + 1):
                if document["session_id"] in sheets:
                    raise SessionExistsError(user_id, document["session_id"])
                sheets[document["session_id"]] = read_sheet(document, user_id, number)
            user.revision += len(sessions)
            user.sheets = sheets
            return [copy_json(sheets[document["session_id"]].session) for document in sessions]

    def close(self) -> None:
        self._desk.close()


def find(user: UserSheets, user_id: str, session_id: str) -> Sheet:
    sheet = user.sheets.get(session_id)
    if sheet is None:
        raise SessionNotFoundError(user_id, session_id)
    return sheet


def count_removed(sheets: Iterable[Sheet]) -> Removed:
    gone = list(sheets)
    turns = [turn for sheet in gone for turn in sheet.turns]
    return {
        "sessions": len(gone),
        "turns": len(turns),
        "messages": sum(len(turn["messages"]) for turn in turns),
        "purge_pending": False,
    }
