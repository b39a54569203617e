"""The backlog of a stored conversation: turns that left its window without being summarised.

A summary is stored with how many turns had left by then, where it does not tell of just these. So a
process that takes the conversation over knows which turns are missing from it.
"""

from __future__ import annotations

from ..core.messages import Message
from ..core.values import whole_number
from ..storage.records import Session, StoredTurn
from ..storage.store import Store

__all__ = ["MOST_TURNS", "find_waiting"]

MOST_TURNS = 64
"""How many turns may wait for a summary; older ones count as told, and stay in the store alone."""


def find_waiting(store: Store, session: Session, limit: int) -> tuple[list[list[Message]], int]:
    """Return the newest `limit` turns that left unsummarised, and how many have left in all.

    The turns come oldest first. Without a summary only those count that are found.
    """
    summary = session["summary"]
    if summary is None:
        waiting = newest_left(store, session, limit)
        return waiting, len(waiting)
    told = whole_number(summary.get("turns")) or 0
    dropped_turns = whole_number(summary.get("dropped_turns", told)) or 0
    limit = min(limit, max(dropped_turns - told, 0))
    return newest_left(store, session, limit), dropped_turns


def newest_left(store: Store, session: Session, limit: int) -> list[list[Message]]:
    """Return the newest turns that were in the window and have left it, oldest first."""
    ids, window = (session["user_id"], session["session_id"]), session["window"]
    start = window[0][0] if window else session["last_seq"] + 1
    found: list[list[Message]] = []
    # What belongs to an older turn: one that went on after another question had failed is several.
    rest: list[Message] = []
    before: int | None = None
    while len(found) < limit and (page := store.history(*ids, limit, before=before)):
        before = page[0]["turn"]
        for turn in reversed(page):
            messages = [row["message"] for row in turn["messages"] if row["seq"] < start]
            if messages and was_kept(turn):
                rest = [*messages, *rest]
                if rest[0]["role"] == "user":
                    found.append(rest)
                    rest = []
    if rest:
        found.append(rest)
    return found[limit - 1 :: -1] if limit else []


def was_kept(turn: StoredTurn) -> bool:
    """Return whether a turn was in the window: not where its question failed.

    One that failed later, after a tool's result, was.
    """
    roles = [row["message"]["role"] for row in turn["messages"]]
    return turn["status"] in ("complete", "interrupted") or "tool" in roles
