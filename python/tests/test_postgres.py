"""`PostgresStore` on a real server; twin: typescript/tests/postgres.test.ts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from databases import app_role, new_database, new_login, query
from encoding import Json
from fixtures import load_cases, run_case
from stores import OPENERS
from tandem_memory.core.errors import (
    SessionBusyError,
    StoreDamagedError,
    StoreTooNewError,
    StoreUnavailableError,
)
from tandem_memory.storage import SqliteStore, Store, document_text
from tandem_memory.storage.postgres import PostgresStore
from tandem_memory.storage.tables import STEPS

pytestmark = pytest.mark.postgres

OPENERS["postgres"] = lambda folder, options: PostgresStore(database_for(folder), **options)
STORE_CASES = [case for case in load_cases() if "store" in case["given"]]

IDS = [
    *("../x", "/etc/passwd", "__proto__", "constructor", "a.b", "a_b", "a b", "A", "a", "%", "_"),
    *("é", "e\u0301", "ﬁ", "fi", "İ", "i\u0307", "花花", "😀", "\u202e", " ", "\t", "\r\n", "\0"),
    *("a\0b", "'", '"', "\\", "\\u0000", "''; DROP TABLE users; --", "$1", "?", "x" * 10_000),
]

COUNTS = (
    "SELECT count(*) FROM tandem_memory.users",
    "SELECT count(*) FROM tandem_memory.sessions",
    "SELECT count(*) FROM tandem_memory.turns",
    "SELECT count(*) FROM tandem_memory.messages",
)

TURN = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]


@cache
def fixtures_database() -> str:
    url = new_database()
    with PostgresStore(url) as store:
        store.list_sessions("nobody")  # makes the tables
    return url


@cache
def database_for(_folder: Path) -> str:
    """Return the database that all cases use, emptied for the one of this folder."""
    query(fixtures_database(), "DELETE FROM tandem_memory.users")
    return fixtures_database()


@pytest.fixture
def url() -> str:
    """A database with one session, ann's, of one turn."""
    url = new_database()
    with PostgresStore(url) as store:
        store.create_session("ann", "shared", system_prompt="Be kind.")
        store.append("ann", "shared", TURN)
    return url


def contents(store: Store) -> list[str]:
    turns = store.history("ann", "shared", None)
    return [each["message"]["content"] for turn in turns for each in turn["messages"]]


@pytest.mark.parametrize("case", STORE_CASES, ids=lambda case: case["id"])
def test_fixture_passes_on_postgres(case: Json) -> None:
    run_case({**case, "given": {"store": {**case["given"]["store"], "kind": "postgres"}}})


def test_export_is_the_one_of_sqlite_byte_for_byte(tmp_path: Path) -> None:
    def play(store: Store) -> list[str]:
        with store:
            for user_id in IDS:
                store.create_session(user_id, user_id[::-1], system_prompt=f"To {user_id}: \0.")
                store.append(user_id, user_id[::-1], [{**TURN[0], "ünknown": {"\0": [1.5, None]}}])
                store.append(user_id, user_id[::-1], TURN, status="interrupted")
                store.update_session(user_id, user_id[::-1], {"summary": {"text": user_id}})
            return [document_text(store.export_sessions(user_id)) for user_id in IDS]

    sqlite = play(SqliteStore(tmp_path / "store.sqlite3", clock=lambda: 0))
    postgres = play(PostgresStore(new_database(), clock=lambda: 0))
    assert sqlite == postgres


def test_ids_of_every_kind_are_sessions_of_their_own() -> None:
    with PostgresStore(new_database()) as store:
        for session_id in IDS:
            store.create_session("ann", session_id)
            store.acquire_lease("ann", session_id, session_id)
        assert [each["session_id"] for each in store.list_sessions("ann")] == IDS[::-1]


def test_a_statement_without_where_finds_the_rows_of_one_user(url: str) -> None:
    with PostgresStore(url) as store:
        store.import_sessions(store.export_sessions("ann"), user_id="bob")
    counts: dict[str, list[tuple[int, ...]]] = {}
    for user_id in ("ann", "bob", "nobody"):
        with app_role(url, user_id) as connection:
            counts[user_id] = [connection.execute(sql).fetchall()[0] for sql in COUNTS]
    with psycopg.connect(url) as connection:
        everything = [connection.execute(sql).fetchall()[0] for sql in COUNTS]
        connection.execute("SET ROLE tandem_memory_app")
        nameless = [connection.execute(sql).fetchall()[0] for sql in COUNTS]
    own, none = [(1,), (1,), (1,), (2,)], [(0,)] * 4
    assert counts == {"ann": own, "bob": own, "nobody": none}
    assert (everything, nameless) == ([(2,), (2,), (2,), (4,)], none)


def test_a_change_without_where_leaves_the_other_users(url: str) -> None:
    with PostgresStore(url) as store:
        store.import_sessions(store.export_sessions("ann"), user_id="bob")
        before = store.export_sessions("bob")
        with app_role(url, "ann") as connection:
            connection.execute("UPDATE tandem_memory.messages SET message = '{}'")
            connection.execute("DELETE FROM tandem_memory.users")
        assert (store.list_sessions("ann"), store.export_sessions("bob")) == ([], before)


