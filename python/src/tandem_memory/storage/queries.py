"""One user's rows in PostgreSQL, as a transaction reads and writes them.

The statements of `rows` serve here too; what differs is that texts from outside are JSON (see
`tables`) and that rows go in by the list, since each statement is a message to another machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ..core.errors import SessionExistsError, SessionNotFoundError
from ..core.values import canonical_json
from .connections import Transaction
from .documents import SessionDocument, Sheet, read_sheet, turn_row, write_sheet
from .records import Ranges, Removed, Session, StoredMessage, StoredTurn, end_of
from .rows import (
    INSERT_SESSION,
    NEWEST_TURNS,
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
from .rules import Change, Lease, State, TurnRow, no_session

__all__ = ["UserRows", "lock_user", "look_up_user"]

Row = tuple[Any, ...]

ALL = 2**53 - 1
"""More than there are of anything."""

USER = "SELECT user_no, revision FROM users WHERE id_hash = ?"

# Where another transaction has just made the user, this waits for it, and locks the row.
INSERT_USER = """INSERT INTO users (id_hash, user_id, revision) VALUES (?, ?, 0)
ON CONFLICT (id_hash) DO UPDATE SET revision = users.revision RETURNING user_no, revision"""

PUT_TURNS = """INSERT INTO turns
SELECT ?, ?, turn, status, removed, first_seq, last_seq, created_at
FROM unnest(?::bigint[], ?::text[], ?::integer[], ?::bigint[], ?::bigint[], ?::text[])
AS t (turn, status, removed, first_seq, last_seq, created_at) ON CONFLICT (session_no, turn)
DO UPDATE SET status = excluded.status, last_seq = excluded.last_seq"""

INSERT_MESSAGES = """INSERT INTO messages (user_no, session_no, seq, created_at, message, removed)
SELECT ?, ?, seq, created_at, message, removed
FROM unnest(?::bigint[], ?::text[], ?::text[], ?::integer[])
AS m (seq, created_at, message, removed)"""

MESSAGES = """SELECT seq, created_at, message, removed FROM messages
WHERE session_no = ? AND seq BETWEEN ? AND ? ORDER BY seq"""

COUNT = """SELECT (SELECT count(*) FROM turns WHERE session_no = ANY (?)),
(SELECT count(*) FROM messages WHERE session_no = ANY (?))"""


def lock_user(transaction: Transaction, user_id: str) -> UserRows:
    """Wait for the user's other writers and keep them waiting; makes the user if need be."""
    id_hashed = id_hash(user_id)
    rows = transaction.run(f"{USER} FOR UPDATE", (id_hashed,))
    rows = rows or transaction.run(INSERT_USER, (id_hashed, canonical_json(user_id)))
    return UserRows(transaction, user_id, *rows[0])


def look_up_user(transaction: Transaction, user_id: str) -> UserRows:
    """Return what there is of the user, for reading."""
    rows = transaction.run(USER, (id_hash(user_id),)) or [(None, 0)]
    return UserRows(transaction, user_id, *rows[0])


