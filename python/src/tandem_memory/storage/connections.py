"""Connections to PostgreSQL: transactions that name their user, are retried, and fail clearly.

A transaction that the server gave up for another one (deadlock, serialisation), or whose connection
was lost before it was to be committed, has changed nothing and is run again. One that is lost in
the middle of its COMMIT may have happened, so it is never repeated but reported.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row

from ..core.errors import StoreDamagedError, StoreFullError, StoreUnavailableError
from .rows import id_hash
from .tables import make_tables

__all__ = ["Connect", "Connections", "Transaction"]

ATTEMPTS = 5

# SQLSTATE codes (postgresql.org/docs/current/errcodes-appendix.html): serialization_failure and
# deadlock_detected; data_corrupted and index_corrupted; disk_full.
GIVEN_UP = ("40001", "40P01")
DAMAGED = ("XX001", "XX002")
FULL = "53100"

Result = TypeVar("Result")

Connect = Callable[[], AbstractContextManager[psycopg.Connection[Any]]]
"""Lends a connection for a block, as `ConnectionPool.connection` of psycopg_pool does."""


class Transaction:
    """A transaction that has begun; its statements have `?` where values go."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._cursor = connection.cursor(row_factory=tuple_row)

    def run(self, sql: str, values: Sequence[object]) -> list[Any]:
        """Run a statement and return its rows, each a tuple; none where it has none to return."""
        self._cursor.execute(sql.replace("?", "%s").encode(), values)
        return self._cursor.fetchall() if self._cursor.description else []


class Connections:
    """A database, reached by its URL or through somebody's pool."""

    def __init__(self, database: str | Connect, applied_at: str, timeout_milliseconds: int) -> None:
        self._path = database_path(database)
        self._own = None
        if isinstance(database, str):
            self._own = OwnConnection(database)
            database = self._own.lend
        self._connect: Connect = database
        self._applied_at = applied_at
        self._timeout = timeout_milliseconds
        self._has_tables = False

    def read(self, user_id: str, body: Callable[[Transaction], Result]) -> Result:
        """Run `body` in one transaction that sees the user's rows as of one moment."""
        return self._transact("REPEATABLE READ, READ ONLY", user_id, body)

    def write(self, user_id: str, body: Callable[[Transaction], Result]) -> Result:
        """Run `body` in one transaction, maybe several times until all of it happens once.

        Each of its statements sees what others committed before it, so the first one must lock.
        """
        return self._transact("READ COMMITTED, READ WRITE", user_id, body)

    def close(self) -> None:
        """Close what the store opened by itself; a pool is its owner's."""
        if self._own:
            self._own.close()

    def _transact(self, mode: str, user_id: str, body: Callable[[Transaction], Result]) -> Result:
        # One message to the server. All of it ends with the transaction, so the connection goes
        # back to its pool as it was. The hash is hexadecimal and needs no quoting. Without bitmap
        # scans the newest turns are found from the end of their index, whatever the server's
        # statistics say of a table that has just grown.
        begin = f"""SET TRANSACTION ISOLATION LEVEL {mode};
SET LOCAL ROLE tandem_memory_app; SET LOCAL search_path = tandem_memory;
SET LOCAL enable_bitmapscan = off; SET LOCAL statement_timeout = {self._timeout};
SET LOCAL idle_in_transaction_session_timeout = {self._timeout};
SET LOCAL tandem_memory.id_hash = '{id_hash(user_id)}'"""
        attempt = 1
        with naming_errors(self._path):
            while True:
                try:
                    return self._attempt(begin, body)
                except psycopg.Error as error:
                    is_undone = isinstance(error, LostError) or error.sqlstate in GIVEN_UP
                    if attempt == ATTEMPTS or not is_undone:
                        raise
                time.sleep(random.uniform(0, 0.02 * 2**attempt))  # noqa: S311 - spreads rivals
                attempt += 1

    def _attempt(self, begin: str, body: Callable[[Transaction], Result]) -> Result:
        with self._connect() as connection:
            is_committing = False
            try:
                if not self._has_tables:
                    make_tables(connection, self._path, self._applied_at)
                    self._has_tables = True
                with connection.transaction():
                    connection.execute(begin.encode())
                    result = body(Transaction(connection))
                    is_committing = True
            except psycopg.Error as error:
                if not connection.closed:
                    raise
                if is_committing:
                    detail = f"{error}; that was in a commit, so see whether the change is there"
                    raise StoreUnavailableError(self._path, detail) from error
                raise LostError(str(error)) from error
            return result


class LostError(psycopg.OperationalError):
    """The connection was lost, and nothing had been committed."""


class OwnConnection:
    """One connection, made when it is first needed and anew when it was lost; threads queue."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def lend(self) -> Generator[psycopg.Connection[Any]]:
        """Lend the connection for the block."""
        with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._url, autocommit=True)
            yield self._connection

    def close(self) -> None:
        """Close it; another one is made should it be needed again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


def database_path(database: object) -> str:
    """Return what an error calls the database: its URL without user, password and parameters."""
    found = re.match(r"postgres(?:ql)?://(?:.*@)?([^?]*)", str(database))
    return f"postgresql://{found[1]}" if found else "PostgreSQL"


@contextmanager
def naming_errors(path: str) -> Generator[None]:
    """Give what PostgreSQL or a reader of JSON raises in the block a name of ours."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate in DAMAGED:
            raise StoreDamagedError(path, str(error)) from error
        if error.sqlstate == FULL:
            raise StoreFullError(path) from error
        raise StoreUnavailableError(path, str(error)) from error
    except json.JSONDecodeError as error:
        raise StoreDamagedError(path, f"a row holds no JSON: {error}") from error
