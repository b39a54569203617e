# ruff: noqa: S311 - what is random here is no secret
"""The SQLite store's file: damaged, shared, purged; twin: typescript/tests/sqlite.test.ts."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tandem_memory.core.errors import (
    NotAStoreError,
    StoreDamagedError,
    StoreTooNewError,
    StoreUnavailableError,
)
from tandem_memory.storage import MemoryStore, SessionChanges, SqliteStore, Store

QUESTION = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


def fill(path: Path, turns: int = 60) -> bytes:
    """Make a store with some turns of one user, and return the file's bytes."""
    with SqliteStore(path) as store:
        store.create_session("ann", "s")
        for i in range(turns):
            question = {"role": "user", "content": f"question {i} " * 40}
            store.append("ann", "s", [question, {"role": "assistant", "content": f"answer {i}"}])
    return path.read_bytes()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "one byte": lambda good: good[:1],
    "less than a header": lambda good: good[:99],
    "one page": lambda good: good[:4096],
    "cut in the middle": lambda good: good[: len(good) * 7 // 10],
    "cut by one page": lambda good: good[:-4096],
    "zeros in its place": lambda good: bytes(len(good)),
    "a page of zeros": lambda _: bytes(4096),
    "text": lambda _: b"Dear diary, today I wrote no database.\n" * 200,
    "a scrambled header": lambda good: random.Random(1).randbytes(100) + good[100:],
    "a scrambled schema": lambda good: good[:100] + random.Random(2).randbytes(3996) + good[4096:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_reported_and_left_as_it_is(path: Path, damage: str) -> None:
    bad = DAMAGES[damage](fill(path))
    path.write_bytes(bad)
    with pytest.raises(StoreDamagedError) as caught:
        SqliteStore(path)
    assert (caught.value.path, path.read_bytes()) == (str(path), bad)


def test_a_scrambled_page_is_reported_or_not_in_use(path: Path) -> None:
    good = fill(path)
    with SqliteStore(path) as store:
        expected = store.export_sessions("ann")
    reported = 0
    for seed, page in enumerate(range(4096, len(good), 4096)):
        noise = random.Random(seed).randbytes(4096)
        bad = good[:page] + noise + good[page + 4096 :]
        path.write_bytes(bad)
        try:
            with SqliteStore(path) as store:
                assert store.export_sessions("ann") == expected
        except StoreDamagedError:
            reported += 1
        assert path.read_bytes() == bad
    assert reported >= len(good) // 4096 // 2


def test_a_file_of_another_program_is_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE sessions (id)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotAStoreError):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_of_a_later_release_is_refused_by_its_version(path: Path) -> None:
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNewError) as caught:
        SqliteStore(path)
    assert (caught.value.version, path.read_bytes()) == (99, before)


def test_a_place_that_can_hold_no_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(StoreUnavailableError):
        SqliteStore(tmp_path / "file" / "store.sqlite3")


def append_turns(store: Store, session_id: str, name: str, count: int) -> None:
    for i in range(count):
        store.append("ann", session_id, [{"role": "user", "content": f"{name} {i}"}, ANSWER])


def test_threads_share_a_file_through_two_stores(path: Path) -> None:
    with SqliteStore(path) as first, SqliteStore(path) as second:
        first.create_session("ann", "s")
        threads = [
            threading.Thread(target=append_turns, args=((first, second)[i % 2], "s", f"t{i}", 25))
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        turns = first.history("ann", "s", None)
    texts = [turn["messages"][0]["message"]["content"] for turn in turns]
    assert [turn["turn"] for turn in turns] == list(range(1, 201))
    for i in range(8):
        own = [text for text in texts if text.startswith(f"t{i} ")]
        assert own == [f"t{i} {k}" for k in range(25)]


def add_from_process(path: Path, name: str) -> None:
    with SqliteStore(path) as store:
        store.create_session("ann", name)
        append_turns(store, name, name, 10)


def test_processes_that_open_a_new_file_together_all_succeed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    for attempt in range(2):
        path = tmp_path / f"{attempt}.sqlite3"
        names = [f"p{i}" for i in range(4)]
        processes = [context.Process(target=add_from_process, args=(path, name)) for name in names]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        with SqliteStore(path) as store:
            found = {name: [t["turn"] for t in store.history("ann", name, None)] for name in names}
        assert found == {name: list(range(1, 11)) for name in names}
        assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
            f"{i}.sqlite3" for i in range(attempt + 1)
        )