class UserRows:
    """What a transaction does with the rows of the user that it names."""

    def __init__(
        self, transaction: Transaction, user_id: str, user_no: int | None, revision: int
    ) -> None:
        self._transaction = transaction
        self._user_id = user_id
        self._user_no = user_no
        self._revision = revision

    def sessions(self, order: str, limit: int | None) -> list[tuple[int, Session]]:
        """Return the user's sessions by revision, `ASC` or `DESC`, with their numbers.

        At most `limit`; None is all.
        """
        sql = f"{SESSION} WHERE user_no = ? ORDER BY revision {order} LIMIT ?"
        rows = self._transaction.run(sql, (self._user_no, limit))
        return [(row[0], read_session(decoded(row), self._user_id)) for row in rows]

    def find(self, session_id: str) -> tuple[int, Session, Lease | None]:
        """Return a session with its number and lease, or raise `SessionNotFoundError`."""
        sql = f"{SESSION} WHERE user_no = ? AND id_hash = ?"
        rows = self._transaction.run(sql, (self._user_no, id_hash(session_id)))
        if not rows:
            raise SessionNotFoundError(self._user_id, session_id)
        row = decoded(rows[0])
        return row[0], read_session(row, self._user_id), read_lease(row)

    def state(self, session_id: str) -> tuple[int | None, State]:
        """Return a session's number and its state."""
        revision = self._revision + 1
        try:
            session_no, session, lease = self.find(session_id)
        except SessionNotFoundError:
            return None, no_session(self._user_id, session_id, revision)
        last = self._turn_at(session_no, session["last_seq"])
        window_last = self._turn_at(session_no, end_of(session["window"]))
        state = State(self._user_id, session_id, revision, session, lease, last, window_last)
        return session_no, state

    def messages(self, session_no: int | None, ranges: Ranges) -> list[StoredMessage]:
        """Return a session's messages within these ranges that were not removed."""
        return [
            read_stored_message(row)
            for first, last in ranges
            for row in self._transaction.run(MESSAGES, (session_no, first, last))
            if not row[3]
        ]

    def turns(self, session_no: int, limit: int | None, before: int | None) -> list[StoredTurn]:
        """Return the newest turns that were not removed, numbered below `before`."""
        values = (session_no, ALL if before is None else before, limit)
        rows = self._transaction.run(NEWEST_TURNS, values)[::-1]
        turns = [read_stored_turn(row) for row in rows]
        for turn, messages in zip(turns, self._messages_of(session_no, rows), strict=True):
            turn["messages"] = [read_stored_message(each) for each in messages if not each[3]]
        return turns

    def document(self, session_no: int, session: Session) -> SessionDocument:
        """Return a session with all its rows."""
        rows = self._transaction.run(f"{TURN} WHERE session_no = ? ORDER BY turn", (session_no,))
        turns = [read_turn_document(row) for row in rows]
        for turn, messages in zip(turns, self._messages_of(session_no, rows), strict=True):
            turn["messages"] = [read_message_document(each) for each in messages]
        return write_sheet(Sheet(session, turns))

    def write(self, session_no: int | None, change: Change) -> None:
        """Write a change on the session, which is made where it has no number."""
        if session_no is None:
            session_no = self._insert_session(change.session)
        lease = change.lease
        holder = (canonical_json(lease["holder"]), lease["until"]) if lease else (None, None)
        values = (*encoded(change.session), *holder, session_no)
        self._transaction.run(UPDATE_SESSION, values)
        if change.remove_turns is not None:
            sql = "UPDATE turns SET removed = 1 WHERE session_no = ? AND turn >= ? AND removed = 0"
            self._transaction.run(sql, (session_no, change.remove_turns))
        if change.remove_messages is not None:
            sql = "UPDATE messages SET removed = 1 WHERE session_no = ? AND seq >= ?"
            self._transaction.run(sql, (session_no, change.remove_messages))
        self._put(session_no, change.turns, ((stored, False) for _, stored in change.messages))
        self._set_revision(change.session["revision"])

    def insert(self, document: SessionDocument) -> Session:
        """Add a session with all its rows."""
        number, state = self.state(document["session_id"])
        if number is not None:
            raise SessionExistsError(self._user_id, document["session_id"])
        sheet = read_sheet(document, self._user_id, state.revision)
        session_no = self._insert_session(sheet.session)
        messages = [each for turn in sheet.turns for each in turn["messages"]]
        turns = [turn_row(turn) for turn in sheet.turns]
        self._put(session_no, turns, ((each, each["removed"]) for each in messages))
        self._set_revision(state.revision)
        return sheet.session

    def remove(self, sessions: Sequence[int | None]) -> Removed:
        """Remove sessions by their numbers."""
        numbers = list(sessions)
        turns, messages = self._transaction.run(COUNT, (numbers, numbers))[0]
        sql = "DELETE FROM sessions WHERE session_no = ANY (?)"
        self._transaction.run(sql, (numbers,))
        return {
            "sessions": len(sessions),
            "turns": turns,
            "messages": messages,
            "purge_pending": False,
        }

    def remove_user(self) -> None:
        """Remove the user, of whom no session is left."""
        self._transaction.run("DELETE FROM users WHERE user_no = ?", (self._user_no,))

    def _set_revision(self, revision: int) -> None:
        if revision > self._revision:
            sql = "UPDATE users SET revision = ? WHERE user_no = ?"
            self._transaction.run(sql, (revision, self._user_no))
            self._revision = revision

    def _turn_at(self, session_no: int, seq: int) -> TurnRow | None:
        sql = f"{TURN} WHERE session_no = ? AND first_seq <= ? ORDER BY turn DESC LIMIT 1"
        # Nothing is before the first message, and the whole index would be passed to see that.
        rows = self._transaction.run(sql, (session_no, seq)) if seq else []
        return read_turn(rows[0]) if rows else None

    def _messages_of(self, session_no: int, turns: Sequence[Row]) -> list[list[Row]]:
        """Return the rows of messages of each of these turns, which are in their order.

        A join over ranges would do, but PostgreSQL may compare every message with every turn.
        """
        found: list[list[Row]] = [[] for _ in turns]
        place = 0
        ends = (turns[0][3], turns[-1][4]) if turns else (0, 0)
        for row in self._transaction.run(MESSAGES, (session_no, *ends)):
            while row[0] > turns[place][4]:
                place += 1
            if row[0] >= turns[place][3]:
                found[place].append(row)
        return found

    def _insert_session(self, session: Session) -> int:
        ids = self._user_no, id_hash(session["session_id"]), canonical_json(session["session_id"])
        sql = f"{INSERT_SESSION} RETURNING session_no"
        return self._transaction.run(sql, (*ids, *encoded(session)))[0][0]

    def _put(
        self,
        session_no: int,
        turns: Sequence[TurnRow],
        messages: Iterable[tuple[StoredMessage, bool]],
    ) -> None:
        """Put rows in; `messages` have beside them whether they are marked as removed."""
        owner = self._user_no, session_no
        stored = [message_values(each, removed=removed) for each, removed in messages]
        for sql, rows in (
            (PUT_TURNS, [turn_values(turn) for turn in turns]),
            (INSERT_MESSAGES, stored),
        ):
            if rows:
                self._transaction.run(sql, (*owner, *map(list, zip(*rows, strict=True))))


def encoded(session: Session) -> Row:
    """Return a session's values from `system_prompt` to `updated_at`, the prompt as JSON."""
    prompt, *others = session_values(session)
    return None if prompt is None else canonical_json(prompt), *others


def decoded(row: Row) -> Row:
    """Return a `SESSION` row with its id, system prompt and lease's holder as they came in."""
    texts = (1, 2, 10)
    return tuple(
        json.loads(value) if i in texts and value is not None else value
        for i, value in enumerate(row)
    )
