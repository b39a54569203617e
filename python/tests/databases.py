"""Databases of their own on the PostgreSQL server at TANDEM_POSTGRES_URL.

Twin: typescript/tests/databases.ts.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

SERVER = os.environ.get("TANDEM_POSTGRES_URL", "")


def new_database(*, encoding: str = "UTF8") -> str:
    """Make an empty database and return its URL, the superuser's; it goes with the server."""
    name = f"test_{secrets.token_hex(8)}"
    query(SERVER, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING {encoding}")
    return re.sub(r"/[^/]*$", f"/{name}", SERVER)


def query(url: str, sql: str, values: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
    """Run statements as the superuser, each for itself; returns the last one's rows, if any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []


def new_login(url: str, rights: str) -> str:
    """Make a login; returns the database's URL for it. `rights` has its name as `{}`."""
    name, password = f"login_{secrets.token_hex(8)}", secrets.token_hex(8)
    query(url, f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    if rights:
        query(url, rights.format(name))
    return re.sub(r"//[^@]*@", f"//{name}:{password}@", url)


@contextmanager
def rival(url: str, statement: str) -> Generator[psycopg.Connection[Any]]:
    """Somebody who has run this statement in a transaction that stays open for the block."""
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())
        yield connection
        connection.rollback()


@contextmanager
def app_role(url: str, user_id: str) -> Generator[psycopg.Connection[Any]]:
    """A connection as the store's role, in a transaction that names this user."""
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL ROLE tandem_memory_app")
        setting = "SELECT set_config('tandem_memory.id_hash', %s, true)"
        connection.execute(setting, [hashlib.sha256(user_id.encode()).hexdigest()])
        yield connection


def wait_for(is_so: Callable[[], object]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def is_waiting(url: str) -> bool:
    """Whether somebody waits for a lock in this database."""
    sql = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = %s"
    return bool(query(url, sql, [database_of(url)]))


def end_connections(url: str) -> None:
    """End the connections of whoever calls itself `store` in this database."""
    sql = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = %s AND application_name = 'store'"""
    query(url, sql, [database_of(url)])


def crash_server(url: str) -> None:
    """Kill one of the server's processes, and wait until it has thrown all clients out for that."""
    with psycopg.connect(url) as victim, psycopg.connect(url, autocommit=True) as witness:
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        wait_for(lambda: is_lost(witness))


def is_lost(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("SELECT")
    except psycopg.OperationalError:
        return True
    return False


def database_of(url: str) -> str:
    return url.rpartition("/")[2].partition("?")[0]
