"""What each call makes of a session: pure functions from its state to a change.

The same for every store: its shelf reads a `State`, hands it to one of these functions, and writes
the `Change` that comes back, in one transaction; after an error nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

from ..core.errors import (
    InvalidDocumentError,
    SessionBusyError,
    SessionExistsError,
    SessionNotFoundError,
)
from ..core.messages import Message
from .records import (
    Session,
    SessionChanges,
    Status,
    StoredMessage,
    cut_ranges,
    end_of,
    join_ranges,
    timestamp,
)

__all__ = [
    "Change",
    "Lease",
    "Rule",
    "State",
    "TurnRow",
    "append_messages",
    "clear_turns",
    "create_session",
    "no_session",
    "require_session",
    "require_writable",
    "retry_turn",
    "touch",
    "undo_turn",
    "update_session",
    "with_status",
]


class Lease(TypedDict):
    """Who alone may write to a session, and until when (milliseconds since 1970)."""

    holder: str
    until: int


class TurnRow(TypedDict):
    """A turn without its messages; it holds those from `first_seq` to `last_seq`."""

    turn: int
    status: Status
    removed: bool
    first_seq: int
    last_seq: int
    created_at: str


@dataclass(frozen=True)
class State:
    """What a rule reads: a session's row (None: there is none), its lease, and two of its turns.

    `last` is the newest turn, removed or not; `window_last` the turn of the window's last message.
    `revision` is the next one of the user.
    """

    user_id: str
    session_id: str
    revision: int
    session: Session | None
    lease: Lease | None
    last: TurnRow | None
    window_last: TurnRow | None


def no_session(user_id: str, session_id: str, revision: int) -> State:
    """Return the state of a session that is not there."""
    return State(user_id, session_id, revision, None, None, None, None)


@dataclass(frozen=True)
class Change:
    """What a shelf writes: the session's row and lease as they shall be, and rows of other tables.

    Turns from `remove_turns` on and messages from `remove_messages` on are marked as removed. Then
    `turns` are put in by their number, and `messages` (of the turn beside them), which are new.
    """

    session: Session
    lease: Lease | None
    turns: Sequence[TurnRow] = ()
    messages: Sequence[tuple[int, StoredMessage]] = ()
    remove_turns: int | None = None
    remove_messages: int | None = None


Rule = Callable[[State], Change]


def create_session(state: State, *, system_prompt: str | None, now: int) -> Change:
    """Make the session; raises `SessionExistsError` where there is one of this id."""
    if state.session is not None:
        raise SessionExistsError(state.user_id, state.session_id)
    session: Session = {
        "user_id": state.user_id,
        "session_id": state.session_id,
        "system_prompt": system_prompt,
        "summary": None,
        "window": [],
        "last_seq": 0,
        "last_turn": 0,
        "revision": state.revision,
        "created_at": timestamp(now),
        "updated_at": timestamp(now),
    }
    return Change(session, None)


def update_session(
    state: State, *, changes: SessionChanges, holder: str | None, now: int
) -> Change:
    """Set fields of the session."""
    session = require_writable(state, holder=holder, now=now)
    return Change(touch(state, session, changes, now), state.lease)


def append_messages(
    state: State,
    *,
    messages: Sequence[Message],
    status: Status,
    changes: SessionChanges,
    holder: str | None,
    now: int,
) -> Change:
    """Put messages behind the last: a user message opens a turn, all others join the newest one.

    One that was removed, or that failed out of the window, is joined by none: they open another.
    What joins one that failed in the window takes the place of the part that came of its answer.
    The newest turn takes `status`. One still pending when the next opens has failed. Without a
    `window` in `changes`, the messages join the window if the turn has an answer, and those that
    waited for it with them.
    """
    session = require_writable(state, holder=holder, now=now)
    seq, number, at = session["last_seq"], session["last_turn"], timestamp(now)
    turn = state.last
    if turn and (turn["removed"] or (turn["status"] == "failed" and turn != state.window_last)):
        turn = None
    part: int | None = None
    if turn and turn["status"] == "failed" and messages and messages[0]["role"] != "user":
        part = end_of(session["window"]) + 1
    start = seq + 1
    turns: dict[int, TurnRow] = {}
    rows: list[tuple[int, StoredMessage]] = []
    for message in messages:
        seq += 1
        if turn is None or message["role"] == "user":
            if turn and turn["status"] == "pending":
                turns[turn["turn"]] = with_status(turn, "failed")
                start = seq
            number += 1
            turn = new_turn(number, seq, at)
        turn = turn.copy()
        turn["last_seq"] = seq
        turns[turn["turn"]] = turn
        rows.append((turn["turn"], {"seq": seq, "created_at": at, "message": message}))
    if turn is not None:
        turns[turn["turn"]] = with_status(turn, status)
    window = session["window"]
    if status in ("complete", "interrupted"):
        if turn and turn["status"] == "pending":
            start = max(turn["first_seq"], end_of(window) + 1)
        window = join_ranges(window, range(start, seq + 1))
    appended: Session = {**session, "window": window, "last_seq": seq, "last_turn": number}
    changed = touch(state, appended, changes, now)
    return Change(changed, state.lease, list(turns.values()), rows, remove_messages=part)


def retry_turn(state: State, *, turn: int, holder: str | None, now: int) -> Change:
    """Take up the failed turn again: all but its user message is marked as removed.

    Nothing changes where another turn was opened since, even one that was undone. Raises
    `SessionBusyError` where somebody else took it up.
    """
    session = require_writable(state, holder=holder, now=now)
    last = state.last
    if last is None or last["turn"] != turn:
        return Change(session, state.lease)
    if last["removed"] or last["status"] != "failed":
        raise SessionBusyError(state.user_id, state.session_id)
    rows = [with_status(last, "pending")]
    after = last["first_seq"] + 1
    return Change(touch(state, session, {}, now), state.lease, rows, remove_messages=after)


def undo_turn(state: State, *, holder: str | None, now: int) -> Change:
    """Remove the window's last turn and what came after it; none that left it comes back."""
    session = require_writable(state, holder=holder, now=now)
    last = state.window_last
    if last is None:
        return Change(session, state.lease)
    window = cut_ranges(session["window"], last["first_seq"])
    undone = touch(state, session, {"window": window}, now)
    return Change(undone, state.lease, remove_turns=last["turn"])


