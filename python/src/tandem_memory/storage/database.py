"""One SQLite file: how it comes to be, is opened, written to, and rid of what was removed.

Both languages set the same pragmas, since their defaults differ: a write-ahead log, `synchronous`
FULL (a chat turn can pay for one fsync), foreign keys, a bounded wait for a lock, and zeros over
whatever is deleted.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
import uuid
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from ..core.errors import (
    NotAStoreError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)
from .locks import BUSY_MILLISECONDS, begin_writing
from .migrations import migrate

__all__ = ["APPLICATION_ID", "Database", "Row", "naming_errors"]

Row = tuple[Any, ...]
"""The values of one row, in the order of the statement's columns."""

APPLICATION_ID = 0x546E4D6D
"""What the file's header says that it is, to `file` and to us: `TnMm`."""

PURGE_MILLISECONDS = 1_000

SMALLEST = 512
"""How many bytes an SQLite file has at least; a shorter one SQLite takes for an empty one."""

# SQLite's result codes (sqlite.org/rescode.html); the extended ones hold the others in 8 bits.
DAMAGED = (11, 26)  # SQLITE_CORRUPT, SQLITE_NOTADB
# SQLITE_FULL; and what a quota refuses, or a full disk to the log's index: SQLITE_IOERR_WRITE,
# SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMSIZE.
FULL = (13, 778, 1034, 4874)


class Database:
    """An open file. Its threads take turns; other processes wait for its transactions."""

    def __init__(self, path: str | os.PathLike[str], applied_at: str) -> None:
        self._path = Path(path).absolute()
        self._lock = threading.RLock()
        with naming_errors(self._path):
            if not self._path.exists():
                create(self._path, applied_at)
            self._connection = connect(self._path, applied_at)

    @contextmanager
    def transaction(self, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Generator[None]:
        """Run the block as one transaction; if it raises, nothing of it happened."""
        with self._lock, naming_errors(self._path):
            if kind == "IMMEDIATE":
                begin_writing(self._connection)
            else:
                self._connection.execute("BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # Where the disk was full, SQLite has rolled back by itself.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement that writes; returns the row id of what it inserted."""
        return self._connection.execute(sql, values).lastrowid or 0

    def purge(self) -> bool:
        """Take the bytes of what was removed out of the file and its log.

        Returns whether that is still pending, since somebody else was at the file; the next open
        does it then.
        """
        with self._lock:
            return purge(self._connection)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def create(path: Path, applied_at: str) -> None:
    """Make the file all at once, under another name first: so an empty one is never ours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{uuid.uuid4()}.new")
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, str(path), applied_at)
        publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def publish(draft: Path, path: Path) -> None:
    """Give a draft its name, unless another process has made that file meanwhile."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:
        draft.rename(path)  # a file system without links


def connect(path: Path, applied_at: str) -> sqlite3.Connection:
    """Open the file if it is a store and in order; one that is not is left as it is."""
    size = path.stat().st_size
    if size < SMALLEST:
        raise StoreDamagedError(str(path), f"it has {size} bytes")
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        require_store(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        migrate(connection, str(path), applied_at)
        if connection.execute("SELECT pending FROM purges").fetchall() != [(0,)]:
            purge(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def require_store(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise NotAStoreError(str(path))


def purge(connection: sqlite3.Connection) -> bool:
    """Write the file anew and cut its log to nothing; returns whether that failed.

    `secure_delete` has put zeros over what was deleted, but not over the copies that SQLite leaves
    behind when it moves rows between pages. VACUUM leaves none.
    """
    try:
        connection.execute(f"PRAGMA busy_timeout = {PURGE_MILLISECONDS}")
        connection.execute("VACUUM")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0
        if not busy:
            connection.execute("UPDATE purges SET pending = 0")
    except sqlite3.OperationalError:
        return True
    else:
        return busy
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")


@contextmanager
def naming_errors(path: Path) -> Generator[None]:
    """Give what SQLite, the system or a reader of JSON raises in the block a name of ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None or code & 0xFF in DAMAGED:  # text that is no UTF-8 has no code
            raise StoreDamagedError(str(path), str(error)) from error
        if code in FULL:
            raise StoreFullError(str(path)) from error
        raise StoreUnavailableError(str(path), str(error)) from error
    except json.JSONDecodeError as error:
        raise StoreDamagedError(str(path), f"a row holds no JSON: {error}") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)):
            raise StoreFullError(str(path)) from error
        raise StoreUnavailableError(str(path), str(error)) from error
