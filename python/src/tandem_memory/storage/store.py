"""`Store`: the sessions of many users, behind one interface whatever holds them.

The calls and their rules are written once, here and in `rules`. What differs from one store to the
next is its shelf: where the rows are, and how a change to them is made all at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self

from ..core.messages import read_message
from .exports import (
    Export,
    read_changes,
    read_count,
    read_export,
    read_status,
    read_stored,
    write_export,
)
from .leases import fail_pending, is_deserted, release_lease, take_lease
from .records import (
    OpenedSession,
    Removed,
    Session,
    SessionChanges,
    Status,
    StoredTurn,
    message_text,
    read_id,
    read_ids,
    system_clock,
)
from .rules import (
    Change,
    append_messages,
    clear_turns,
    create_session,
    require_writable,
    retry_turn,
    undo_turn,
    update_session,
)
from .shelf import Shelf

__all__ = ["LEASE_MILLISECONDS", "Store"]

LEASE_MILLISECONDS = 30_000
"""How long a lease runs unless it is prolonged; a heartbeat every third of it is enough."""


class Store:
    """The sessions of users; see `MemoryStore`, `SqliteStore` and `JsonStore`.

    Every call names the user first, and sees that user's sessions alone. Ids are any text but the
    empty one (`InvalidIdError`). A call on a session that is not there raises
    `SessionNotFoundError`. Messages and records are copied on their way in and out. After an error
    the store is as it was before the call.

    `holder`: a call that writes to a session is refused with `SessionBusyError` while somebody
    else holds its lease; whoever took the lease names itself with each call.
    `clock`: the time in milliseconds since 1970. `new_id`: makes the id of a session without one.
    """

    def __init__(
        self,
        shelf: Shelf,
        *,
        clock: Callable[[], int] = system_clock,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self._shelf = shelf
        self._clock = clock
        self._new_id = new_id

    def create_session(
        self, user_id: str, session_id: str | None = None, *, system_prompt: str | None = None
    ) -> Session:
        """Make a session, of an id of its own where none is given; raises `SessionExistsError`."""
        made = self._new_id() if session_id is None else session_id
        prompt = read_changes({"system_prompt": system_prompt}).get("system_prompt")
        return self._change(user_id, made, partial(create_session, system_prompt=prompt))

    def open_session(self, user_id: str, session_id: str) -> OpenedSession:
        """Return a session with the messages of its window, at a cost of the window alone.

        A turn that a dead process left pending becomes failed once its lease has run out.
        """
        state, messages = self._shelf.open(*read_ids(user_id, session_id))
        session = state.session
        if session is None or is_deserted(state, self._clock()):
            session = self._change(user_id, session_id, fail_pending)
        return {"session": session, "messages": messages}

    def list_sessions(self, user_id: str, limit: int | None = None) -> list[Session]:
        """Return a user's sessions, the one used last first, at most `limit`; None is all."""
        read_id("user_id", user_id)
        return self._shelf.sessions(user_id, read_count("limit", limit))

    def delete_session(
        self, user_id: str, session_id: str, *, holder: str | None = None
    ) -> Removed:
        """Remove a session for good, what `undo` and `clear` had only marked included."""
        ids = read_ids(user_id, session_id)
        check = partial(require_writable, holder=holder, now=self._clock())
        return self._shelf.remove(*ids, check)

    def append(
        self,
        user_id: str,
        session_id: str,
        messages: Sequence[object],
        *,
        status: Status = "complete",
        changes: SessionChanges | None = None,
        holder: str | None = None,
    ) -> Session:
        """Store messages behind the last one, and set the newest turn's status and what changed.

        A user message opens a turn; all others join the newest one. A turn still pending when the
        next opens has failed. Where `changes` has no `window`, the messages join it, unless the
        turn is pending or has failed; those of a pending turn join it with the answer. The messages
        got the numbers up to the `last_seq` returned. Raises `InvalidMessageError`; a system
        message is one, as the system prompt has its field.
        """
        read = [read_stored(message, f"messages[{i}]") for i, message in enumerate(messages)]
        rule = partial(
            append_messages,
            messages=read,
            status=read_status(status),
            changes=read_changes(changes or {}),
            holder=holder,
        )
        return self._change(user_id, session_id, rule)

    def update_session(
        self, user_id: str, session_id: str, changes: SessionChanges, *, holder: str | None = None
    ) -> Session:
        """Set the session's system prompt, summary or window; what is absent stays."""
        rule = partial(update_session, changes=read_changes(changes), holder=holder)
        return self._change(user_id, session_id, rule)

    def retry_turn(
        self, user_id: str, session_id: str, message: object, *, holder: str | None = None
    ) -> StoredTurn | None:
        """Take up the newest turn again if it failed and `message` is its user message.

        It is pending then, and its user message is all that is left in it: so asking once more
        stores nothing twice. Returns None where there is no such turn, or one that was opened since
        was undone: that was the newest.
        """
        asked = read_message(message)
        turns = self.history(user_id, session_id, 1)
        if not turns or turns[0]["status"] != "failed":
            return None
        first = turns[0]["messages"][0]
        if asked["role"] != "user" or message_text(first["message"]) != message_text(asked):
            return None
        rule = partial(retry_turn, turn=turns[0]["turn"], holder=holder)
        if self._change(user_id, session_id, rule)["last_turn"] != turns[0]["turn"]:
            return None
        return {**turns[0], "status": "pending", "messages": [first]}

    def undo(self, user_id: str, session_id: str, *, holder: str | None = None) -> Session:
        """Take the window's last turn back, with what failed after it.

        The rows are marked, not removed; no turn that left the window comes back.
        """
        return self._change(user_id, session_id, partial(undo_turn, holder=holder))

    def clear(self, user_id: str, session_id: str, *, holder: str | None = None) -> Session:
        """Empty the session: its turns are marked as removed, its summary is dropped.

        The system prompt stays, and no number is given a second time.
        """
        return self._change(user_id, session_id, partial(clear_turns, holder=holder))

    def history(
        self, user_id: str, session_id: str, limit: int | None = 20, *, before: int | None = None
    ) -> list[StoredTurn]:
        """Return the newest `limit` turns, oldest first, failed ones too; None is all.

        `before`: only turns with a lower number, to page backwards. Raises `InvalidLimitError`.
        """
        ids = read_ids(user_id, session_id)
        return self._shelf.turns(*ids, read_count("limit", limit), read_count("before", before))

    def acquire_lease(
        self,
        user_id: str,
        session_id: str,
        holder: str,
        *,
        milliseconds: int = LEASE_MILLISECONDS,
    ) -> Session:
        """Make `holder` the session's one writer for so long; the same call again prolongs it.

        Raises `SessionBusyError` while another has it. A turn that another left pending has failed.
        Compare the returned `revision` with the one known: another writer may have gone on.
        """
        rule = partial(take_lease, holder=read_id("holder", holder), milliseconds=milliseconds)
        return self._change(user_id, session_id, rule)

    def release_lease(self, user_id: str, session_id: str, holder: str) -> Session:
        """End the holder's lease; where it has none, nothing changes."""
        rule = partial(release_lease, holder=read_id("holder", holder))
        return self._shelf.change(*read_ids(user_id, session_id), rule)

    def export_sessions(self, user_id: str, session_id: str | None = None) -> Export:
        """Return a session, or all of a user's, as one JSON document, removed rows and all.

        Its form is `shared-fixtures/schema/export.schema.json`.
        """
        read_id("user_id", user_id)
        if session_id is not None:
            read_id("session_id", session_id)
        return write_export(user_id, self._shelf.read(user_id, session_id))

    def import_sessions(self, document: object, *, user_id: str | None = None) -> list[Session]:
        """Add the sessions of an exported document, to another user if `user_id` says so.

        All of them or none: raises `InvalidDocumentError` and `SessionExistsError`.
        """
        export = read_export(document)
        owner = export["user_id"] if user_id is None else read_id("user_id", user_id)
        return self._shelf.insert(owner, export["sessions"])

    def forget(self, user_id: str) -> Removed:
        """Remove a user's every trace, leases notwithstanding, and tell what that was."""
        return self._shelf.forget(read_id("user_id", user_id))

    def close(self) -> None:
        """Close the store; it can't be used any more."""
        self._shelf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _change(self, user_id: str, session_id: str, rule: Callable[..., Change]) -> Session:
        ids = read_ids(user_id, session_id)
        return self._shelf.change(*ids, partial(rule, now=self._clock()))
