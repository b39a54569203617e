"""Waiting for SQLite's write lock, so that everybody gets it.

SQLite's own wait sleeps up to a tenth of a second between two looks, and so misses the short gaps
that a busy writer leaves, again and again: of four that wrote for a minute, up to three gave up
after ten seconds. Looking every few milliseconds, nobody waits for long.
"""

from __future__ import annotations

import random
import sqlite3
import time

__all__ = ["BUSY_MILLISECONDS", "begin_writing", "try_to_begin"]

BUSY_MILLISECONDS = 10_000
"""How long a writer waits for others' transactions; theirs are short."""

BUSY = 5
"""SQLite's result code for a lock that somebody else has (sqlite.org/rescode.html)."""

LONGEST_LOOK = 0.004


def begin_writing(connection: sqlite3.Connection) -> None:
    """Begin a transaction that writes, as soon as there is no other one."""
    end = time.monotonic() + BUSY_MILLISECONDS / 1000
    while not try_to_begin(connection, is_last=time.monotonic() > end):
        time.sleep(random.uniform(0, LONGEST_LOOK))  # noqa: S311 - no secret


def try_to_begin(connection: sqlite3.Connection, *, is_last: bool = False) -> bool:
    """Begin a transaction that writes; returns False, or raises if it `is_last`, if one runs."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if is_last or error.sqlite_errorcode & 0xFF != BUSY:
            raise
        return False
    else:
        return True
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
