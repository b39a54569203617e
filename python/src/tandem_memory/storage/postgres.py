"""`PostgresStore`: sessions in a PostgreSQL database, for many servers of an application at once.

Any number of processes of both languages, on any number of machines, may use one database. What
keeps them apart:

- A change locks its user's row, so a user's changes come one after the other, and those of
  different users never wait for each other.
- Across a whole turn, model call included, it is the session's lease that lets one write; it is
  compared with the clock of the machine that asks, so keep these in step (NTP).
- Each transaction works as the role `tandem_memory_app` and names its user: row-level security
  shows it no other rows, whatever its statements say.

The first process to come makes a schema `tandem_memory` and that role, for which its login needs
the right to create both. Every other login needs the role alone:
`GRANT tandem_memory_app TO my_login`. The database's encoding must be UTF8.

What was removed is gone for every reader at once. Its bytes leave the server's files with the next
VACUUM FULL, and its log and backups as they are recycled: that is for whoever runs the server.

Needs the extra `tandem-memory[postgres]`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TypeVar

from .connections import Connect, Connections
from .documents import SessionDocument
from .queries import UserRows, lock_user, look_up_user
from .records import Removed, Session, StoredMessage, StoredTurn, system_clock, timestamp
from .rules import Rule, State
from .store import Store

__all__ = ["PostgresStore"]

TIMEOUT_MILLISECONDS = 30_000

Result = TypeVar("Result")


class PostgresStore(Store):
    """Keeps sessions in a PostgreSQL database; the tables are made when it is first used.

    `database` is its URL, or what lends a connection: `pool.connection` of a `psycopg_pool`
    ConnectionPool, which stays its owner's. With a URL the store has one connection, made anew when
    it was lost, and its threads take turns. `timeout_milliseconds`: how long a statement may take,
    waiting for other writers included.

    Raises `StoreTooNewError`; every call may raise `StoreUnavailableError` (no server, a connection
    that broke, a statement that took too long), `StoreFullError` and `StoreDamagedError`.
    """

    def __init__(
        self,
        database: str | Connect,
        *,
        timeout_milliseconds: int = TIMEOUT_MILLISECONDS,
        clock: Callable[[], int] = system_clock,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        connections = Connections(database, timestamp(clock()), timeout_milliseconds)
        super().__init__(PostgresShelf(connections), clock=clock, new_id=new_id)


class PostgresShelf:
    """Holds rows in the tables that `tables` made."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def change(self, user_id: str, session_id: str, rule: Rule) -> Session:
        def body(rows: UserRows) -> Session:
            session_no, state = rows.state(session_id)
            change = rule(state)
            rows.write(session_no, change)
            return change.session

        return self._write(user_id, body)

    def open(self, user_id: str, session_id: str) -> tuple[State, list[StoredMessage]]:
        def body(rows: UserRows) -> tuple[State, list[StoredMessage]]:
            session_no, state = rows.state(session_id)
            return state, rows.messages(
                session_no, state.session["window"] if state.session else []
            )

        return self._read(user_id, body)

    def sessions(self, user_id: str, limit: int | None) -> list[Session]:
        def body(rows: UserRows) -> list[Session]:
            return [session for _, session in rows.sessions("DESC", limit)]

        return self._read(user_id, body)

    def turns(
        self, user_id: str, session_id: str, limit: int | None, before: int | None
    ) -> list[StoredTurn]:
        def body(rows: UserRows) -> list[StoredTurn]:
            session_no, *_ = rows.find(session_id)
            return rows.turns(session_no, limit, before)

        return self._read(user_id, body)

    def remove(self, user_id: str, session_id: str, check: Callable[[State], object]) -> Removed:
        def body(rows: UserRows) -> Removed:
            session_no, state = rows.state(session_id)
            check(state)
            return rows.remove([session_no])

        return self._write(user_id, body)

    def forget(self, user_id: str) -> Removed:
        def body(rows: UserRows) -> Removed:
            removed = rows.remove([session_no for session_no, _ in rows.sessions("ASC", None)])
            rows.remove_user()
            return removed

        return self._write(user_id, body)

    def read(self, user_id: str, session_id: str | None) -> list[SessionDocument]:
        def body(rows: UserRows) -> list[SessionDocument]:
            found = (
                rows.sessions("ASC", None) if session_id is None else [rows.find(session_id)[:2]]
            )
            return [rows.document(session_no, session) for session_no, session in found]

        return self._read(user_id, body)

    def insert(self, user_id: str, sessions: Sequence[SessionDocument]) -> list[Session]:
        return self._write(user_id, lambda rows: [rows.insert(each) for each in sessions])

    def close(self) -> None:
        self._connections.close()

    def _read(self, user_id: str, body: Callable[[UserRows], Result]) -> Result:
        return self._connections.read(user_id, lambda each: body(look_up_user(each, user_id)))

    def _write(self, user_id: str, body: Callable[[UserRows], Result]) -> Result:
        return self._connections.write(user_id, lambda each: body(lock_user(each, user_id)))
