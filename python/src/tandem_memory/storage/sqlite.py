"""`SqliteStore`: sessions in one SQLite file, which both languages may use at the same time."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence

from ..core.errors import SessionExistsError, SessionNotFoundError
from .database import Database
from .documents import SessionDocument, Sheet, read_sheet, turn_row, write_sheet
from .records import (
    Removed,
    Session,
    StoredMessage,
    StoredTurn,
    end_of,
    system_clock,
    timestamp,
)
from .rows import (
    INSERT_MESSAGE,
    INSERT_SESSION,
    MESSAGE,
    MESSAGES_OF_TURNS,
    NEWEST_TURNS,
    PUT_TURN,
    SESSION,
    TURN,
    UPDATE_SESSION,
    id_hash,
    message_values,
    read_lease,
    read_message_document,
    read_session,
    read_stored_message,
    read_stored_turn,
    read_turn,
    read_turn_document,
    session_values,
    turn_values,
)
from .rules import Change, Rule, State, TurnRow, no_session
from .store import Store

__all__ = ["SqliteStore"]

ALL = 2**53 - 1
"""More than there are of anything."""


class SqliteStore(Store):
    """Keeps sessions in the SQLite file at `path`, made if there is none.

    Several processes of both languages may use the file at once; threads may share the store. Close
    it, or use it as a context manager. Raises `StoreDamagedError`, `NotAStoreError` and
    `StoreTooNewError`, and leaves such a file as it is; every call may raise `StoreFullError` and
    `StoreUnavailableError`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Callable[[], int] = system_clock,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        shelf = SqliteShelf(Database(path, timestamp(clock())))
        super().__init__(shelf, clock=clock, new_id=new_id)


class SqliteShelf:
    """Holds rows in the tables that `migrations` made."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def change(self, user_id: str, session_id: str, rule: Rule) -> Session:
        with self._database.transaction("IMMEDIATE"):
            user_no, revision = self._user(user_id)
            session_no, state = self._state(user_id, session_id)
            change = rule(state)
            if session_no is None:
                user_no = user_no or self._insert_user(user_id)
                session_no = self._insert_session(user_no, change.session)
            self._write(session_no, change)
            if change.session["revision"] > revision:
                self._set_revision(user_no, change.session["revision"])
            return change.session

    def open(self, user_id: str, session_id: str) -> tuple[State, list[StoredMessage]]:
        with self._database.transaction("DEFERRED"):
            session_no, state = self._state(user_id, session_id)
            ends = "seq BETWEEN ? AND ? AND removed = 0"
            sql = f"{MESSAGE} WHERE session_no = ? AND {ends} ORDER BY seq"
            messages = [
                read_stored_message(row)
                for first, last in (state.session["window"] if state.session else [])
                for row in self._database.rows(sql, (session_no, first, last))
            ]
            return state, messages

    def sessions(self, user_id: str, limit: int | None) -> list[Session]:
        with self._database.transaction("DEFERRED"):
            sql = f"{SESSION} WHERE user_no = ? ORDER BY revision DESC LIMIT ?"
            user_no, _ = self._user(user_id)
            rows = self._database.rows(sql, (user_no, ALL if limit is None else limit))
            return [read_session(row, user_id) for row in rows]

    def turns(
        self, user_id: str, session_id: str, limit: int | None, before: int | None
    ) -> list[StoredTurn]:
        with self._database.transaction("DEFERRED"):
            session_no = self._find(user_id, session_id)
            ends = ALL if before is None else before, ALL if limit is None else limit
            rows = self._database.rows(NEWEST_TURNS, (session_no, *ends))
            turns = {row[0]: read_stored_turn(row) for row in reversed(rows)}
            if turns:
                sql = f"{MESSAGES_OF_TURNS} AND t.removed = 0 AND m.removed = 0 ORDER BY m.seq"
                for row in self._database.rows(sql, (session_no, min(turns), max(turns))):
                    turns[row[0]]["messages"].append(read_stored_message(row[1:]))
            return list(turns.values())

    def remove(self, user_id: str, session_id: str, check: Callable[[State], object]) -> Removed:
        with self._database.transaction("IMMEDIATE"):
            session_no, state = self._state(user_id, session_id)
            check(state)
            removed = self._remove([session_no])
        return self._purged(removed)

    def forget(self, user_id: str) -> Removed:
        with self._database.transaction("IMMEDIATE"):
            user_no, _ = self._user(user_id)
            rows = self._database.rows(f"{SESSION} WHERE user_no = ?", (user_no,))
            removed = self._remove([row[0] for row in rows])
            self._database.run("DELETE FROM users WHERE user_no = ?", (user_no,))
        return self._purged(removed)

    def read(self, user_id: str, session_id: str | None) -> list[SessionDocument]:
        with self._database.transaction("DEFERRED"):
            user_no, _ = self._user(user_id)
            sql = f"{SESSION} WHERE user_no = ? ORDER BY revision"
            if session_id is not None:
                sql = f"{SESSION} WHERE session_no = ?"
                user_no = self._find(user_id, session_id)
            rows = self._database.rows(sql, (user_no,))
            return [self._document(row[0], read_session(row, user_id)) for row in rows]

    def insert(self, user_id: str, sessions: Sequence[SessionDocument]) -> list[Session]:
        with self._database.transaction("IMMEDIATE"):
            user_no, revision = self._user(user_id)
            user_no = user_no or self._insert_user(user_id)
            added = [
                self._insert_document(user_no, user_id, document, number)
                for number, document in enumerate(sessions, revision + 1)
            ]
            self._set_revision(user_no, revision + len(added))
            return added

    def close(self) -> None:
        self._database.close()

    def _user(self, user_id: str) -> tuple[int | None, int]:
        sql = "SELECT user_no, revision FROM users WHERE id_hash = ?"
        rows = self._database.rows(sql, (id_hash(user_id),))
        return rows[0] if rows else (None, 0)

    def _state(self, user_id: str, session_id: str) -> tuple[int | None, State]:
        user_no, revision = self._user(user_id)
        sql = f"{SESSION} WHERE user_no = ? AND id_hash = ?"
        rows = self._database.rows(sql, (user_no, id_hash(session_id)))
        if not rows:
            return None, no_session(user_id, session_id, revision + 1)
        session_no: int = rows[0][0]
        session = read_session(rows[0], user_id)
        state = State(
            user_id,
            session_id,
            revision + 1,
            session,
            read_lease(rows[0]),
            self._turn_at(session_no, session["last_seq"]),
            self._turn_at(session_no, end_of(session["window"])),
        )
        return session_no, state

    def _turn_at(self, session_no: int, seq: int) -> TurnRow | None:
        sql = f"{TURN} WHERE session_no = ? AND first_seq <= ? ORDER BY turn DESC LIMIT 1"
        # Nothing is before the first message, and the whole index would be passed to see that.
        rows = self._database.rows(sql, (session_no, seq)) if seq else []
        return read_turn(rows[0]) if rows else None

    def _find(self, user_id: str, session_id: str) -> int:
        sql = """SELECT s.session_no FROM users u JOIN sessions s ON s.user_no = u.user_no
