"""`AsyncChat`: a `Chat` for async programs; what it does is said there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from inspect import isawaitable
from types import EllipsisType
from typing import Self, TypeVar

from ..core.errors import (
    ContextTruncatedError,
    ModelNotFoundError,
    ServerFailedError,
)
from ..core.frame import Place
from ..core.messages import Message
from ..core.tokens import estimate_tokens
from ..core.turns import CountTokens
from ..storage.store import Store
from .backlog import MOST_TURNS
from .conversation import Conversation, Outcome
from .correction import Corrections
from .engine import AsyncEngine, AsyncOllamaEngine
from .events import ChatEvent
from .exchange import Exchange, Question, Reply
from .settings import ModelEntry
from .stored import StoredJournal
from .stream import AsyncChatStream
from .summarizer import Making

__all__ = ["AsyncChat"]

Result = TypeVar("Result")


class AsyncChat(Conversation[AsyncEngine]):
    """`Chat` for async programs."""

    _make_engine = AsyncOllamaEngine
    _make_lock = asyncio.Lock
    _lock: asyncio.Lock
    _open: AsyncChatStream | None = None
    _summary: tuple[Making | None, asyncio.Task[None] | None] = None, None

    @classmethod
    async def open(
        cls,
        store: Store,
        user_id: str,
        session_id: str | None = None,
        *,
        model: ModelEntry | AsyncEngine,
        wait_milliseconds: int = 30_000,
        lease_milliseconds: int = 10_000,
        system_prompt: str | None = None,
        max_turns: int | EllipsisType | None = ...,
        trim_to: int | EllipsisType | None = ...,
        max_tokens: int | EllipsisType | None = ...,
        count_tokens: CountTokens = estimate_tokens,
        tools: Sequence[Mapping[str, object]] = (),
        corrections: Corrections | None = None,
        summarize: bool = False,
        summary_tokens: int = 256,
        recall: Callable[[str], str | Awaitable[str | None] | None] | None = None,
        context: Place = "system",
        on_event: Callable[[ChatEvent], object] | None = None,
    ) -> Self:
        """See `Chat.open`. What waits for the store runs in threads, `count_tokens` too."""
        self = cls(
            model,
            system_prompt=system_prompt,
            max_turns=max_turns,
            trim_to=trim_to,
            max_tokens=max_tokens,
            count_tokens=count_tokens,
            tools=tools,
            corrections=corrections,
            summarize=summarize,
            summary_tokens=summary_tokens,
            recall=recall,
            context=context,
            on_event=on_event,
        )
        self._journal = await in_thread(
            StoredJournal.open,
            self._new_memory,
            store,
            user_id,
            session_id,
            system_prompt=system_prompt,
            wait_milliseconds=wait_milliseconds,
            lease_milliseconds=lease_milliseconds,
            most_waiting=MOST_TURNS if summarize else 0,
        )
        return self

    async def ask(
        self,
        content: str | None,
        *,
        images: Sequence[str] | None = None,
        format: Mapping[str, object] | str | None = None,  # noqa: A002
        on_thinking: Callable[[str], object] | None = None,
    ) -> Reply:
        """See `Chat.ask`."""
        stream = self.stream(content, images=images, format=format, on_thinking=on_thinking)
        return await stream.read()

    def stream(
        self,
        content: str | None,
        *,
        images: Sequence[str] | None = None,
        format: Mapping[str, object] | str | None = None,  # noqa: A002
        on_thinking: Callable[[str], object] | None = None,
    ) -> AsyncChatStream:
        """See `Chat.stream`."""
        question = Question(content=content, images=images, format=format, on_thinking=on_thinking)
        return AsyncChatStream(partial(self._answer, question), self._lock)

    async def add_tool_message(
        self, content: str, *, tool_name: str | None = None, tool_call_id: str | None = None
    ) -> list[Message]:
        """See `Chat.add_tool_message`."""
        async with self._alone():
            dropped = await self._run(self._add_result, content, tool_name, tool_call_id)
        self._teller.tell()
        return dropped

    async def clear(self) -> None:
        """See `Chat.clear`."""
        async with self._alone():
            await self._run(self._clear)

    async def undo(self) -> list[Message]:
        """See `Chat.undo`."""
        async with self._alone():
            return await self._run(self._undo)

    async def summarize(self) -> bool:
        """See `Chat.summarize`; it is a task that asks the model."""
        async with self._lock:
            await self._start_summary()
        return await self.settle()

    async def settle(self) -> bool:
        """See `Chat.settle`."""
        making, worker = self._summary
        if worker and not worker.done():
            await asyncio.wait([worker])
        return making is not None and making.kept

    async def close(self) -> None:
        """See `Chat.close`."""
        async with self._lock:
            await self._interrupt()

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        async with self._lock:
            await self._interrupt()
            try:
                await self._hold()
                yield
            finally:
                await self._run(self._journal.release)

    async def _hold(self) -> None:
        pauses = self._journal.hold()

        def next_pause() -> float | None:
            return next(pauses, None)

        # What it waits for is another process, so there is no event to wait for.
        while (pause := await self._run(next_pause)) is not None:  # noqa: ASYNC110
            await asyncio.sleep(pause)

    async def _interrupt(self) -> None:
        self._stop_summary()
        if self._open:
            await self._open.close()

    async def _answer(self, question: Question, stream: AsyncChatStream) -> AsyncGenerator[str]:
        await self._interrupt()
        self._open = stream
        outcome: Outcome = "interrupted"
        try:
            await self._hold()
            await self._run(self._ask, question)
            await self._look()
            exchange: Exchange | None = await self._run(self._begin, question)
            while exchange:
                try:
                    async with aclosing(self._read(exchange)) as pieces:
                        async for piece in pieces:
                            yield piece
                    exchange = None
                except ContextTruncatedError as error:
                    exchange = await self._run(self._again, exchange, error)
            outcome = "finished"
        except Exception:
            outcome = "failed"
            raise
        finally:
            try:
                stream.reply = await self._run(self._end, outcome)
                finished = outcome == "finished"
                if finished and self._summarizes and self._summarizer.count_answer():
                    await self._start_summary()
            finally:
                self._teller.tell()

    async def _look(self) -> None:
        if self._is_unseen():
            try:
                info = await self.engine.show()
            except ModelNotFoundError:  # the question will tell, and it may be pulled then
                return
            except ServerFailedError:  # it may answer all the same
                info = None
            self._see(info)

    async def _read(self, exchange: Exchange) -> AsyncGenerator[str]:
        question = exchange.question
        if self._recall and self._asks_recall(exchange):
            # A plain function may take its time, so it runs in a thread; what it returns may be
            # something to wait for.
            found = await in_thread(self._recall, question.content)
            text = await found if isawaitable(found) else found
            await self._run(self._put_context, exchange, text)
        reply = self.engine.stream(
            exchange.messages, tools=self.tools, format=question.format, entry=exchange.entry
        )
        async with aclosing(reply) as deltas:
            async for delta in deltas:
                shown = exchange.take(delta)
                if shown.thinking and question.on_thinking:
                    question.on_thinking(shown.thinking)
                if shown.content:
                    yield shown.content

    async def _start_summary(self) -> None:
        self._stop_summary()
        making = await self._run(self._plan)
        self._summary = making, asyncio.create_task(self._make_summary(making)) if making else None

    def _stop_summary(self) -> None:
        _, worker = self._summary
        if worker:
            worker.cancel()
        self._summary = None, worker

    async def _make_summary(self, making: Making) -> None:
        try:
            reply = self.engine.stream(making.messages, entry=making.entry)
            async with aclosing(reply) as deltas:
                async for delta in deltas:
                    making.take(delta)
            async with self._lock:
                self._keep(making)
        except Exception as error:  # noqa: BLE001 - the chat goes on as it would without a summary
            self._failed(making, error)

    async def _run(self, call: Callable[..., Result], *args: object) -> Result:
        """Make a call that may wait for a store, which the event loop must not do."""
        is_stored = isinstance(self._journal, StoredJournal)
        return await in_thread(call, *args) if is_stored else call(*args)


async def in_thread(call: Callable[..., Result], *args: object, **options: object) -> Result:
    """Make a blocking call beside the event loop, to its end even where the task is cancelled.

    So a lease that was got just then can still be given back.
    """
    made = asyncio.ensure_future(asyncio.to_thread(call, *args, **options))
    try:
        return await asyncio.shield(made)
    except asyncio.CancelledError:
        await asyncio.wait([made])
        raise
