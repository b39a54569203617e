"""The window: adds and trims per second, beside what a user would pick instead.

Every manager holds a chat whose window is just full, and goes on with the same turns of a question
and a reply; so every turn trims. Each is timed in the same process, in rounds, and built anew for
each round; shown is the median. Seconds are the processor's, so that what else runs on the machine
shows as little as can be. Run it with `nox -s bench -- window`.
"""

from __future__ import annotations

import argparse
import gc
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rivals.agents import Agents
from rivals.langchain import LangChain
from rivals.naive import Naive
from rivals.tandem import Tandem

WINDOWS = (10, 1_000, 100_000)  # messages
DROPPED = (0, 1_000, 100_000)  # messages that left before
LEAST = 0.2  # seconds a measurement lasts at least

QUESTION = "What did I tell you about my cat Huahua yesterday, and what should I buy for her? ({})"
REPLY = (
    "You told me that Huahua is three years old, that she is afraid of thunder, and that she likes "
    "tuna far more than chicken. So buy tuna, and perhaps a soft blanket for under the bed. ({})"
)


class Chat(Protocol):
    """A manager under test."""

    name: str

    def run(self, turns: Sequence[tuple[str, str]]) -> None:
        """Chat for some turns."""


@dataclass
class Times:
    """What was measured of one manager at one window: seconds a turn, and the share of GC."""

    turn: list[float] = field(default_factory=list[float])
    gc: list[float] = field(default_factory=list[float])

    def rate(self) -> float:
        """Messages added per second."""
        return 2 / statistics.median(self.turn)


class GcClock:
    """Adds up the seconds that the garbage collector takes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._started = 0.0
        gc.callbacks.append(self._tick)

    def _tick(self, phase: str, _info: object) -> None:
        now = time.process_time()
        if phase == "start":
            self._started = now
        else:
            self.seconds += now - self._started


def chat(first: int, count: int) -> list[tuple[str, str]]:
    """Return `count` turns of a chat from its turn `first` on."""
    return [(QUESTION.format(i), REPLY.format(i)) for i in range(first, first + count)]


def history(messages: int) -> list[dict[str, str]]:
    """Return a system message and as many others."""
    told = [{"role": "system", "content": "You are a helpful assistant."}]
    for question, reply in chat(0, messages // 2):
        told.append({"role": "user", "content": question})
        told.append({"role": "assistant", "content": reply})
    return told


def measure(manager: Chat, clock: GcClock, into: Times) -> None:
    """Time turns for at least `LEAST` seconds, after one that is not timed."""
    manager.run(chat(0, 1))
    gc.collect()
    count = 1
    while True:
        turns = chat(1, count)
        collected, started = clock.seconds, time.process_time()
        manager.run(turns)
        took = time.process_time() - started
        if took >= LEAST:
            break
        count = max(2 * count, int(count * 1.2 * LEAST / took))
    into.turn.append(took / count)
    into.gc.append((clock.seconds - collected) / took)


def compare(makers: Sequence[Callable[[list[dict[str, str]]], Chat]], rounds: int) -> list[str]:
    """Return the table's lines for these managers, the first of which is the measure."""
    clock = GcClock()
    names: dict[str, list[Times]] = {}
    for window in WINDOWS:
        column: dict[str, Times] = {}
        for number in range(rounds):
            show_progress(f"window of {window:,}: round {number + 1} of {rounds}")
            for make in makers:
                manager = make(history(window))
                measure(manager, clock, column.setdefault(manager.name, Times()))
                del manager
        for name, times in column.items():
            names.setdefault(name, []).append(times)
    own = [times.rate() for times in next(iter(names.values()))]
    lines = ["| | " + " | ".join(f"{window:,}" for window in WINDOWS) + " | in GC |"]
    lines.append("|---|" + "--:|" * (len(WINDOWS) + 1))
    for name, cells in names.items():
        rates = (
            f"{figures(times.rate())}/s ({figures(ours / times.rate())})"
            for times, ours in zip(cells, own, strict=True)
        )
        collecting = " / ".join(f"{statistics.median(times.gc):.0%}" for times in cells)
        lines.append(f"| {name} | {' | '.join(rates)} | {collecting} |")
    return lines


def growth(rounds: int) -> Iterable[str]:
    """Return the lines of the table of what an add costs, by window and by what was dropped."""
    yield "| messages dropped before | " + " | ".join(f"{window:,}" for window in WINDOWS) + " |"
    yield "|--:|" + "--:|" * len(WINDOWS)
    clock = GcClock()
    rows: list[list[str]] = [[] for _ in DROPPED]
    for window in WINDOWS:
        manager = Tandem(history(window), hands_out=False)
        before = 0
        for row, dropped in zip(rows, DROPPED, strict=True):
            show_progress(f"window of {window:,}: {dropped:,} dropped")
            manager.run(chat(0, (dropped - before) // 2))
            before = dropped
            times = Times()
            for _ in range(rounds):
                measure(manager, clock, times)
            row.append(f"{1e6 / times.rate():.1f} µs")
    for dropped, row in zip(DROPPED, rows, strict=True):
        yield f"| {dropped:,} | {' | '.join(row)} |"


def figures(value: float) -> str:
    """Return a number to three significant digits."""
    digits = max(2 - math.floor(math.log10(value)), 0)
    return f"{float(f'{value:.3g}'):,.{digits}f}"


def show_progress(text: str) -> None:
    """Show a line on a terminal's standard error, in place of the last one."""
    if sys.stderr.isatty():
        print(f"\r{text:<60}\r", end="", file=sys.stderr, flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="window", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each measurement (default 5)")
    rounds = parser.parse_args().rounds
    trims = compare(
        [
            lambda told: Tandem(told, hands_out=False),
            lambda told: Naive(told, hands_out=False),
            LangChain,
            Agents,
        ],
        rounds,
    )
    print(f"Python {platform.python_version()}: messages added and trimmed per second, by window")
    print("(in brackets: how many times as many Tandem Memory does; last, the share spent in GC)\n")
    print("\n".join(trims))
    turns = compare(
        [
            lambda told: Tandem(told, hands_out=True),
            lambda told: Naive(told, hands_out=True),
            LangChain,
            Agents,
        ],
        rounds,
    )
    print("\nThe same with the messages handed out before each reply\n")
    print("\n".join(turns))
    print("\nAn add of Tandem Memory, by window and by what it dropped before\n")
    print("\n".join(growth(rounds)))


if __name__ == "__main__":
    main()
