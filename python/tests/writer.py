"""A program that writes turns into a session: `writer.py KIND PLACE SESSION [SECONDS NAME]`.

Twin: typescript/tests/writer.ts. It prints the number of each turn once that is stored. Without
SECONDS it writes until it is killed, or until the disk is full, which it says; with them it shares
the session with other writers, a lease for each turn, and puts its NAME before every text.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from tandem_memory.core.errors import SessionBusyError, SessionExistsError, StoreFullError
from tandem_memory.storage import JsonStore, SessionChanges, SqliteStore, Store

PADDING = "x" * 3000  # over a page of SQLite's with two of them, so that a turn can be torn

USER = "ann"


def open_place(kind: str, place: str) -> Store:
    return SqliteStore(place) if kind == "sqlite" else JsonStore(place)


def write_turns(store: Store, session_id: str) -> None:
    """Write turns for ever: one in a single append, one in two, its window being itself alone."""
    with suppress(SessionExistsError):
        store.create_session(USER, session_id)
    session = store.open_session(USER, session_id)["session"]
    while True:
        turn, seq = session["last_turn"] + 1, session["last_seq"] + 1
        question = {"role": "user", "content": f"q{turn} {PADDING}"}
        answer = {"role": "assistant", "content": f"a{turn} {PADDING}"}
        if turn % 2:
            session = store.append(USER, session_id, [question, answer])
        else:
            store.append(USER, session_id, [question], status="pending")
            changes: SessionChanges = {"window": [[seq, seq + 1]]}
            session = store.append(USER, session_id, [answer], changes=changes)
        sys.stdout.write(f"{turn}\n")
        sys.stdout.flush()


def share_session(store: Store, session_id: str, seconds: float, name: str) -> None:
    """Write turns, taking the session's lease for each, until the time is over."""
    with suppress(SessionExistsError):
        store.create_session(USER, session_id)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            store.acquire_lease(USER, session_id, name)
        except SessionBusyError:
            time.sleep(0.002)
            continue
        question = {"role": "user", "content": f"{name} q{count}"}
        store.append(USER, session_id, [question], status="pending", holder=name)
        answer = {"role": "assistant", "content": f"{name} a{count}"}
        turn = store.append(USER, session_id, [answer], holder=name)["last_turn"]
        store.release_lease(USER, session_id, name)
        sys.stdout.write(f"{turn}\n")
        count += 1


def main(kind: str, place: str, session_id: str, seconds: str = "", name: str = "") -> None:
    try:
        with open_place(kind, place) as store:
            if seconds:
                share_session(store, session_id, float(seconds), name)
            else:
                write_turns(store, session_id)
    except StoreFullError as error:
        sys.stdout.write(f"{error.code}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
