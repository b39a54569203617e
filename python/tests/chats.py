"""What fixtures call of the chat: a tree of models, and a chat whose engine speaks from a script.

Twin: typescript/tests/chats.ts. Each call on a chat is made on the plain and on the async one, and
both must come to the same.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from tandem_memory import (
    AsyncChat,
    Chat,
    Corrections,
    Delta,
    MemoryManager,
    Message,
    ModelEntry,
    ModelInfo,
    Reply,
    TandemError,
    make_entry,
)
from tandem_memory.chat.models import read_models
from tandem_memory.chat.settings import read_host
from tandem_memory.chat.wire import ReplyReader, chat_request, server_error

Json = Any


class ModelsSubject:
    """A model file's content, read anew for each call, so that a faulty one is thrown by it."""

    def __init__(self, document: Json) -> None:
        self._document = document

    def call(self, name: str, args: Json) -> Json:
        if name == "read_host":
            return read_host(args["value"])
        models = read_models(self._document, file="models.toml", env=args.get("env", {}))
        return models.paths if name == "paths" else models.find(args["path"])

    def state(self) -> None:
        return None


class ChatSubject:
    """A chat with the options that the case gives, and the replies of its engine."""

    def __init__(self, options: Json, count_tokens: Callable[[Message], int]) -> None:
        given: Json = {**options, "count_tokens": count_tokens}
        entry = make_entry("scripted", {"model": "scripted", **given.pop("entry", {})})
        script = given.pop("replies"), given.pop("context_length", None)
        self._engine: Json = ScriptedEngine(entry, *script)
        async_engine: Json = AsyncScriptedEngine(ScriptedEngine(entry, *script))
        given["recall"] = recall_from(given.pop("recall", None))
        weights = given.pop("corrections", None)
        self._corrections = [Corrections(weights) for _ in range(2)]
        self._events: list[list[Json]] = [[], []]
        own: list[Json] = [
            {**given, "corrections": learnt, "on_event": noted.append}
            for learnt, noted in zip(self._corrections, self._events, strict=True)
        ]
        self._chat = Chat(self._engine, **own[0])
        self._async_chat = AsyncChat(async_engine, **own[1])

    def call(self, name: str, args: Json) -> Json:
        if name == "last_request":
            return self._engine.requests[-1]
        if name == "events":
            return same(*map(drain, self._events))
        if name == "corrections":
            return same(*(each.weights for each in self._corrections))
        if name == "explain":
            return same(*(each.memory.explain() for each in (self._chat, self._async_chat)))
        return in_both(
            lambda: call_chat(self._chat, name, args),
            lambda: asyncio.run(call_async_chat(self._async_chat, name, args)),
        )

    def state(self) -> Json:
        snapshot, other = self._chat.memory.snapshot(), self._async_chat.memory.snapshot()
        assert snapshot == other, f"the async chat differs: {other}"
        return told(self._chat.memory)


def recall_from(known: Json) -> Json:
    """Return a `recall` that knows what a case gives: a text for each question."""
    return None if known is None else known.get


def drain(events: list[Json]) -> Json:
    """Return the events since the last call, as a fixture writes them."""
    noted = [{"type": event.type, **shown(event)} for event in events]
    events.clear()
    return noted


def same(plain: Json, other: Json) -> Json:
    assert plain == other, f"the async chat differs: {other}"
    return plain


def told(memory: MemoryManager) -> Json:
    """Return what a fixture says of a chat's memory."""
    state: Json = dict(memory.snapshot())
    del state["version"]
    return state


def in_both(call: Callable[[], Json], call_async: Callable[[], Json]) -> Json:
    """Return or raise what comes of a call on the chat; the async one must come to the same."""
    came, other = outcome(call), outcome(call_async)
    assert shown(came) == shown(other), f"the async chat differs: {shown(other)}"
    if isinstance(came, TandemError):
        raise came
    return came


def call_chat(chat: Chat, name: str, args: Json) -> Json:
    if name == "ask":
        reply = chat.ask(**args)
        chat.settle()
        return shown(reply)
    if name != "stream":
        return perform(chat, name, args)
    seen = Seen()
    with chat.stream(args["content"], on_thinking=seen.think) as stream:
        while len(seen.pieces) != args.get("stop_after"):
            if (piece := next(stream, None)) is None:
                break
            seen.pieces.append(piece)
    chat.settle()
    return seen.with_reply(stream.reply)


async def call_async_chat(chat: AsyncChat, name: str, args: Json) -> Json:
    if name == "ask":
        reply = await chat.ask(**args)
        await chat.settle()
        return shown(reply)
    if name != "stream":
        returned = perform(chat, name, args)
        return await returned if inspect.isawaitable(returned) else returned
    seen = Seen()
    async with chat.stream(args["content"], on_thinking=seen.think) as stream:
        while len(seen.pieces) != args.get("stop_after"):
            if (piece := await anext(stream, None)) is None:
                break
            seen.pieces.append(piece)
    await chat.settle()
    return seen.with_reply(stream.reply)


def perform(chat: Json, name: str, args: Json) -> Json:
    if name.startswith("set_"):
        return setattr(chat, name.removeprefix("set_"), args["value"])
    return getattr(chat, name)(**args)


class Seen:
    """What the reader of a stream saw."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.thinking = ""

    def think(self, piece: str) -> None:
        self.thinking += piece

    def with_reply(self, reply: Reply | None) -> Json:
        return {"pieces": self.pieces, "thinking": self.thinking, "reply": shown(reply)}


class ScriptedEngine:
    """Answers with the script's replies, one a question, as their lines come off the wire."""

    def __init__(
        self, entry: ModelEntry, replies: Sequence[Json], context_length: int | None = None
    ) -> None:
        self.entry = entry
        self._info = ModelInfo(context_length=context_length)
        self.requests: list[Json] = []
        self._replies = iter(replies)

    def stream(self, messages: Sequence[Message], **options: Json) -> Generator[Delta]:
        entry = options.pop("entry", self.entry)
        self.requests.append(chat_request(entry, messages, **options))
        reply = next(self._replies)
        if "status" in reply:
            raise server_error(reply["status"], reply["error"], entry, messages)
        reader = ReplyReader(entry, messages)
        for item in reply:
            for data in wire_data(item):
                yield from reader.feed(data)
        yield from reader.finish()

    def show(self) -> ModelInfo:
        return self._info


class AsyncScriptedEngine:
    def __init__(self, engine: ScriptedEngine) -> None:
        self.entry = engine.entry
        self._engine = engine

    async def stream(self, messages: Sequence[Message], **options: Json) -> AsyncGenerator[Delta]:
        for delta in self._engine.stream(messages, **options):
            yield delta

    async def show(self) -> ModelInfo:
        return self._engine.show()


def wire_data(item: Json) -> list[bytes]:
    """Return what arrives of an item of a scripted reply: its line, or bytes that come alone."""
    if isinstance(item, str):
        item = {"content": item}
    if "raw" in item:
        return [bytes([byte]) for byte in item["raw"].encode()]
    line = item if {"done", "error"} & item.keys() else {"message": item, "done": False}
    return [json.dumps(line).encode() + b"\n"]


def outcome(call: Callable[[], Json]) -> Json:
    try:
        return call()
    except TandemError as error:
        return error


def shown(value: Json) -> Json:
    """Return a reply as a fixture writes it: without what is empty, but with its content."""
    if isinstance(value, TandemError):
        return {"code": value.code, "data": value.data}
    if not is_dataclass(value):
        return value
    items = {field.name: shown(getattr(value, field.name)) for field in fields(value)}
    return {name: item for name, item in items.items() if name == "content" or item}
