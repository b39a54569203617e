"""What a store holds, as plain values: sessions, turns, messages, and the ids that name them.

All of them are JSON objects with the same names in both languages and in every store. Times are
ISO 8601 texts in UTC with milliseconds; they are for people, nothing is ever ordered by them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, TypedDict, cast

from ..core.errors import InvalidIdError
from ..core.messages import Message
from ..core.values import JsonObject, canonical_json

__all__ = [
    "OpenedSession",
    "Ranges",
    "Removed",
    "Session",
    "SessionChanges",
    "Status",
    "StoredMessage",
    "StoredTurn",
    "cut_ranges",
    "end_of",
    "join_ranges",
    "message_text",
    "read_id",
    "read_ids",
    "system_clock",
    "timestamp",
]

Status = Literal["pending", "complete", "failed", "interrupted"]
"""How a turn stands: its answer is awaited, there, failed, or was stopped by its reader."""

Ranges = list[list[int]]
"""Ascending pairs `[first, last]` of sequence numbers, both ends included."""


class Session(TypedDict):
    """One conversation of one user, without its messages.

    `window` says which messages a model is sent, but for those in it that are marked as removed.
    `last_seq` and `last_turn` are the highest numbers ever given in this session; none is given
    twice. `revision` grows with every change and is another one in each of a user's sessions: the
    highest is the session used last.
    """

    user_id: str
    session_id: str
    system_prompt: str | None
    summary: JsonObject | None
    window: Ranges
    last_seq: int
    last_turn: int
    revision: int
    created_at: str
    updated_at: str


class SessionChanges(TypedDict, total=False):
    """What may be set on a session; what is absent stays as it is."""

    system_prompt: str | None
    summary: JsonObject | None
    window: Ranges


class StoredMessage(TypedDict):
    """A message with its sequence number in the session, which alone orders it."""

    seq: int
    created_at: str
    message: Message


class StoredTurn(TypedDict):
    """A turn with its number in the session, from one user message up to the next."""

    turn: int
    status: Status
    created_at: str
    messages: list[StoredMessage]


class OpenedSession(TypedDict):
    """A session with the messages of its window, oldest first."""

    session: Session
    messages: list[StoredMessage]


class Removed(TypedDict):
    """What was removed for good. `purge_pending`: its bytes leave the file at the next open.

    That is so where somebody else was reading the file, or writing it, all the while.
    """

    sessions: int
    turns: int
    messages: int
    purge_pending: bool


def read_id(name: str, value: object) -> str:
    """Return `value` as an id: any text but the empty one, never normalised, cut or folded.

    A lone surrogate is refused: it has no UTF-8, so SQLite could not hold it. Raises
    `InvalidIdError`, which calls the id by `name`.
    """
    if not isinstance(value, str):
        raise InvalidIdError(name, "wrong_type", "must be a string")
    if not value:
        raise InvalidIdError(name, "empty", "is empty; it must be at least one character long")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidIdError(name, "lone_surrogate", "holds half of a surrogate pair") from error
    return value


def read_ids(user_id: object, session_id: object) -> tuple[str, str]:
    """Return both as ids, or raise `InvalidIdError`."""
    return read_id("user_id", user_id), read_id("session_id", session_id)


def message_text(message: Message) -> str:
    """Return the one text of a message, in which stores keep and compare it."""
    return canonical_json(cast("JsonObject", message))


def system_clock() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


def timestamp(milliseconds: int) -> str:
    """Return a clock's time as records hold it: `2026-11-30T07:46:02.123Z`."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def end_of(ranges: Ranges) -> int:
    """Return the last number in `ranges`, 0 where there is none."""
    return ranges[-1][1] if ranges else 0


def join_ranges(ranges: Ranges, seqs: Iterable[int]) -> Ranges:
    """Return `ranges` with ascending `seqs` put behind them."""
    joined = [list(pair) for pair in ranges]
    for seq in seqs:
        if joined and joined[-1][1] == seq - 1:
            joined[-1][1] = seq
        else:
            joined.append([seq, seq])
    return joined


def cut_ranges(ranges: Ranges, end: int) -> Ranges:
    """Return what of `ranges` lies before the sequence number `end`."""
    return [[first, min(last, end - 1)] for first, last in ranges if first < end]
