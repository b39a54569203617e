"""`MemoryStore`: the store that lives and ends with its process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

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
from .records import Removed, Session, StoredMessage, StoredTurn, system_clock
from .rules import Rule, State, no_session
from .store import Store

__all__ = ["MemoryStore", "count_removed"]


class MemoryStore(Store):
    """Keeps sessions in this process's memory; its threads may share it."""

    def __init__(
        self,
        *,
        clock: Callable[[], int] = system_clock,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        super().__init__(MemoryShelf(), clock=clock, new_id=new_id)


@dataclass
class UserSheets:
    """One user's sessions by their ids, the one changed last at the end."""

    revision: int = 0
    sheets: dict[str, Sheet] = field(default_factory=dict[str, Sheet])


class MemoryShelf:
    """Holds sheets in dictionaries."""

    def __init__(self) -> None:
        self._users: dict[str, UserSheets] = {}
        self._lock = threading.Lock()

    def change(self, user_id: str, session_id: str, rule: Rule) -> Session:
        with self._lock:
            user = self._users.get(user_id, UserSheets())
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
                self._users[user_id] = user
            return copy_json(change.session)

    def open(self, user_id: str, session_id: str) -> tuple[State, list[StoredMessage]]:
        with self._lock:
            user = self._users.get(user_id, UserSheets())
            sheet = user.sheets.get(session_id)
            if sheet is None:
                return no_session(user_id, session_id, user.revision + 1), []
            return sheet_state(sheet, user.revision + 1), sheet_window(sheet)

    def sessions(self, user_id: str, limit: int | None) -> list[Session]:
        with self._lock:
            sheets = reversed(self._users.get(user_id, UserSheets()).sheets.values())
            return [copy_json(sheet.session) for sheet in islice(sheets, limit)]

    def turns(
        self, user_id: str, session_id: str, limit: int | None, before: int | None
    ) -> list[StoredTurn]:
        with self._lock:
            return sheet_turns(self._find(user_id, session_id), limit, before)

    def remove(self, user_id: str, session_id: str, check: Callable[[State], object]) -> Removed:
        with self._lock:
            sheet = self._find(user_id, session_id)
            check(sheet_state(sheet, 0))
            del self._users[user_id].sheets[session_id]
            return count_removed([sheet])

    def forget(self, user_id: str) -> Removed:
        with self._lock:
            return count_removed(self._users.pop(user_id, UserSheets()).sheets.values())

    def read(self, user_id: str, session_id: str | None) -> list[SessionDocument]:
        with self._lock:
            if session_id is None:
                sheets = list(self._users.get(user_id, UserSheets()).sheets.values())
            else:
                sheets = [self._find(user_id, session_id)]
            return [copy_json(write_sheet(sheet)) for sheet in sheets]

    def insert(self, user_id: str, sessions: Sequence[SessionDocument]) -> list[Session]:
        with self._lock:
            user = self._users.get(user_id, UserSheets())
            sheets = dict(user.sheets)
            for number, document in enumerate(sessions, user.revision + 1):
                if document["session_id"] in sheets:
                    raise SessionExistsError(user_id, document["session_id"])
                sheets[document["session_id"]] = read_sheet(document, user_id, number)
            self._users[user_id] = UserSheets(user.revision + len(sessions), sheets)
            return [copy_json(sheets[document["session_id"]].session) for document in sessions]

    def close(self) -> None:
        """Nothing is held open; what was stored goes with the store itself."""

    def _find(self, user_id: str, session_id: str) -> Sheet:
        user = self._users.get(user_id)
        sheet = user.sheets.get(session_id) if user else None
        if sheet is None:
            raise SessionNotFoundError(user_id, session_id)
        return sheet


def count_removed(sheets: Iterable[Sheet]) -> Removed:
    """Return the report of removing these sheets."""
    gone = list(sheets)
    turns = [turn for sheet in gone for turn in sheet.turns]
    return {
        "sessions": len(gone),
        "turns": len(turns),
        "messages": sum(len(turn["messages"]) for turn in turns),
        "purge_pending": False,
    }
