"""Migrations: the steps from an empty SQLite file to today's tables, in their order.

Every step runs in one transaction with the number that it leaves in `user_version`, and is recorded
by name: so a file is at one version or the next, never between two, and a second run does nothing.
A step that was released is never edited; what comes later is a new step.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ..core.errors import StoreTooNewError

__all__ = ["MIGRATIONS", "Migration", "migrate"]


@dataclass(frozen=True)
class Migration:
    """One step; its version is its place in `MIGRATIONS`, counted from 1."""

    name: str
    statements: tuple[str, ...]


MIGRATIONS = (
    Migration(
        "sessions",
        (
            """CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT""",
            # Whether bytes of what was removed are still in the file.
            """CREATE TABLE purges (
  pending INTEGER NOT NULL
) STRICT""",
            "INSERT INTO purges VALUES (0)",
            # Ids may be long, so they are found by their hash: SHA-256 of the UTF-8, in hex.
            """CREATE TABLE users (
  user_no INTEGER PRIMARY KEY,
  id_hash TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT""",
            """CREATE TABLE sessions (
  session_no INTEGER PRIMARY KEY,
  user_no INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  id_hash TEXT NOT NULL,
  session_id TEXT NOT NULL,
  system_prompt TEXT,
  summary TEXT,
  window_ranges TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  last_turn INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  lease_holder TEXT,
  lease_until INTEGER,
  UNIQUE (user_no, id_hash),
  UNIQUE (user_no, revision)
) STRICT""",
            """CREATE TABLE turns (
  session_no INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  status TEXT NOT NULL,
  removed INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (session_no, turn)
) STRICT, WITHOUT ROWID""",
            # After a clear, the newest turns are found without passing all that was removed.
            "CREATE INDEX kept_turns ON turns (session_no, turn) WHERE removed = 0",
            # Messages may be long, and a table with a row id keeps long rows better.
            """CREATE TABLE messages (
  message_no INTEGER PRIMARY KEY,
  session_no INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  message TEXT NOT NULL,
  UNIQUE (session_no, seq)
) STRICT""",
        ),
    ),
)


def migrate(connection: sqlite3.Connection, path: str, applied_at: str) -> None:
    """Bring the file to this release's version; raises `StoreTooNewError` if it is beyond that.

    The connection is in autocommit mode. Several processes may do this at once.
    """
    if read_version(connection, path) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it since.
        done = read_version(connection, path)
        for version, migration in enumerate(MIGRATIONS[done:], done + 1):
            for statement in migration.statements:
                connection.execute(statement)
            row = (version, migration.name, applied_at)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", row)
            connection.execute(f"PRAGMA user_version = {version}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def read_version(connection: sqlite3.Connection, path: str) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise StoreTooNewError(path, version, len(MIGRATIONS))
    return version
