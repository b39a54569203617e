"""`StoredJournal`: a conversation's memory that outlives its process, as a session of a store.

The question is stored as a pending turn before the model is called. The answer is stored with the
window that it leaves, in one transaction; so opening the session again restores just that window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Self, cast

from ..core.errors import (
    InvalidLimitError,
    SessionBusyError,
    SessionExistsError,
    SessionNotFoundError,
    TandemError,
)
from ..core.explanation import ExplainedPart
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.turns import Turn, append_message, arriving_messages
from ..core.values import JsonObject, whole_number
from ..storage.records import (
    OpenedSession,
    Session,
    SessionChanges,
    Status,
    StoredMessage,
    join_ranges,
)
from ..storage.store import Store
from .journal import Journal
from .lease import Lease

__all__ = ["StoredJournal"]

PAUSE = 0.05
"""How many seconds to wait before trying again to get a session that another writer has."""

Places = list[int | None]
"""The sequence number of each message of a window; None for one that the manager made."""


class StoredJournal(Journal):
    """Writes the memory to one session of `store`, under a lease of its own for each turn."""

    blocks = True

    def __init__(
        self,
        new_memory: Callable[[], MemoryManager],
        store: Store,
        opened: OpenedSession,
        system_prompt: str | None,
        wait_milliseconds: int,
        lease_milliseconds: int,
    ) -> None:
        super().__init__(new_memory)
        session = opened["session"]
        self.session_id: str | None = session["session_id"]
        self._store = store
        self._ids = session["user_id"], session["session_id"]
        self._wait = wait_milliseconds / 1000
        self._lease = Lease(store, *self._ids, lease_milliseconds)
        # The question of the exchange under way, while it is pending in the store.
        self._question: int | None = None
        self._is_asked = False
        self._load(opened, session["system_prompt"] if system_prompt is None else system_prompt)

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
    ) -> Self:
        """Open the user's session, or make it where there is none; None makes a new one."""
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
        return cls(new_memory, store, opened, system_prompt, wait, lease)

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

    def release(self) -> None:
        """Give the lease back."""
        self._lease.end()

    def ask(self, question: Message | None) -> None:
        """Store the question as a pending turn, or take up the one that failed with it just now."""
        if self._is_asked:  # the store could not be told what came of the question before
            self._append([], "failed")
        self._question = None
        if question is not None:
            self._question = self._retry(question)
            if self._question is None:
                self._append([question], "pending")
                self._question = self._session["last_seq"]
        self._is_asked = True

    def keep(
        self,
        memory: MemoryManager,
        message: JsonObject,
        dropped: Sequence[Message],
        status: Status = "complete",
    ) -> None:
        """Store `message` and the window that `memory` has, all at once."""
        parts = memory.explain()["parts"]
        kept = count(part for part in parts if part["kept"])
        arrived: Places = [self._session["last_seq"] + 1]
        if self._question is not None:
            arrived.insert(0, self._question)
        made = kept + len(dropped) - len(self._places) - len(arrived)
        places = follow([*self._places, *[None] * made, *arrived], parts)
        self._append([message], status, self._changes(memory, places))
        self._is_asked = False
        self._question = None
        self._places = places
        self.memory = memory

    def fail(self, part: JsonObject | None) -> None:
        """Store that the turn failed, with the part that came; neither is in the window."""
        # What failed is worth more to the caller than why the store could not be told of it; the
        # next question makes up for that.
        if self._is_asked:
            with suppress(TandemError):
                self._append([] if part is None else [part], "failed")
                self._is_asked = False

    def undo(self) -> list[Message]:
        """Take the window's last turn back in the store too, and what failed after it."""
        memory = self.copy()
        undone = memory.undo()
        places = self._places[: len(self._places) - len(undone)]
        # A turn in the window may be several in the store: one that went on after a failed one.
        while undone and last_stored(self._session) > last_place(places):
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
        memory = self._new_memory()
        snapshot = {
            "version": 1,
            "system_prompt": system_prompt,
            "summary": session["summary"],
            "messages": [row["message"] for row in rows],
        }
        memory.restore(snapshot)
        self._places = follow(read_places(rows), memory.explain()["parts"])
        self._session, self.memory = session, memory
        self._question, self._is_asked = None, False

    def _reload(self) -> None:
        """Take over what another writer has made of the session; an unsaved system prompt stays."""
        own = self.memory.system_prompt
        is_saved = own == self._session["system_prompt"]
        opened = self._store.open_session(*self._ids)
        self._load(opened, opened["session"]["system_prompt"] if is_saved else own)

    def _retry(self, question: Message) -> int | None:
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


def read_places(rows: Sequence[StoredMessage]) -> Places:
    """Return the places of what these rows make when they are restored."""
    places: Places = []
    turns: list[Turn] = []
    for row in rows:
        arriving = arriving_messages(turns[-1] if turns else None, row["message"])
        for message in arriving:
            append_message(turns, message, 0)
        places += [None] * (len(arriving) - 1) + [row["seq"]]
    return places


def follow(places: Places, parts: Sequence[ExplainedPart]) -> Places:
    """Return what is left of `places` in the window that `parts` explain.

    `parts` tell what the last add dropped; what left by others before it was all in front.
    """
    kept = count(part for part in parts if part["kept"])
    steps = count(part for part in parts if part["part"] == "steps")
    rest = places[len(places) - kept - steps :]
    # Steps leave the newest turn only once it is alone; its question, if it has one, stays.
    loose = 1 if parts and parts[-1]["messages"][0]["role"] == "user" else 0
    return rest[:loose] + rest[loose + steps :]


def count(parts: Iterable[ExplainedPart]) -> int:
    return sum(len(part["messages"]) for part in parts)


def last_place(places: Places) -> int:
    return max(filter(None, places), default=0)


def last_stored(session: Session) -> int:
    return session["window"][-1][1] if session["window"] else 0
