"""What fixtures call of a chat on a store; a case is run on every kind of store.

Twin: typescript/tests/storedchats.ts. Each call is made on a plain and on an async chat, each with
a store of its own, and both must come to the same.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chats import (
    AsyncScriptedEngine,
    Json,
    ScriptedEngine,
    call_async_chat,
    call_chat,
    in_both,
    told,
)
from encoding import expand
from stores import OPENERS, ROOT, brief
from tandem_memory import AsyncChat, Chat, Message, StoreFullError, make_entry
from tandem_memory.storage import MemoryStore, Store

IDS: Any = ("ann", "s")


class StoredChatSubject:
    """A chat on the session `s` of the user `ann`, at the time `clock`, which `advance` moves."""

    def __init__(self, options: Json, count_tokens: Callable[[Message], int]) -> None:
        given: Json = {"wait_milliseconds": 0, "count_tokens": count_tokens, **options}
        kind, self._now = given.pop("kind"), given.pop("clock", 0)
        entry = make_entry("scripted", {"model": "scripted", **given.pop("entry", {})})
        replies = given.pop("replies")
        self._engine = ScriptedEngine(entry, replies)
        engines: Json = self._engine, AsyncScriptedEngine(ScriptedEngine(entry, replies))
        self._options = given
        self._models = engines
        self._stores = [OneStore(kind, lambda: self._now) for _ in engines]
        self._open({})

    def call(self, name: str, args: Json) -> Json:
        if name == "advance":
            self._now += args["milliseconds"]
            return None
        if name == "last_request":
            return self._engine.requests[-1]
        if name == "fill":
            for store in self._stores:
                store.room = args["appends"]
            return None
        if name == "reopen":
            return self._open(args)
        if name.startswith("store_"):
            method = name.removeprefix("store_")
            if "messages" in args:
                args["messages"] = [expand(message) for message in args["messages"]]
            plain, other = (
                brief(getattr(each.store, method)(*IDS, **args)) for each in self._stores
            )
            assert plain == other, f"the async chat's store differs: {other}"
            return plain
        if name == "ask_elsewhere":
            plain, other = self._chats({})
            return in_both(
                lambda: call_chat(plain, "ask", args),
                lambda: asyncio.run(call_async_chat(other, "ask", args)),
            )
        return in_both(
            lambda: call_chat(self._chat, name, args),
            lambda: asyncio.run(call_async_chat(self._async_chat, name, args)),
        )

    def state(self) -> Json:
        memories = self._chat.memory, self._async_chat.memory
        states = [
            {**told(memory), "stored": each.stored()}
            for memory, each in zip(memories, self._stores, strict=True)
        ]
        assert states[0] == states[1], f"the async chat differs: {states[1]}"
        return states[0]

    def close(self) -> None:
        for each in self._stores:
            each.store.close()

    def _open(self, changed: Json) -> None:
        for each in self._stores:
            each.open()
        self._chat, self._async_chat = self._chats(changed)

    def _chats(self, changed: Json) -> tuple[Chat, AsyncChat]:
        plain, other = (each.store for each in self._stores)
        engine, async_engine = self._models
        options: Json = {**self._options, **changed}
        chat = Chat.open(plain, *IDS, model=engine, **options)
        opening = AsyncChat.open(other, *IDS, model=async_engine, **options)
        return chat, asyncio.run(opening)


class OneStore:
    """A store of a kind, opened anew where it is in files, which takes `room` more appends."""

    def __init__(self, kind: str, clock: Callable[[], int]) -> None:
        self._opener = OPENERS.get(kind)
        self._folder = Path(tempfile.mkdtemp(dir=ROOT))
        self._options: Json = {"clock": clock}
        self.store: Store = MemoryStore(**self._options)
        self.room: int | None = None

    def stored(self) -> Json:
        sessions = self.store.export_sessions(IDS[0])["sessions"]
        return brief(sessions[0]) if sessions else None

    def open(self) -> None:
        if self._opener:
            self.store.close()
            self.store = self._opener(self._folder, self._options)
        append = type(self.store).append

        def guarded(*args: Json, **options: Json) -> Json:
            if self.room == 0:
                raise StoreFullError("full")
            if self.room is not None:
                self.room -= 1
            return append(self.store, *args, **options)

        self.store.append = guarded
