"""`ChatStream`: an answer as it comes."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from types import TracebackType
from typing import Self
from weakref import WeakSet

from ..core.errors import NoAnswerError, TandemError
from .exchange import Reply

__all__ = ["AsyncChatStream", "ChatStream"]


class ChatStream:
    """The text of an answer, piece by piece; as a context manager it ends with its block.

    `reply`: the answer, once the stream has ended; None before, and where it failed. A stream that
    is left before its end is interrupted, which closes the connection at once.
    """

    def __init__(
        self, answer: Callable[[ChatStream], Generator[str]], lock: threading.Lock
    ) -> None:
        self.reply: Reply | None = None
        self._pieces = answer(self)
        self._lock = lock
        STREAMS.add(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        with self._lock:
            return next(self._pieces)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self) -> Reply:
        """Read to the end and return the answer."""
        with self._lock:
            for _ in self._pieces:
                pass
        if self.reply is None:  # another hand has ended it
            raise NoAnswerError(None)
        return self.reply

    def close(self) -> None:
        """Stop: interrupt the answer, unless it has ended."""
        self._pieces.close()


STREAMS: WeakSet[ChatStream] = WeakSet()


@atexit.register
def close_streams() -> None:
    """Interrupt what a program that ends has left open, while the store can still be written.

    Later, as the interpreter is taken apart, SQLite is no longer there to be called.
    """
    for stream in list(STREAMS):
        with suppress(TandemError):
            stream.close()


class AsyncChatStream:
    """`ChatStream` for async programs."""

    def __init__(
        self, answer: Callable[[AsyncChatStream], AsyncGenerator[str]], lock: asyncio.Lock
    ) -> None:
        self.reply: Reply | None = None
        self._pieces = answer(self)
        self._lock = lock

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        async with self._lock:
            return await anext(self._pieces)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def read(self) -> Reply:
        """See `ChatStream.read`."""
        async with self._lock:
            async for _ in self._pieces:
                pass
        if self.reply is None:
            raise NoAnswerError(None)
        return self.reply

    async def close(self) -> None:
        """See `ChatStream.close`."""
        await self._pieces.aclose()
