"""Who may use the engine (one request at a time), and how long it stays loaded when idle."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from .engine import Engine
from .options import Options
from .weights import Model, timestamp

_DEFAULT_KEEP_ALIVE = 300.0
# Ollama's "for ever" is the longest duration that Go knows, about 292 years.
_FOREVER = timedelta(days=106_751)


class Residency:
    """Holds the engine of `model`, loads it when it is needed and frees it when it was idle."""

    def __init__(self, model: Model, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._turn = asyncio.Lock()
        self._engine: Engine | None = None
        self._keep_alive = _DEFAULT_KEEP_ALIVE
        self._idle: asyncio.Task[None] | None = None
        self._expires = datetime.now(UTC)
        self._context = 0

    def preload(self) -> None:
        """Load the engine now, so that weights which can't be used are found at the start."""
        self._engine = self._load()

    @asynccontextmanager
    async def engine(
        self, options: Options, keep_alive: float | None
    ) -> AsyncGenerator[Engine, None]:
        """Wait for the turn of this request, then lend it the engine."""
        async with self._turn:
            if self._idle:
                self._idle.cancel()
            if self._engine is None:
                self._keep_alive = _DEFAULT_KEEP_ALIVE
                self._engine = await asyncio.to_thread(self._load)
            if keep_alive is not None:
                self._keep_alive = keep_alive
            self._context = self._engine.window(options)
            try:
                yield self._engine
            finally:
                self._let_idle()

    async def unload(self) -> None:
        """Free the engine once the requests before this call are done."""
        async with self._turn:
            if self._engine is not None:
                await self._engine.close()
                self._engine = None
                self._context = 0

    def loaded(self) -> list[dict[str, object]]:
        """The answer to `/api/ps`: what has served a request and is still in memory."""
        if self._engine is None or self._context == 0:
            return []
        return [
            {
                "name": self._model.name,
                "model": self._model.name,
                "size": self._model.bytes,
                "digest": self._model.digest,
                "details": self._model.details(),
                "expires_at": timestamp(self._expires),
                "size_vram": 0,
                "context_length": self._context,
            }
        ]

    def _load(self) -> Engine:
        return Engine(self._model.path, self._model.gguf.context_length, self._threads)

    def _let_idle(self) -> None:
        forever = math.isinf(self._keep_alive)
        self._expires = datetime.now(UTC) + (
            _FOREVER if forever else timedelta(seconds=self._keep_alive)
        )
        if not forever:
            self._idle = asyncio.create_task(self._expire(self._keep_alive))

    async def _expire(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._idle = None  # from here on the next request waits for the end, it can't prevent it
        await self.unload()
