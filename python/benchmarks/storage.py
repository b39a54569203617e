"""Storage: durable appends per second and opening long sessions, beside what a user would pick.

Every store holds the same sessions in files of its own, and all are measured in one process. An
append is one transaction, on disk when it returns: all files are in WAL mode with `synchronous`
FULL. Of openings the median is shown, of appends the mean: now and then one has to move the log
into the file. Run it with `nox -s bench -- storage`.

The long sessions are filled in bulk. Tandem Memory's get the very rows that appends write, which is
made sure of on a short one; see `rivals/stores.py` for the others.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Protocol

from rivals.stores import WINDOW, Agents, Floor, LangGraph, Message, Tandem
from window import QUESTION, REPLY, figures, show_progress

LENGTHS = (1_000, 100_000, 1_000_000)  # messages
OPENINGS = 100  # of each session, by each store
LONGEST = 5.0  # seconds after which a measurement ends, if it has three runs
SHORT = 200  # messages of the session that is filled in both ways
FULL = 2  # what `PRAGMA synchronous` says


class Disk(Protocol):
    """A store under test; `longest` is the longest session that it is asked to hold."""

    name: str
    longest: int
    path: Path

    def fill(self, messages: Sequence[Message]) -> None:
        """Make the file with these messages."""

    def connect(self) -> None:
        """Open the file."""

    def read(self) -> int:
        """Read the session and return how many messages that gave."""

    def append(self, message: Message) -> None:
        """Store one more message for good."""

    def close(self) -> None:
        """Close the file."""


@dataclass
class Times:
    """Seconds of each thing measured, one a run."""

    restart: list[float] = field(default_factory=list[float])
    reading: list[float] = field(default_factory=list[float])
    append: list[float] = field(default_factory=list[float])
    processor: list[float] = field(default_factory=list[float])


Column = dict[str, Times]
"""What was measured of each store, by its name, at one length of the session."""

Columns = dict[int, Column]
"""The columns by that length."""


def messages(first: int, count: int) -> list[Message]:
    """Return a chat's messages; those with an odd number are questions."""
    return [
        {"role": "user", "content": QUESTION.format(i)}
        if i % 2
        else {"role": "assistant", "content": REPLY.format(i)}
        for i in range(first, first + count)
    ]


