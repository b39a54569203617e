"""Ctrl-C stops what is running, and never the program."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

__all__ = ["Interrupts"]


class Interrupts:
    """Takes Ctrl-C for as long as the program runs.

    `idle` is called where nothing is running that could be stopped.
    """

    def __init__(self, idle: Callable[[], None]) -> None:
        self._idle = idle
        self._stop: Callable[[], object] | None = None
        signal.signal(signal.SIGINT, self._interrupt)

    async def run(self, work: Awaitable[None]) -> bool:
        """Wait for `work`, or until Ctrl-C cancels it; returns whether it came to its end."""
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return False
        finally:
            self._stop = None
        return True

    def _interrupt(self, _signal: int, _frame: object) -> None:
        # Only the first one cancels: a second must not stop the clearing up that follows.
        stop, self._stop = self._stop, do_nothing if self._stop else None
        (stop or self._idle)()


def do_nothing() -> None: ...
