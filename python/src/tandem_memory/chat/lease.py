"""`Lease`: the sole right to write to a session, held for as long as a turn takes.

No lock of the store is held while a model speaks: a lease is a row that says who writes, and until
when. A heartbeat prolongs it, from a thread of its own, so that neither a slow model nor a busy
event loop lets it run out; it ends with the process.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from ..core.errors import TandemError
from ..storage.records import Session
from ..storage.store import Store

__all__ = ["Lease"]


class Lease:
    """The lease of one session, which runs `milliseconds` after each beat."""

    def __init__(self, store: Store, user_id: str, session_id: str, milliseconds: int) -> None:
        self._store = store
        self._ids = user_id, session_id
        self._milliseconds = milliseconds
        self._holder = str(uuid.uuid4())
        self._revision = 0
        self._stopped: threading.Event | None = None
        self._lock = threading.Lock()

    def take(self) -> Session:
        """Take it, or raise `SessionBusyError`; another writer may have gone on meanwhile."""
        with self._lock:
            session = self._acquire()
            self._revision = session["revision"]
            self._stopped = threading.Event()
            threading.Thread(target=self._keep_up, args=(self._stopped,), daemon=True).start()
            return session

    def write(self, call: Callable[[str], Session | None]) -> Session:
        """Make `call`, which writes as the holder that it is given; returns the session after it.

        That is what `call` returns; where it returns None, the session is read anew. Raises what
        `call` raises: `SessionBusyError` where the lease was lost.
        """
        with self._lock:
            session = call(self._holder) or self._acquire()
            self._revision = session["revision"]
            return session

    def end(self) -> None:
        """Give it back. Where the store can't be told, it runs out by itself."""
        with self._lock:
            if self._stopped is not None:
                self._stopped.set()
                self._stopped = None
                self._release()

    def _keep_up(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._milliseconds / 3000):
            with self._lock, suppress(TandemError):
                if not stopped.is_set():
                    self._beat(stopped)

    def _beat(self, stopped: threading.Event) -> None:
        # A process that was asleep may find that others have come and gone. What it was about to
        # write no longer fits, so it gives up, and its own next write is refused.
        if self._acquire()["revision"] != self._revision:
            stopped.set()
            self._release()

    def _acquire(self) -> Session:
        return self._store.acquire_lease(*self._ids, self._holder, milliseconds=self._milliseconds)

    def _release(self) -> None:
        with suppress(TandemError):
            self._store.release_lease(*self._ids, self._holder)
