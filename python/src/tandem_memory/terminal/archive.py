"""The sessions of a user in a store, as the program shows, exports and removes them."""

from __future__ import annotations

import errno
import os
import re

from ..core.errors import (
    InvalidDocumentError,
    SessionNotFoundError,
    StoreFullError,
    StoreUnavailableError,
    quote,
)
from ..storage.exports import Export
from ..storage.jsonfile import document_text, read_document, write_document
from ..storage.records import Session, StoredTurn
from ..storage.store import Store
from .history import render_history, render_sessions, turn_title
from .keyboard import Keyboard
from .refusal import RefusedError
from .screen import Screen
from .texts import HINTS, count

__all__ = ["Archive", "export_name"]

NAMED = 10
"""How many sessions an error names."""


class Archive:
    """A user's sessions. What is asked for goes to the screen.

    Raises what the store does, and `RefusedError`.
    """

    def __init__(self, store: Store, user_id: str, screen: Screen, keyboard: Keyboard) -> None:
        self.store = store
        self.user_id = user_id
        self._screen = screen
        self._keyboard = keyboard

    def find(self, session_id: str | None) -> Session | None:
        """Return the session of this id, or without one the newest, or None where there is none."""
        if session_id is None:
            newest = self.store.list_sessions(self.user_id, 1)
            return newest[0] if newest else None
        try:
            return self.store.open_session(self.user_id, session_id)["session"]
        except SessionNotFoundError as error:
            raise RefusedError(self._missing(session_id)) from error

    def turns(self, session_id: str, limit: int | None) -> list[StoredTurn]:
        """Return the newest `limit` turns of a session; None is all."""
        return self.store.history(self.user_id, session_id, limit)

    def title(self, session_id: str) -> str:
        """Return how a session begins; `""` is an empty one."""
        turns = self.store.history(self.user_id, session_id, 1, before=2)
        # Only where its first turn was undone or cleared must all of it be read.
        turns = turns or self.turns(session_id, None)
        return turn_title(turns[0]) if turns else ""

    def list_sessions(self, current: str | None = None) -> None:
        """Print the list of sessions."""
        sessions = self.store.list_sessions(self.user_id)
        if not sessions:
            self._screen.remark(HINTS["nothing_stored"])
            return
        titles = [self.title(session["session_id"]) for session in sessions]
        self._screen.write(render_sessions(sessions, titles, self._screen.columns, current))

    def show_session(self, session_id: str | None, limit: int | None) -> None:
        """Print the newest `limit` turns of a session; None is all."""
        session = self.find(session_id)
        turns = self.turns(session["session_id"], limit) if session else []
        if turns:
            self._screen.write(render_history(turns))
        else:
            self._screen.remark(HINTS["nothing_stored"])

    def export_sessions(
        self, session_id: str | None, file: str | None, *, replace: bool = False
    ) -> None:
        """Write a session, or all of them, to `file`; None prints them."""
        if session_id is not None:
            self.find(session_id)
        document = self.store.export_sessions(self.user_id, session_id)
        if file is None:
            self._screen.write(document_text(document))
            return
        write_file(file, document, replace=replace)
        self._screen.remark(f"Wrote {count(len(document['sessions']), 'session')} to {file}.")

    def import_sessions(self, file: str, user_id: str | None) -> None:
        """Add the sessions of an exported document, to another user if `user_id` says so."""
        added = self.store.import_sessions(read_file(file), user_id=user_id)
        owner = f" of {quote(added[0]['user_id'])}" if added else ""
        self._screen.remark(f"Added {count(len(added), 'session')}{owner}.")

    async def forget(self, session_id: str | None, *, sure: str) -> bool:
        """Ask, then remove a session, or all of the user's; returns whether it did.

        `sure`: what to type where nobody is there to ask; `""` is that it was typed.
        """
        if session_id:
            self.find(session_id)
            what = f"the session {quote(session_id)}"
        else:
            what = count(len(self.store.list_sessions(self.user_id)), "session")
        if sure and not self._keyboard.interactive:
            raise RefusedError(f"nobody is there to ask; {sure} removes {what} for good")
        question = f"Remove {what} of {quote(self.user_id)} for good?"
        if sure and not await self._keyboard.confirm(question, enter=False):
            self._screen.remark(HINTS["kept"])
            return False
        if session_id:
            removed = self.store.delete_session(self.user_id, session_id)
        else:
            removed = self.store.forget(self.user_id)
        parts = [count(removed["sessions"], "session"), count(removed["turns"], "turn")]
        self._screen.remark(f"Removed {', '.join(parts)}, {count(removed['messages'], 'message')}.")
        if removed["purge_pending"]:
            self._screen.remark(HINTS["purge_pending"])
        return True

    def _missing(self, session_id: str) -> str:
        sessions = self.store.list_sessions(self.user_id, NAMED + 1)
        names = [quote(session["session_id"]) for session in sessions]
        there = ", ".join([*names[:NAMED], "…"] if len(names) > NAMED else names) or "none"
        return f"no session {quote(session_id)} of {quote(self.user_id)}; there are: {there}"


def export_name(session_id: str) -> str:
    """Return the name of a session's file: what of its id is plain enough for one."""
    plain = "-".join(re.findall("[A-Za-z0-9]+", session_id))[:40]
    return f"session-{plain}.json" if plain else "session.json"


def read_file(file: str) -> object:
    """Return the document in `file`; a problem with it is told in the same words everywhere."""
    try:
        return read_document(file)
    except InvalidDocumentError as error:
        raise RefusedError(f"{file} is no JSON in UTF-8") from error
    except FileNotFoundError as error:
        raise RefusedError(f"there is no file {file}") from error
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "unknown")
        raise RefusedError(f"{file} can't be read ({name})") from error


def write_file(file: str, document: Export, *, replace: bool) -> None:
    if not replace and os.path.lexists(file):
        raise RefusedError(f"there is a {file} already; name another file, or export with --force")
    try:
        write_document(file, document)
    except StoreFullError as error:
        raise RefusedError(f"there is no room to write {file}") from error
    except StoreUnavailableError as error:
        hint = "see that its folder exists and may be written"
        raise RefusedError(f"{file} can't be written; {hint}") from error
