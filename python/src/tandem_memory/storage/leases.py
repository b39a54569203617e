"""Leases: who alone may write to a session, and what becomes of a turn whose writer is gone.

Rules as those in `rules` are: pure functions from a session's state to a change.
"""

from __future__ import annotations

from .rules import (
    Change,
    State,
    TurnRow,
    require_session,
    require_writable,
    touch,
    with_status,
)

__all__ = ["fail_pending", "is_deserted", "release_lease", "take_lease"]


def take_lease(state: State, *, holder: str, milliseconds: int, now: int) -> Change:
    """Make `holder` the session's one writer for so long, or prolong that.

    A turn that another holder left pending has failed. Raises `SessionBusyError` while another
    holder's lease runs.
    """
    lease = state.lease
    lease_is_own = lease is not None and lease["holder"] == holder
    session = require_writable(state, holder=holder if lease_is_own else None, now=now)
    taken = Change(session, {"holder": holder, "until": now + milliseconds})
    if lease_is_own or not is_pending(state):
        return taken
    return Change(touch(state, session, {}, now), taken.lease, failed_turns(state))


def release_lease(state: State, *, holder: str) -> Change:
    """End the holder's lease; one that it has not is left alone."""
    session = require_session(state)
    lease = state.lease
    return Change(session, None if lease and lease["holder"] == holder else lease)


def fail_pending(state: State, *, now: int) -> Change:
    """Make a deserted turn failed; where somebody took it up meanwhile, nothing changes."""
    session = require_session(state)
    if not is_deserted(state, now):
        return Change(session, state.lease)
    return Change(touch(state, session, {}, now), None, failed_turns(state))


def is_deserted(state: State, now: int) -> bool:
    """Whether the newest turn waits for an answer that nobody is getting: its process died."""
    return is_pending(state) and (state.lease is None or state.lease["until"] <= now)


def is_pending(state: State) -> bool:
    last = state.last
    return last is not None and not last["removed"] and last["status"] == "pending"


def failed_turns(state: State) -> list[TurnRow]:
    return [with_status(state.last, "failed")] if state.last else []