def test_a_reader_does_not_stop_a_writer(path: Path) -> None:
    fill(path, 2)
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM messages").fetchone() == (4,)
    with SqliteStore(path) as store:
        store.append("ann", "s", [QUESTION, ANSWER])
        assert len(store.history("ann", "s", None)) == 3
    reader.close()


@pytest.mark.parametrize("length", [300, 10_000])
def test_a_long_id_is_an_id(path: Path, length: int) -> None:
    names = ["猫" * length, "猫" * length + "!"]
    with SqliteStore(path) as store:
        for name in names:
            store.create_session(name, name)
            store.append(name, name, [QUESTION])
        assert [store.list_sessions(name)[0]["session_id"] for name in names] == names
        assert store.delete_session(names[0], names[0])["messages"] == 1
        assert len(store.history(names[1], names[1])) == 1


def bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def test_forget_leaves_no_byte_of_the_user(tmp_path: Path, path: Path) -> None:
    chance = random.Random(7)
    users = [f"user-{i}" for i in range(6)]
    with SqliteStore(path) as store, MemoryStore() as twin:
        for user in users:
            for each in (store, twin):
                each.create_session(user, f"{user}-session", system_prompt=f"prompt of {user}")
        for _ in range(300):
            user = chance.choice(users)
            text = f"secret of {user} " * chance.choice([1, 20, 400])
            changes: SessionChanges = {
                "summary": {"text": f"summary of {user} " * chance.choice([1, 50, 300])}
            }
            undone = chance.random() < 0.1
            for each in (store, twin):
                each.append(
                    user,
                    f"{user}-session",
                    [{"role": "user", "content": text}, ANSWER],
                    changes=changes,
                )
                if undone:
                    each.undo(user, f"{user}-session")
        for gone in ("user-3", "user-0"):
            removed = store.forget(gone)
            assert removed == {**twin.forget(gone), "purge_pending": False}
            assert removed["messages"] > 0
            assert gone.encode() not in bytes_in(tmp_path)
            for user in users:
                kept = [{**s, "created_at": "", "updated_at": ""} for s in sessions(store, user)]
                assert kept == [
                    {**s, "created_at": "", "updated_at": ""} for s in sessions(twin, user)
                ]
    assert b"user-1" in bytes_in(tmp_path)
    assert b"user-3" not in bytes_in(tmp_path)


def sessions(store: Store, user: str) -> list[dict[str, object]]:
    return [dict(session) for session in store.list_sessions(user)]


def test_a_purge_that_a_reader_holds_up_is_finished_at_the_next_open(
    tmp_path: Path, path: Path
) -> None:
    with SqliteStore(path) as store:
        store.create_session("ann", "s")
        store.create_session("bo", "s")
        store.append("ann", "s", [{"role": "user", "content": "the secret word"}])
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM messages").fetchone()
        removed = store.forget("ann")
        assert removed["purge_pending"] is True
        assert store.list_sessions("ann") == []
        assert b"the secret word" in bytes_in(tmp_path)
        reader.close()
    with SqliteStore(path) as store:
        assert b"the secret word" not in bytes_in(tmp_path)
        assert len(store.list_sessions("bo")) == 1


def test_opening_costs_the_same_however_long_the_session_is(path: Path) -> None:
    def steps(turns: int) -> int:
        with SqliteStore(path) as store:
            store.append("ann", "s", [QUESTION, ANSWER] * turns, changes={"window": []})
            last = store.append("ann", "s", [QUESTION, ANSWER] * 5)["last_seq"]
            store.update_session("ann", "s", {"window": [[last - 9, last]]})
            counted = 0

            def count() -> int:
                nonlocal counted
                counted += 1
                return 0

            inner: Any = store
            connection = inner._shelf._database._connection
            connection.set_progress_handler(count, 1)
            assert len(store.open_session("ann", "s")["messages"]) == 10
            assert len(store.history("ann", "s", 3)) == 3
            connection.set_progress_handler(None, 0)
        return counted

    with SqliteStore(path) as store:
        store.create_session("ann", "s")
    few, many = steps(10), steps(3000)
    assert few == many