def require_fair_start(folder: Path) -> None:
    """Make sure that SQLite's own default is FULL, and that what is filled equals appends."""
    with closing(sqlite3.connect(folder / "default")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        assert connection.execute("PRAGMA synchronous").fetchone() == (FULL,)
    filled, appended = Tandem(folder / "filled"), Tandem(folder / "appended")
    filled.fill(messages(1, SHORT))
    appended.fill([])
    appended.connect()
    for message in messages(1, SHORT):
        appended.append(message)
    appended.close()
    rows: list[list[str]] = []
    for store in filled, appended:
        with closing(sqlite3.connect(store.path)) as connection:
            rows.append(list(connection.iterdump()))
    assert rows[0] == rows[1]


def measure_opening(store: Disk, length: int, into: Times) -> None:
    """Time the session's opening, from the closed file and again in the open one."""
    gc.collect()
    started = time.perf_counter()
    for number in range(OPENINGS):
        if number >= 3 and time.perf_counter() - started > LONGEST:
            break
        begun = time.perf_counter()
        store.connect()
        read = store.read()
        restarted = time.perf_counter()
        store.read()
        into.reading.append(time.perf_counter() - restarted)
        into.restart.append(restarted - begun)
        store.close()
        assert read >= min(WINDOW, length)


def measure_appends(writers: Sequence[tuple[Disk, Times]], turns: int) -> None:
    """Time turns of a question and a reply, the sessions by turns and in ever another order.

    So whatever the disk does besides, it does to all alike. A slow store has fewer turns.
    """
    for store, _ in writers:
        store.connect()
        store.read()
    if hasattr(os, "sync"):
        os.sync()  # what filling wrote must not be waited for here
    gc.collect()
    gc.freeze()  # one store holds its whole state; that is no work of the others
    chat = messages(1, 2)
    for number in range(turns):
        show_progress(f"appending: turn {number + 1:,} of {turns:,}")
        for store, times in random.sample(writers, len(writers)):
            if number >= 3 and sum(times.append) > LONGEST:
                continue
            started, worked = time.perf_counter(), time.process_time()
            for message in chat:
                store.append(message)
            times.append.append((time.perf_counter() - started) / 2)
            times.processor.append((time.process_time() - worked) / 2)
    for store, _ in writers:
        store.close()


def measure(folder: Path, longest: int, turns: int) -> tuple[Columns, Columns]:
    """Return what opening a session takes, and what an append to it does."""
    readers: list[tuple[int, Disk]] = []
    writers: list[tuple[int, Disk]] = []
    for length in sorted({min(length, longest // 2 * 2) for length in LENGTHS}):
        path = folder / str(length)
        floor, tandem, leased = Floor(path), Tandem(path), Tandem(path, leased=True)
        agents, langgraph = Agents(path, limit=WINDOW), LangGraph(path)
        for store in floor, tandem, leased, agents, langgraph:
            if length <= store.longest:
                show_progress(f"{length:,} messages: filling {store.name}")
                store.fill(messages(1, length))
                writers.append((length, store))
        shown = floor, tandem, agents, Agents(path, limit=None), langgraph
        readers.extend((length, store) for store in shown if length <= store.longest)
    opening: Columns = {}
    for length, store in readers:
        show_progress(f"{length:,} messages: opening {store.name}")
        times = opening.setdefault(length, {})[store.name] = Times()
        measure_opening(store, length, times)
    appends: Columns = {}
    for length, store in writers:
        appends.setdefault(length, {})[store.name] = Times()
    measure_appends([(store, appends[length][store.name]) for length, store in writers], turns)
    return opening, appends


def table(
    columns: Columns, pick: Callable[[Times], float], show: Callable[[float], str]
) -> list[str]:
    """Return the lines of a table; in brackets, how many times Tandem Memory's seconds it takes."""
    lines = ["| | " + " | ".join(f"{length:,}" for length in columns) + " |"]
    lines.append("|---|" + "--:|" * len(columns))
    for name in next(iter(columns.values())):
        cells: list[str] = []
        for column in columns.values():
            if name not in column:
                cells.append("not run")
                continue
            took, own = pick(column[name]), pick(column["Tandem Memory"])
            cells.append(f"{show(took)} ({figures(took / own)})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="storage", description=__doc__)
    parser.add_argument("--messages", type=int, default=LENGTHS[-1], help="of the longest session")
    parser.add_argument("--turns", type=int, default=500, help="to time the appends (default 500)")
    parser.add_argument("--folder", help="where the files are made (the system's temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        require_fair_start(Path(folder))
        opening, appends = measure(Path(folder), options.messages, options.turns)
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}; columns: messages")
    print("in the session (in brackets: how many times as long as Tandem Memory it takes)\n")
    for title, columns, pick, show in (
        ("Durable appends", appends, lambda t: mean(t.append), per_second),
        ("The processor's time of an append", appends, lambda t: mean(t.processor), milliseconds),
        ("Opening after a restart", opening, lambda t: median(t.restart), milliseconds),
        ("Opening in an open file", opening, lambda t: median(t.reading), milliseconds),
    ):
        print(f"{title}\n")
        print("\n".join(table(columns, pick, show)), end="\n\n")
    over = " / ".join(f"{1000 * over_floor(column):.3f} ms" for column in appends.values())
    print(f"An append of Tandem Memory over SQLite's floor: {over}")


def over_floor(column: Column) -> float:
    """Return how many seconds an append takes beyond the one that SQLite alone makes."""
    return mean(column["Tandem Memory"].append) - mean(column["SQLite's floor"].append)


def per_second(seconds: float) -> str:
    """Return how many fit into a second, to three significant digits."""
    return f"{figures(1 / seconds)}/s"


def milliseconds(seconds: float) -> str:
    """Return a time to three significant digits."""
    return f"{figures(1000 * seconds)} ms"


if __name__ == "__main__":
    main()
