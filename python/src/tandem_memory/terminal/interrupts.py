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
        self._running: asyncio.Future[None] | None = None
        self._stopped = False
        self._loop = asyncio.get_running_loop()
        signal.signal(signal.SIGINT, self._take)

    async def run(self, work: Awaitable[None]) -> bool:
        """Wait for `work`, or until Ctrl-C cancels it; returns whether it came to its end."""
        running = self._running = asyncio.ensure_future(work)
        self._stopped = False
        try:
            await running
        except asyncio.CancelledError:
            return False
        finally:
            self._running = None
        return True

    def _take(self, _signal: int, _frame: object) -> None:
        # A signal comes in the middle of anything, such as a half-printed line: act after it.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._interrupt)

    def _interrupt(self) -> None:
        # Only the first one cancels: a second must not stop the clearing up that follows.
        if self._running is None:
            self._idle()
        elif not self._stopped:
            self._stopped = True
            self._running.cancel()
