"""Chats on a store: leases that outlast slow models, and what ends a wait or a turn from outside.

What they store is in the fixtures; twin: typescript/tests/stored.test.ts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopback import Answer, Loopback, said, whole
from tandem_memory import (
    AsyncChat,
    Chat,
    InvalidLimitError,
    MemoryStore,
    ModelEntry,
    ReplyNotStoredError,
    SessionBusyError,
    SqliteStore,
    Store,
    make_entry,
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
def entry(server: Loopback) -> ModelEntry:
    return make_entry("t", {"model": "m:1", "host": server.url})


@pytest.fixture
def store() -> Store:
    return MemoryStore()


def told(store: Store) -> list[str]:
    """Return what is stored, one text a turn."""
    return [
        ", ".join([turn["status"], *(each["message"]["content"] for each in turn["messages"])])
        for turn in store.history("ann", "s", None)
    ]


def test_question_is_stored_before_the_model_is_asked(
    server: Loopback, entry: ModelEntry, store: Store
) -> None:
    server.answers = [Answer(said("Once"), end="stall")]
    chat = Chat.open(store, "ann", "s", model=entry)
    with chat.stream("A story?") as stream:
        next(stream)
        assert told(store) == ["pending, A story?"]
    assert told(store) == ["interrupted, A story?, Once"]


def test_sessions_without_an_id_are_new_ones(entry: ModelEntry, store: Store) -> None:
    chats = [Chat.open(store, "ann", model=entry, system_prompt="Be kind.") for _ in range(2)]
    listed = store.list_sessions("ann")
    assert [session["session_id"] for session in reversed(listed)] == [c.session_id for c in chats]
    assert [session["system_prompt"] for session in listed] == ["Be kind."] * 2
    assert Chat(entry).session_id is None


@pytest.mark.parametrize(("limit", "value"), [("wait_milliseconds", -1), ("lease_milliseconds", 0)])
def test_bad_times_are_refused_before_a_session_is_made(
    entry: ModelEntry, store: Store, limit: str, value: int
) -> None:
    options: Any = {limit: value}
    with pytest.raises(InvalidLimitError) as caught:
        Chat.open(store, "ann", model=entry, **options)
    assert caught.value.data == {"limit": limit, "value": value}
    assert store.list_sessions("ann") == []


def test_lease_outlasts_a_slow_answer(server: Loopback, entry: ModelEntry, store: Store) -> None:
    server.answers = [Answer(said("Once"), end="stall"), whole("Yes")]
    slow = Chat.open(store, "ann", "s", model=entry, lease_milliseconds=90)
    other = Chat.open(store, "ann", "s", model=entry, wait_milliseconds=0)
    with slow.stream("A story?") as stream:
        next(stream)
        time.sleep(0.4)
        with pytest.raises(SessionBusyError):
            other.ask("Are you there?")
    assert other.ask("Are you there?").content == "Yes"
    assert told(store) == ["interrupted, A story?, Once", "complete, Are you there?, Yes"]


def test_another_writer_is_waited_for(server: Loopback, entry: ModelEntry, store: Store) -> None:
    server.answers = [whole("Yes")]
    chat = Chat.open(store, "ann", "s", model=entry)
    store.acquire_lease("ann", "s", "other")
    threading.Timer(0.2, store.release_lease, ("ann", "s", "other")).start()
    assert chat.ask("Are you there?").content == "Yes"


def test_nothing_beats_once_a_turn_is_over(
    server: Loopback, entry: ModelEntry, store: Store
) -> None:
    server.answers = [whole("Yes")]
    before = threading.active_count()
    Chat.open(store, "ann", "s", model=entry, lease_milliseconds=30).ask("hi")
    deadline = time.monotonic() + 5
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_process_that_slept_through_its_lease_stores_no_answer(
    server: Loopback, entry: ModelEntry
) -> None:
    now = 0
    store = MemoryStore(clock=lambda: now)
    server.answers = [whole("Once ", "upon"), whole("Yes")]
    chat = Chat.open(store, "ann", "s", model=entry, lease_milliseconds=1000)
    stream = chat.stream("A story?")
    assert next(stream) == "Once "
    now = 2000
    assert Chat.open(store, "ann", "s", model=entry).ask("Are you there?").content == "Yes"
    with pytest.raises(ReplyNotStoredError) as caught:
        stream.read()
    assert caught.value.received == "Once upon"
    assert isinstance(caught.value.__cause__, SessionBusyError)
    assert chat.memory.get_messages() == []
    assert told(store) == ["failed, A story?", "complete, Are you there?, Yes"]


def test_beat_after_others_came_and_went_gives_up(server: Loopback, entry: ModelEntry) -> None:
    now = 0
    store = MemoryStore(clock=lambda: now)
    server.answers = [whole("Once ", "upon"), whole("Yes")]
    chat = Chat.open(store, "ann", "s", model=entry, lease_milliseconds=60)
    stream = chat.stream("A story?")
    next(stream)
    now = 2000
    store.open_session("ann", "s")  # which finds that the turn's process has died
    time.sleep(0.2)  # beats, of which the first takes a lease that nobody has
    with pytest.raises(ReplyNotStoredError):
        stream.read()
    assert told(store) == ["failed, A story?"]
    store.acquire_lease("ann", "s", "other")


def test_cancelled_wait_takes_no_lease(server: Loopback, entry: ModelEntry, store: Store) -> None:
    server.answers = [whole("Yes")]

    async def run() -> None:
        chat = await AsyncChat.open(store, "ann", "s", model=entry)
        store.acquire_lease("ann", "s", "other")
        task = asyncio.create_task(chat.ask("A story?"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.release_lease("ann", "s", "other")
        await asyncio.sleep(0.1)
        store.acquire_lease("ann", "s", "yet another")
        store.release_lease("ann", "s", "yet another")
        assert (await chat.ask("Are you there?")).content == "Yes"

    asyncio.run(run())
    assert told(store) == ["complete, Are you there?, Yes"]


def test_cancelled_answer_is_stored_as_far_as_it_came(
    server: Loopback, entry: ModelEntry, store: Store
) -> None:
    server.answers = [Answer(said("Once"), end="stall")]

    async def run() -> None:
        chat = await AsyncChat.open(store, "ann", "s", model=entry)
        seen = asyncio.Event()

        async def read() -> None:
            async for _ in chat.stream("A story?"):
                seen.set()

        task = asyncio.create_task(read())
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert told(store) == ["interrupted, A story?, Once"]


def test_chats_of_several_threads_take_turns(
    server: Loopback, entry: ModelEntry, tmp_path: Path
) -> None:
    server.answers = [whole("Yes") for _ in range(12)]

    def talk(name: str) -> None:
        with SqliteStore(tmp_path / "store.sqlite3") as store:
            chat = Chat.open(store, "ann", "s", model=entry)
            for number in range(3):
                chat.ask(f"{name}{number}")

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with SqliteStore(tmp_path / "store.sqlite3") as store:
        stored = told(store)
    expected = [f"complete, {name}{number}, Yes" for name in "abcd" for number in range(3)]
    assert sorted(stored) == expected
    assert [text for text in stored if ", a" in text] == expected[:3]


def test_open_stream_keeps_no_process_alive(server: Loopback, tmp_path: Path) -> None:
    server.answers = [Answer(said("Once"), end="stall")]
    program = f"""
from tandem_memory import Chat, SqliteStore, make_entry
entry = make_entry("t", {{"model": "m:1", "host": "{server.url}"}})
stream = Chat.open(SqliteStore("store.sqlite3"), "ann", "s", model=entry).stream("A story?")
print(next(stream))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=20, check=True)
    assert done.stdout.split() == [b"Once"]