WHERE u.id_hash = ? AND s.id_hash = ?"""
        rows = self._database.rows(sql, (id_hash(user_id), id_hash(session_id)))
        if not rows:
            raise SessionNotFoundError(user_id, session_id)
        return rows[0][0]

    def _insert_user(self, user_id: str) -> int:
        sql = "INSERT INTO users (id_hash, user_id, revision) VALUES (?, ?, 0)"
        return self._database.run(sql, (id_hash(user_id), user_id))

    def _set_revision(self, user_no: int | None, revision: int) -> None:
        self._database.run("UPDATE users SET revision = ? WHERE user_no = ?", (revision, user_no))

    def _insert_session(self, user_no: int, session: Session) -> int:
        ids = user_no, id_hash(session["session_id"]), session["session_id"]
        return self._database.run(INSERT_SESSION, (*ids, *session_values(session)))

    def _write(self, session_no: int, change: Change) -> None:
        lease = change.lease
        holder = (lease["holder"], lease["until"]) if lease else (None, None)
        values = session_values(change.session)
        self._database.run(UPDATE_SESSION, (*values, *holder, session_no))
        if change.remove_turns is not None:
            sql = "UPDATE turns SET removed = 1 WHERE session_no = ? AND turn >= ? AND removed = 0"
            self._database.run(sql, (session_no, change.remove_turns))
        if change.remove_messages is not None:
            sql = "UPDATE messages SET removed = 1 WHERE session_no = ? AND seq >= ?"
            self._database.run(sql, (session_no, change.remove_messages))
        for turn in change.turns:
            self._database.run(PUT_TURN, (session_no, *turn_values(turn)))
        for _, stored in change.messages:
            values = message_values(stored, removed=False)
            self._database.run(INSERT_MESSAGE, (session_no, *values))

    def _document(self, session_no: int, session: Session) -> SessionDocument:
        sql = f"{TURN} WHERE session_no = ? ORDER BY turn"
        turns = {row[0]: read_turn_document(row) for row in self._database.rows(sql, (session_no,))}
        sql = f"{MESSAGES_OF_TURNS} ORDER BY m.seq"
        for row in self._database.rows(sql, (session_no, 0, ALL)):
            turns[row[0]]["messages"].append(read_message_document(row[1:]))
        return write_sheet(Sheet(session, list(turns.values())))

    def _insert_document(
        self, user_no: int, user_id: str, document: SessionDocument, revision: int
    ) -> Session:
        sheet = read_sheet(document, user_id, revision)
        _, state = self._state(user_id, document["session_id"])
        if state.session is not None:
            raise SessionExistsError(user_id, document["session_id"])
        session_no = self._insert_session(user_no, sheet.session)
        for turn in sheet.turns:
            self._database.run(PUT_TURN, (session_no, *turn_values(turn_row(turn))))
            for message in turn["messages"]:
                values = message_values(message, removed=message["removed"])
                self._database.run(INSERT_MESSAGE, (session_no, *values))
        return sheet.session

    def _remove(self, sessions: Sequence[int | None]) -> Removed:
        """Remove sessions by their numbers, and mark the file as to be purged."""
        turns = messages = 0
        for number in sessions:
            turns += self._count("SELECT count(*) FROM turns WHERE session_no = ?", number)
            messages += self._count("SELECT count(*) FROM messages WHERE session_no = ?", number)
            self._database.run("DELETE FROM sessions WHERE session_no = ?", (number,))
        self._database.run("UPDATE purges SET pending = 1")
        return {
            "sessions": len(sessions),
            "turns": turns,
            "messages": messages,
            "purge_pending": True,
        }

    def _count(self, sql: str, number: int | None) -> int:
        return self._database.rows(sql, (number,))[0][0]

    def _purged(self, removed: Removed) -> Removed:
        removed["purge_pending"] = self._database.purge()
        return removed
