"""Places: which stored message each message of a window is, so that the window can be stored."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.explanation import ExplainedPart
from ..core.messages import Message
from ..core.turns import Turn, append_message, arriving_messages
from ..storage.records import StoredMessage

__all__ = ["Places", "follow_window", "last_place", "newest_question", "read_places"]

Places = list[int | None]
"""The sequence number of each message of a window; None for one that the manager made."""


def read_places(rows: Sequence[StoredMessage]) -> Places:
    """Return the places of what these rows make when a manager restores them."""
    places: Places = []
    turns: list[Turn] = []
    for row in rows:
        arriving = arriving_messages(turns[-1] if turns else None, row["message"])
        for message in arriving:
            append_message(turns, message, 0)
        places += [None] * (len(arriving) - 1) + [row["seq"]]
    return places


def follow_window(
    places: Places,
    arrived: Sequence[int],
    dropped: Sequence[Message],
    parts: Sequence[ExplainedPart],
    question: int | None,
) -> Places:
    """Return the places of a window that had `places`, after messages have come and gone.

    `arrived`: the numbers of the new ones. `dropped`: all that left. `parts`: what `explain` tells
    of the window. `question`: the number of the newest question.
    """
    turns = [part["messages"] for part in parts if part["kept"]]
    kept = sum(map(len, turns))
    made = kept + len(dropped) - len(places) - len(arrived)
    every = [*places, *[None] * made, *arrived]
    rest = every[len(every) - kept :]
    # What left was in front, but for steps: these leave the newest turn, once that is alone, from
    # behind its question, if it has one.
    if len(turns) == 1 and turns[0][0]["role"] == "user":
        rest[0] = question
    return rest


def newest_question(places: Places, messages: Sequence[Message]) -> int | None:
    """Return the number of the newest question among `messages`, which have these `places`."""
    asked = [i for i, message in enumerate(messages) if message["role"] == "user"]
    return places[asked[-1]] if asked else None


def last_place(places: Places) -> int:
    """Return the highest number, 0 where there is none."""
    return max(filter(None, places), default=0)
