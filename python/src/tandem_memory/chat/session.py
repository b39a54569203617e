"""`Chat`: a conversation with a model that remembers, question by question.

A question is in the window before the model is called. Where the call fails, the memory is as it
was before the question, and asking again doubles nothing. Where the reader stops in mid-answer, the
part that came is kept and marked `interrupted`; if no text came, the question has failed.

One question is answered at a time. Another that is asked meanwhile waits while somebody waits for
the model; a stream that nobody is reading just then is interrupted by it, and its part kept.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from functools import partial
from types import TracebackType
from typing import Self

from ..core.errors import NoAnswerError
from ..core.messages import Message
from .conversation import Conversation
from .engine import AsyncEngine, AsyncOllamaEngine, Engine, OllamaEngine
from .exchange import Question, Reply

__all__ = ["AsyncChat", "AsyncChatStream", "Chat", "ChatStream"]


class Chat(Conversation[Engine]):
    """A chat for programs that wait; see `Conversation` for what it takes."""

    _make_engine = OllamaEngine
    _make_lock = threading.Lock
    _lock: threading.Lock
    _open: ChatStream | None = None

    def ask(
        self,
        content: str | None,
        *,
        images: Sequence[str] | None = None,
        format: Mapping[str, object] | str | None = None,  # noqa: A002 - Ollama's own name for it
        on_thinking: Callable[[str], object] | None = None,
    ) -> Reply:
        """Ask, wait for the whole answer and return it; `stream` says the rest."""
        stream = self.stream(content, images=images, format=format, on_thinking=on_thinking)
        return stream.read()

    def stream(
        self,
        content: str | None,
        *,
        images: Sequence[str] | None = None,
        format: Mapping[str, object] | str | None = None,  # noqa: A002
        on_thinking: Callable[[str], object] | None = None,
    ) -> ChatStream:
        """Ask, and return the answer's text as a stream, which begins with its first piece.

        `content`: the question. None goes on after tool results: where a reply has `tool_calls`,
            add each result with `add_tool_message` and ask None.
        `images`: base64 texts. `format`: a JSON schema (or `"json"`) that the answer keeps to.
        `on_thinking`: called with each piece of the model's thinking, which is no part of the text.

        Raises `BudgetExceededError` where the window can't hold the question, `NoAnswerError` where
        the model says nothing, and what `Engine.stream` raises.
        """
        question = Question(content=content, images=images, format=format, on_thinking=on_thinking)
        return ChatStream(partial(self._answer, question), self._lock)

    def add_tool_message(
        self, content: str, *, tool_name: str | None = None, tool_call_id: str | None = None
    ) -> list[Message]:
        """Add a tool's result; see `MemoryManager.add_tool_message`."""
        with self._alone():
            return self._memory.add_tool_message(
                content, tool_name=tool_name, tool_call_id=tool_call_id
            )

    def clear(self) -> None:
        """Empty the conversation; the system prompt stays."""
        with self._alone():
            self._memory.clear()

    def undo(self) -> list[Message]:
        """Drop the last turn of the window and return its messages."""
        with self._alone():
            return self._memory.undo()

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Wait until nobody waits for the model, and interrupt what is left unread."""
        with self._lock:
            self._interrupt()
            yield

    def _interrupt(self) -> None:
        if self._open:
            self._open.close()

    def _answer(self, question: Question, stream: ChatStream) -> Generator[str]:
        self._interrupt()
        with self._exchange(question, stream) as exchange:
            self._open = stream
            reply = self.engine.stream(exchange.messages, tools=self.tools, format=question.format)
            with closing(reply) as deltas:
                for delta in deltas:
                    shown = exchange.take(delta)
                    if shown.thinking and question.on_thinking:
                        question.on_thinking(shown.thinking)
                    if shown.content:
                        yield shown.content


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
        return finished(self.reply)

    def close(self) -> None:
        """Stop: interrupt the answer, unless it has ended."""
        self._pieces.close()


class AsyncChat(Conversation[AsyncEngine]):
    """`Chat` for async programs."""

    _make_engine = AsyncOllamaEngine
    _make_lock = asyncio.Lock
    _lock: asyncio.Lock
    _open: AsyncChatStream | None = None

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
            return self._memory.add_tool_message(
                content, tool_name=tool_name, tool_call_id=tool_call_id
            )

    async def clear(self) -> None:
        """See `Chat.clear`."""
        async with self._alone():
            self._memory.clear()

    async def undo(self) -> list[Message]:
        """See `Chat.undo`."""
        async with self._alone():
            return self._memory.undo()

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        async with self._lock:
            await self._interrupt()
            yield

    async def _interrupt(self) -> None:
        if self._open:
            await self._open.close()

    async def _answer(self, question: Question, stream: AsyncChatStream) -> AsyncGenerator[str]:
        await self._interrupt()
        with self._exchange(question, stream) as exchange:
            self._open = stream
            reply = self.engine.stream(exchange.messages, tools=self.tools, format=question.format)
            async with aclosing(reply) as deltas:
                async for delta in deltas:
                    shown = exchange.take(delta)
                    if shown.thinking and question.on_thinking:
                        question.on_thinking(shown.thinking)
                    if shown.content:
                        yield shown.content


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
        return finished(self.reply)

    async def close(self) -> None:
        """See `ChatStream.close`."""
        await self._pieces.aclose()


def finished(reply: Reply | None) -> Reply:
    """Return the reply of a stream that was read to its end, unless another hand ended it."""
    if reply is None:
        raise NoAnswerError(None)
    return reply
