"""Steps from one version of the file to the next; twin: typescript/tests/migrations.test.ts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tandem_memory.storage import SqliteStore, migrations
from tandem_memory.storage.migrations import MIGRATIONS, Migration, migrate

LATER = Migration("notes", ("CREATE TABLE notes (text TEXT) STRICT",))
BROKEN = Migration("broken", ("CREATE TABLE half (a)", "CREATE TABLE half (a)"))


def make_store(path: Path) -> None:
    with SqliteStore(path, clock=lambda: 0) as store:
        store.create_session("ann", "s")
        store.append("ann", "s", [{"role": "user", "content": "q"}])


def recorded(path: Path) -> list[tuple[int, str]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()
    connection.close()
    return rows


def test_a_file_of_the_release_before_is_migrated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite3"
    make_store(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, LATER))
    for _ in range(2):
        with SqliteStore(path) as store:
            assert len(store.history("ann", "s")) == 1
            store.append("ann", "s", [{"role": "assistant", "content": "a"}])
    assert recorded(path) == [(1, "sessions"), (2, "notes")]


def test_a_step_that_fails_leaves_the_file_at_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.sqlite3"
    make_store(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, LATER, BROKEN))
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, str(path), "now")
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert (
        connection.execute("SELECT name FROM sqlite_master WHERE name = 'notes'").fetchall() == []
    )
    connection.close()
    assert recorded(path) == [(1, "sessions")]