@pytest.mark.parametrize("in_whose_name", ["ann", "bob"])
def test_a_row_in_another_users_session_is_refused(url: str, in_whose_name: str) -> None:
    with PostgresStore(url) as store:
        store.create_session("bob", "other")
    sql = "SELECT user_no FROM tandem_memory.users WHERE user_id = %s"
    [user] = query(url, sql, [f'"{in_whose_name}"'])
    [session] = query(url, "SELECT min(session_no) FROM tandem_memory.sessions")
    insert = "INSERT INTO tandem_memory.messages VALUES (%s, %s, 99, 0, '', '{}')"
    with pytest.raises(psycopg.Error) as refused, app_role(url, "bob") as connection:
        connection.execute(insert, (*user, *session))
    # insufficient_privilege by the policy, foreign_key_violation by the key of both numbers
    assert refused.value.sqlstate == {"ann": "42501", "bob": "23503"}[in_whose_name]


def test_row_security_binds_the_tables_owner_too(url: str) -> None:
    owner = new_login(url, "GRANT ALL ON SCHEMA tandem_memory TO {}")
    for table in ("users", "sessions", "turns", "messages"):
        name = owner.partition("//")[2].partition(":")[0]
        query(url, f"ALTER TABLE tandem_memory.{table} OWNER TO {name}")
    assert [query(owner, sql) for sql in COUNTS] == [[(0,)]] * 4


def test_a_login_needs_nothing_but_the_role(url: str) -> None:
    login = new_login(url, "GRANT tandem_memory_app TO {}")
    with PostgresStore(login) as store:
        store.append("ann", "shared", TURN)
        assert contents(store) == ["hello", "hi"] * 2


def test_a_login_without_the_role_is_refused(url: str) -> None:
    with (
        PostgresStore(new_login(url, "")) as store,
        pytest.raises(StoreUnavailableError) as refused,
    ):
        store.list_sessions("ann")
    assert "tandem_memory_app" in refused.value.detail


def test_a_pool_lends_connections_and_gets_them_back_as_they_were(url: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=1) as pool:
        with PostgresStore(pool.connection) as store:
            store.append("ann", "shared", TURN)
        with pool.connection() as connection:
            sql = "SELECT current_user, current_setting('tandem_memory.id_hash', true)"
            assert connection.execute(sql).fetchall() == [("tandem", "")]


def test_processes_that_come_first_together_make_the_tables_once() -> None:
    url = new_database()

    def create(number: int) -> None:
        with PostgresStore(url) as store:
            store.create_session("ann", str(number))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(create, range(8)))
    assert len(query(url, "SELECT * FROM tandem_memory.migrations")) == len(STEPS)
    assert query(url, "SELECT revision FROM tandem_memory.users") == [(8,)]


def test_a_database_of_a_later_release_is_refused_by_its_version(url: str) -> None:
    later = len(STEPS) + 1
    query(url, "INSERT INTO tandem_memory.migrations VALUES (%s, 'later', '')", [later])
    with PostgresStore(url) as store, pytest.raises(StoreTooNewError) as refused:
        store.list_sessions("ann")
    assert (refused.value.version, refused.value.supported) == (later, len(STEPS))


def test_a_database_that_cannot_hold_all_characters_is_refused() -> None:
    store = PostgresStore(new_database(encoding="SQL_ASCII"))
    with store, pytest.raises(StoreUnavailableError) as refused:
        store.list_sessions("ann")
    assert "SQL_ASCII" in refused.value.detail


def test_an_error_names_the_server_and_not_the_password() -> None:
    store = PostgresStore("postgresql://ann:se%2Fcret@127.0.0.1:1/none?application_name=x")
    with store, pytest.raises(StoreUnavailableError) as refused:
        store.list_sessions("ann")
    assert refused.value.path == "postgresql://127.0.0.1:1/none"
    assert "cret" not in str(refused.value)


def test_a_row_that_is_no_json_is_reported_and_left(url: str) -> None:
    query(url, "UPDATE tandem_memory.messages SET message = left(message, 9)")
    with PostgresStore(url) as store, pytest.raises(StoreDamagedError):
        store.open_session("ann", "shared")
    assert query(url, "SELECT DISTINCT length(message) FROM tandem_memory.messages") == [(9,)]


def test_one_writer_holds_a_session_and_the_others_are_told(url: str) -> None:
    with PostgresStore(url) as first, PostgresStore(url) as second:
        first.acquire_lease("ann", "shared", "first")
        with pytest.raises(SessionBusyError):
            second.append("ann", "shared", TURN)
        first.append("ann", "shared", TURN, holder="first")
        first.release_lease("ann", "shared", "first")
        assert second.append("ann", "shared", TURN)["last_seq"] == 6


def test_forget_leaves_the_other_users_and_not_a_row_of_this_one(url: str) -> None:
    with PostgresStore(url) as store:
        store.import_sessions(store.export_sessions("ann"), user_id="bob")
        removed = store.forget("ann")
        assert removed == {"sessions": 1, "turns": 1, "messages": 2, "purge_pending": False}
        assert store.export_sessions("bob")["sessions"][0]["last_seq"] == 2
    assert [query(url, sql) for sql in COUNTS] == [[(1,)], [(1,)], [(1,)], [(2,)]]