def clear_turns(state: State, *, holder: str | None, now: int) -> Change:
    """Remove all turns and the summary."""
    session = require_writable(state, holder=holder, now=now)
    cleared = touch(state, session, {"window": [], "summary": None}, now)
    return Change(cleared, state.lease, remove_turns=1)


def new_turn(number: int, seq: int, at: str) -> TurnRow:
    return {
        "turn": number,
        "status": "complete",
        "removed": False,
        "first_seq": seq,
        "last_seq": seq,
        "created_at": at,
    }


def with_status(turn: TurnRow, status: Status) -> TurnRow:
    """Return the turn with another status."""
    changed = turn.copy()
    changed["status"] = status
    return changed


def require_session(state: State) -> Session:
    """Return the session, or raise `SessionNotFoundError`."""
    if state.session is None:
        raise SessionNotFoundError(state.user_id, state.session_id)
    return state.session


def require_writable(state: State, *, holder: str | None, now: int) -> Session:
    """Return the session if `holder` may write to it.

    A holder must still have the lease that it took: another one may have gone on since. Without a
    holder, nobody's lease may run. Raises `SessionBusyError` and `SessionNotFoundError`.
    """
    session = require_session(state)
    lease = state.lease
    free = (
        lease is None or lease["until"] <= now
        if holder is None
        else (lease is not None and lease["holder"] == holder)
    )
    if not free:
        raise SessionBusyError(state.user_id, state.session_id)
    return session


def touch(state: State, session: Session, changes: SessionChanges, now: int) -> Session:
    """Return the session with these changes, and as just changed; raises `InvalidDocumentError`."""
    changed = cast("Session", {**session, **changes})
    if end_of(changed["window"]) > changed["last_seq"]:
        raise InvalidDocumentError("window", f"goes beyond last_seq, {changed['last_seq']}")
    return {**changed, "revision": state.revision, "updated_at": timestamp(now)}
