"""Rows of the SQLite tables: the statements that name their columns, and their values as records.

The order of the columns in a statement is that of the values here. JSON is text in its one
canonical form, so that the same record is the same row from either language.
"""

from __future__ import annotations

import hashlib
import json
from typing import cast

from ..core.values import JsonValue, canonical_json
from .database import Row
from .documents import MessageDocument, TurnDocument
from .records import Session, StoredMessage, StoredTurn, message_text
from .rules import Lease, TurnRow

__all__ = [
    "INSERT_MESSAGE",
    "INSERT_SESSION",
    "MESSAGE",
    "MESSAGES_OF_TURNS",
    "NEWEST_TURNS",
    "PUT_TURN",
    "SESSION",
    "TURN",
    "UPDATE_SESSION",
    "id_hash",
    "message_values",
    "read_lease",
    "read_message_document",
    "read_session",
    "read_stored_message",
    "read_stored_turn",
    "read_turn",
    "read_turn_document",
    "session_values",
    "turn_values",
]

SESSION = """SELECT session_no, session_id, system_prompt, summary, window_ranges, last_seq,
last_turn, revision, created_at, updated_at, lease_holder, lease_until FROM sessions"""

INSERT_SESSION = """INSERT INTO sessions (user_no, id_hash, session_id, system_prompt, summary,
window_ranges, last_seq, last_turn, revision, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

UPDATE_SESSION = """UPDATE sessions SET system_prompt = ?, summary = ?, window_ranges = ?,
last_seq = ?, last_turn = ?, revision = ?, created_at = ?, updated_at = ?, lease_holder = ?,
lease_until = ? WHERE session_no = ?"""

TURN = "SELECT turn, status, removed, first_seq, last_seq, created_at FROM turns"

NEWEST_TURNS = f"""{TURN} WHERE session_no = ? AND removed = 0 AND turn < ?
ORDER BY turn DESC LIMIT ?"""

PUT_TURN = """INSERT INTO turns (session_no, turn, status, removed, first_seq, last_seq, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_no, turn)
DO UPDATE SET status = excluded.status, last_seq = excluded.last_seq"""

MESSAGE = "SELECT seq, created_at, message FROM messages"

MESSAGES_OF_TURNS = """SELECT t.turn, m.seq, m.created_at, m.message, m.removed FROM turns t
JOIN messages m ON m.session_no = t.session_no AND m.seq BETWEEN t.first_seq AND t.last_seq
WHERE t.session_no = ? AND t.turn BETWEEN ? AND ?"""

INSERT_MESSAGE = """INSERT INTO messages (session_no, seq, created_at, message, removed)
VALUES (?, ?, ?, ?, ?)"""


def id_hash(value: str) -> str:
    """Return what an id is found by: SHA-256 of its UTF-8, in hex."""
    return hashlib.sha256(value.encode()).hexdigest()


def session_values(session: Session) -> Row:
    """Return a session's values from `system_prompt` to `updated_at`."""
    summary = session["summary"]
    return (
        session["system_prompt"],
        None if summary is None else canonical_json(summary),
        canonical_json(cast("JsonValue", session["window"])),
        session["last_seq"],
        session["last_turn"],
        session["revision"],
        session["created_at"],
        session["updated_at"],
    )


def read_session(row: Row, user_id: str) -> Session:
    """Return the session of a `SESSION` row."""
    return {
        "user_id": user_id,
        "session_id": row[1],
        "system_prompt": row[2],
        "summary": None if row[3] is None else json.loads(row[3]),
        "window": json.loads(row[4]),
        "last_seq": row[5],
        "last_turn": row[6],
        "revision": row[7],
        "created_at": row[8],
        "updated_at": row[9],
    }


def read_lease(row: Row) -> Lease | None:
    """Return the lease of a `SESSION` row."""
    return None if row[10] is None else {"holder": row[10], "until": row[11]}


def turn_values(turn: TurnRow) -> Row:
    """Return a turn's values from `turn` to `created_at`."""
    return (
        turn["turn"],
        turn["status"],
        int(turn["removed"]),
        turn["first_seq"],
        turn["last_seq"],
        turn["created_at"],
    )


def read_turn(row: Row) -> TurnRow:
    """Return the turn of a `TURN` row."""
    return {
        "turn": row[0],
        "status": row[1],
        "removed": bool(row[2]),
        "first_seq": row[3],
        "last_seq": row[4],
        "created_at": row[5],
    }


def read_stored_turn(row: Row) -> StoredTurn:
    """Return the turn of a `TURN` row, still without messages."""
    return {"turn": row[0], "status": row[1], "created_at": row[5], "messages": []}


def read_turn_document(row: Row) -> TurnDocument:
    """Return the turn of a `TURN` row with what is stored beside it, still without messages."""
    return {
        "turn": row[0],
        "status": row[1],
        "removed": bool(row[2]),
        "created_at": row[5],
        "messages": [],
    }


def message_values(stored: StoredMessage, *, removed: bool) -> Row:
    """Return a message's values from `seq` to `removed`."""
    text = message_text(stored["message"])
    return stored["seq"], stored["created_at"], text, int(removed)


def read_stored_message(row: Row) -> StoredMessage:
    """Return the message of a `MESSAGE` row."""
    return {"seq": row[0], "created_at": row[1], "message": json.loads(row[2])}


def read_message_document(row: Row) -> MessageDocument:
    """Return the message of a row of `MESSAGES_OF_TURNS`, its turn left out."""
    return {**read_stored_message(row), "removed": bool(row[3])}
