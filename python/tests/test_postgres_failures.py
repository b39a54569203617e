"""`PostgresStore` beside rivals, broken connections and killed processes.

Twin: typescript/tests/postgres-failures.test.ts.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from databases import (
    crash_server,
    end_connections,
    is_waiting,
    new_database,
    query,
    rival,
    wait_for,
)
from tandem_memory.core.errors import StoreUnavailableError
from tandem_memory.storage import Store
from tandem_memory.storage.postgres import PostgresStore

pytestmark = pytest.mark.postgres

TURN = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]

LOCK_USER = "SELECT * FROM tandem_memory.users FOR UPDATE"

APPENDERS = {
    "python": [sys.executable, str(Path(__file__).with_name("appender.py"))],
    "typescript": [
        str(shutil.which("node")),
        str(Path(__file__).parents[2] / "typescript" / "tests" / "appender.ts"),
    ],
}


@pytest.fixture
def url() -> str:
    """A database with one session, ann's, of one turn."""
    url = new_database()
    with PostgresStore(url) as store:
        store.create_session("ann", "shared")
        store.append("ann", "shared", TURN)
    return url


def contents(store: Store) -> list[str]:
    turns = store.history("ann", "shared", None)
    return [each["message"]["content"] for turn in turns for each in turn["messages"]]


def test_a_statement_that_waits_too_long_ends_and_changes_nothing(url: str) -> None:
    with PostgresStore(url, timeout_milliseconds=200) as store:
        with rival(url, LOCK_USER), pytest.raises(StoreUnavailableError):
            store.append("ann", "shared", TURN)
        assert contents(store) == ["hello", "hi"]


def test_users_do_not_wait_for_each_other(url: str) -> None:
    with PostgresStore(url, timeout_milliseconds=200) as store, rival(url, LOCK_USER):
        assert store.create_session("bob", "other")["revision"] == 1


def test_a_transaction_given_up_for_another_is_run_again(url: str) -> None:
    patient = f"{url}?options=-c%20deadlock_timeout%3D10s"
    hasty = f"{url}?options=-c%20deadlock_timeout%3D100ms"
    with PostgresStore(hasty) as store, ThreadPoolExecutor(1) as thread:
        with rival(patient, "UPDATE tandem_memory.sessions SET last_seq = last_seq") as other:
            appended = thread.submit(store.append, "ann", "shared", TURN)
            wait_for(lambda: is_waiting(url))
            other.execute("SELECT * FROM tandem_memory.users FOR UPDATE")
        assert appended.result()["last_seq"] == 4


def test_a_connection_lost_before_the_commit_is_made_anew(url: str) -> None:
    with PostgresStore(f"{url}?application_name=store") as store, ThreadPoolExecutor(1) as thread:
        with rival(url, LOCK_USER):
            appended = thread.submit(store.append, "ann", "shared", TURN)
            wait_for(lambda: is_waiting(url))
            end_connections(url)
        assert appended.result()["last_seq"] == 4
        end_connections(url)
        assert contents(store) == ["hello", "hi"] * 2


def test_a_connection_lost_in_the_commit_is_reported_and_not_repeated(url: str) -> None:
    # A trigger at the end of the transaction, so that the COMMIT itself takes its time.
    query(
        url,
        """CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON tandem_memory.messages
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slowly()""",
    )
    with PostgresStore(f"{url}?application_name=store") as store, ThreadPoolExecutor(1) as thread:
        with rival(url, "SELECT pg_advisory_xact_lock(1)"):
            appended = thread.submit(store.append, "ann", "shared", TURN)
            wait_for(lambda: is_waiting(url))
            end_connections(url)
            with pytest.raises(StoreUnavailableError, match="commit"):
                appended.result()
        assert contents(store) == ["hello", "hi"]


def test_a_server_that_crashes_and_restarts_loses_nothing_stored(url: str) -> None:
    with PostgresStore(url) as store:
        for _ in range(3):
            store.append("ann", "shared", TURN)
            crash_server(url)
            wait_for(lambda: is_reachable(store))
        assert contents(store) == ["hello", "hi"] * 4


def is_reachable(store: Store) -> bool:
    try:
        store.list_sessions("ann")
    except StoreUnavailableError:
        return False
    return True


def test_threads_may_share_a_store(url: str) -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(8) as threads:
        appends = [threads.submit(store.append, "ann", "shared", TURN) for _ in range(40)]
        assert sorted(each.result()["last_turn"] for each in appends) == list(range(2, 42))
        assert_whole(store, 41)


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_writer_killed_at_any_moment_leaves_whole_turns(url: str, language: str) -> None:
    stored = 0
    for delay in range(8):
        command = [*APPENDERS[language], url, "60", f"{language} {delay}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout
            told = [writer.stdout.readline() for _ in range(3)]
            assert all(told)
            time.sleep(delay * 0.0031)
            writer.send_signal(signal.SIGKILL)
            stored += len([line for line in (*told, *writer.stdout) if line.endswith("\n")])
    with PostgresStore(url) as store:
        turns = store.open_session("ann", "shared")["session"]["last_turn"]
        # What was told to be stored is; a kill may come between the commit and the telling.
        assert stored + 1 <= turns <= stored + 1 + 8
        assert_whole(store, turns)


def test_writers_of_both_languages_leave_no_error_and_no_gap(url: str) -> None:
    names = [f"{language} {i}" for language in APPENDERS for i in range(2)]
    writers = [
        subprocess.Popen(
            [*APPENDERS[name.split()[0]], url, "4", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    outputs = [writer.communicate() for writer in writers]
    assert [
        (writer.returncode, err) for writer, (_, err) in zip(writers, outputs, strict=True)
    ] == [(0, "")] * len(names)
    counts = [len(out.splitlines()) for out, _ in outputs]
    with PostgresStore(url) as store:
        assert_whole(store, sum(counts) + 1)
        for name, count in zip(names, counts, strict=True):
            own = [text for text in contents(store) if text.startswith(f"{name} asks")]
            assert own == [f"{name} asks {i}" for i in range(1, count + 1)]
            assert count > 10


def assert_whole(store: Store, turns: int) -> None:
    """The session has so many turns of a question and its answer, numbered without a gap."""
    [session] = store.export_sessions("ann", "shared")["sessions"]
    assert [turn["turn"] for turn in session["turns"]] == list(range(1, turns + 1))
    messages = [each for turn in session["turns"] for each in turn["messages"]]
    assert [each["seq"] for each in messages] == list(range(1, 2 * turns + 1))
    for turn in session["turns"]:
        question, answer = (each["message"]["content"] for each in turn["messages"])
        assert answer == re.sub("^hello$", "hi", question.replace("asks", "answers"))
