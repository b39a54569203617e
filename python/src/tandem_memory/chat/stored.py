"""`StoredJournal`: a conversation's memory that outlives its process, as a session of a store.

The question is stored as a pending turn before the model is called. The answer is stored with the
window that it leaves, in one transaction; so opening the session again restores just that window.
With a summary is stored how many turns had left by then: so a later process knows which of them it
tells of, and finds the others in the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Self, cast

from ..core.errors import (
    InvalidLimitError,
    SessionBusyError,
    SessionExistsError,
    SessionNotFoundError,
    TandemError,
)
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.values import JsonObject, whole_number
from ..storage.records import (
    OpenedSession,
    Session,
    SessionChanges,
    Status,
    join_ranges,
)
from ..storage.store import Store
from .backlog import find_waiting
from .journal import Journal
from .lease import Lease
from .places import Places, follow_window, last_place, newest_question, read_places

__all__ = ["StoredJournal"]

PAUSE = 0.05
"""How many seconds to wait before trying again to get a session that another writer has."""


class StoredJournal(Journal):
    """Writes the memory to one session of `store`, under a lease of its own for each turn."""

    def __init__(
        self,
        new_memory: Callable[[], MemoryManager],
        store: Store,
        session: Session,
        wait_milliseconds: int,
        lease_milliseconds: int,
        most_waiting: int,
    ) -> None:
        super().__init__(new_memory)
        self.session_id: str | None = session["session_id"]
        self._store = store
        self._ids = session["user_id"], session["session_id"]
        self._wait = wait_milliseconds / 1000
        self._lease = Lease(store, *self._ids, lease_milliseconds)
        self._most_waiting = most_waiting
        # The question of the exchange under way, while it is pending in the store.
        self._question: int | None = None
        self._is_asked = False
        self._session = session
        self._places: Places = []

    @classmethod
    def open(
        cls,
        new_memory: Callable[[], MemoryManager],
        store: Store,
        user_id: str,
        session_id: str | None,
        *,
        system_prompt: str | None,
        wait_milliseconds: int,
        lease_milliseconds: int,
        most_waiting: int,
    ) -> Self:
        """Open the user's session, or make it where there is none; None makes a new one.

        `most_waiting`: how many turns to look for that left without being summarised.
        """
        wait = read_milliseconds("wait_milliseconds", wait_milliseconds, 0)
        lease = read_milliseconds("lease_milliseconds", lease_milliseconds, 1)
        if session_id is None:
            session_id = store.create_session(user_id, system_prompt=system_prompt)["session_id"]
        try:
            opened = store.open_session(user_id, session_id)
        except SessionNotFoundError:
            with suppress(SessionExistsError):  # another made it just now
                store.create_session(user_id, session_id, system_prompt=system_prompt)
            opened = store.open_session(user_id, session_id)
        session = opened["session"]
        self = cls(new_memory, store, session, wait, lease, most_waiting)
        self._load(opened, session["system_prompt"] if system_prompt is None else system_prompt)
        return self

    def hold(self) -> Iterator[float]:
        """Take the session's lease, and take over what other writers have made of the session."""
        deadline = time.monotonic() + self._wait
        while True:
            try:
                session = self._lease.take()
            except SessionBusyError:
                if time.monotonic() >= deadline:
                    raise
                yield PAUSE
            else:
                break
        if session["revision"] != self._session["revision"]:
            self._reload()
        if self._is_asked:  # the store could not be told what came of the question before
            self._append([], "failed")
            self._question, self._is_asked = None, False

    def release(self) -> None:
        """Give the lease back."""
        self._lease.end()

    def ask(self, question: JsonObject | None) -> None:
        """Store the question as a pending turn, or take up the one that failed with it just now."""
        super().ask(question)
        if question is not None:
            self._question = self._retry(question)
            if self._question is None:
                self._append([question], "pending")
                self._question = self._session["last_seq"]
        self._is_asked = True

    def settle(
        self,
        *,
        memory: MemoryManager | None,
        message: JsonObject | None,
        dropped: Sequence[Message],
        status: Status,
    ) -> None:
        """Store `message`, how the turn stands, and the window that `memory` has, all at once."""
        messages = [] if message is None else [message]
        if memory is None:
            # Why the answer failed is worth more to the caller than why the store could not be told
            # of it; `hold` makes up for that.
            if self._is_asked:
                with suppress(TandemError):
                    self._append(messages, status)
                    self._question, self._is_asked = None, False
            return
        arrived = [] if self._question is None else [self._question]
        arrived.append(self._session["last_seq"] + 1)
        parts = memory.explain()["parts"]
        question = self._question
        if question is None:
            question = newest_question(self._places, self.memory.snapshot()["messages"])
        places = follow_window(self._places, arrived, dropped, parts, question)
        self._append(messages, status, self._changes(memory, places))
        self._question, self._is_asked = None, False
        self._places, self.memory = places, memory

    def undo(self) -> list[Message]:
        """Take the window's last turn back in the store too, and what failed after it."""
        memory = self.copy()
        undone = memory.undo()
        end = len(self._places) - len(undone)
        places, gone = self._places[:end], self._places[end:]
        # A turn in the window may be several in the store: one that went on after a failed one.
        while last_stored(self._session) in gone:
            self._write(lambda holder: self._store.undo(*self._ids, holder=holder))
        self._places, self.memory = places, memory
        return undone

    def clear(self) -> None:
        """Empty the session in the store too."""
        self._write(lambda holder: self._store.clear(*self._ids, holder=holder))
        self._places = []
        super().clear()

    def _load(self, opened: OpenedSession, system_prompt: str | None) -> None:
        """Make the memory what the session holds, within this conversation's limits."""
        session, rows = opened["session"], opened["messages"]
        messages = [row["message"] for row in rows]
        memory = self._new_memory()
        self.waiting, dropped_turns = find_waiting(self._store, session, self._most_waiting)
        snapshot = {
            "version": 1,
            "system_prompt": system_prompt,
            "summary": session["summary"],
            "dropped_turns": dropped_turns,
            "messages": messages,
        }
        left, places = memory.restore(snapshot), read_places(rows)
        question = newest_question([row["seq"] for row in rows], messages)
        self._places = follow_window(places, [], left, memory.explain()["parts"], question)
        self._session, self.memory = session, memory
        self._question, self._is_asked = None, False

    def _reload(self) -> None:
        """Take over what another writer has made of the session; an unsaved system prompt stays."""
        own = self.memory.system_prompt
        is_saved = own == self._session["system_prompt"]
        opened = self._store.open_session(*self._ids)
        self._load(opened, opened["session"]["system_prompt"] if is_saved else own)

    def _retry(self, question: JsonObject) -> int | None:
        """Take up the newest turn again where it failed with this question; returns its number."""
        end = last_place(self._places)
        if end == self._session["last_seq"]:
            return None
        newest = self._store.history(*self._ids, 1)
        # A turn that failed when it went on after its tool results is still in the window.
        if not newest or newest[0]["messages"][0]["seq"] <= end:
            return None
        retried: list[int] = []

        def retry(holder: str) -> None:
            turn = self._store.retry_turn(*self._ids, question, holder=holder)
            retried.extend(row["seq"] for row in (turn["messages"] if turn else []))

        self._write(retry)
        return retried[0] if retried else None

    def _changes(self, memory: MemoryManager, places: Places) -> SessionChanges:
        changes: SessionChanges = {"window": join_ranges([], filter(None, places))}
        if memory.system_prompt != self._session["system_prompt"]:
            changes["system_prompt"] = memory.system_prompt
        summary = cast("JsonObject | None", memory.summary)
        if summary is not None and summary["turns"] != memory.dropped_turns:
            summary["dropped_turns"] = memory.dropped_turns
        if summary != self._session["summary"]:
            changes["summary"] = summary
        return changes

    def _append(
        self, messages: Sequence[object], status: Status, changes: SessionChanges | None = None
    ) -> None:
        self._write(
            lambda holder: self._store.append(
                *self._ids, messages, status=status, changes=changes, holder=holder
            )
        )

    def _write(self, call: Callable[[str], Session | None]) -> None:
        self._session = self._lease.write(call)


def read_milliseconds(name: str, value: object, least: int) -> int:
    whole = whole_number(value)
    if whole is None or whole < least:
        raise InvalidLimitError(name, value, f"a whole number from {least} up")
    return whole


def last_stored(session: Session) -> int:
    return session["window"][-1][1] if session["window"] else 0
