"""`MemoryStore`: the store that lives and ends with its process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager

from .records import system_clock
from .sheets import SheetShelf, UserSheets
from .store import Store

__all__ = ["MemoryStore"]


class MemoryStore(Store):
    """Keeps sessions in this process's memory; its threads may share it."""

    def __init__(
        self,
        *,
        clock: Callable[[], int] = system_clock,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        super().__init__(SheetShelf(MemoryDesk()), clock=clock, new_id=new_id)


class MemoryDesk:
    """Keeps users' sheets in a dictionary. A shelf changes nothing before it is sure to finish."""

    def __init__(self) -> None:
        self._users: dict[str, UserSheets] = {}
        self._lock = threading.Lock()

    @contextmanager
    def reading(self, user_id: str) -> Generator[UserSheets]:
        with self._lock:
            yield self._users.get(user_id, UserSheets())

    @contextmanager
    def writing(self, user_id: str) -> Generator[UserSheets]:
        with self._lock:
            user = self._users.get(user_id, UserSheets())
            yield user
            if user.revision:
                self._users[user_id] = user
            else:
                self._users.pop(user_id, None)

    def close(self) -> None:
        """Nothing is held open; what was stored goes with the store itself."""
