"""Kills writers of either language at random points, and looks what their stores hold then.

`kills.py --kills N [--seed S]` kills N writers a language, each in the middle of its work on an
SQLite or a JSON store. Every turn that a writer said was stored must be there, whole; the one that
it was at is there, or not, or is a failed question; nothing else is.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import IO, cast

from contract import LANGUAGES, TOP, find_node

sys.path.insert(0, str(TOP / "python" / "tests"))

from tandem_memory.core.errors import SessionNotFoundError
from tandem_memory.storage import Store
from writer import PADDING, USER, open_place

__all__ = ["kill_writers", "main", "writer_command"]

A_STORE = 25
"""How many writers are killed at one store before there is a new one."""


def writer_command(language: str, *arguments: str) -> list[str]:
    """Return the command of a language's writer."""
    program = {"python": "python/tests/writer.py", "typescript": "typescript/tests/writer.ts"}
    return [
        find_node() if language == "typescript" else sys.executable,
        str(TOP / program[language]),
        *arguments,
    ]


@dataclass
class Outcome:
    """What was seen after the kills."""

    kills: int = 0
    turns: int = 0
    seen: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])


def kill_writers(language: str, kind: str, kills: int, seed: str) -> Outcome:
    """Kill so many writers at one store, one after another, and check it after each."""
    outcome, chance = Outcome(kills), random.Random(seed)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "store.sqlite3") if kind == "sqlite" else folder
        told = 0
        for _ in range(kills):
            last, errors = kill_writer(writer_command(language, kind, place, "s"), chance)
            told = max(told, last)
            outcome.faults += [errors] if errors else []
            with open_place(kind, place) as store:
                outcome.turns = check_session(store, told, outcome)
        left = [path.name for path in Path(folder).iterdir() if path.suffix in (".tmp", ".new")]
        if kind == "json" and left:
            outcome.faults.append(f"drafts are left: {left}")
    return outcome


def kill_writer(command: list[str], chance: random.Random) -> tuple[int, str]:
    """Start a writer and kill it at a random moment.

    Returns the last turn that it had stored, and what it complained of before.
    """
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, encoding="utf-8") as writer:
        out, errors = cast("IO[str]", writer.stdout), cast("IO[str]", writer.stderr)
        # Some are killed while they open the store, most once they write.
        first = out.readline() if chance.random() < 0.8 else ""
        time.sleep(chance.random() * 0.03)
        writer.kill()
        told = [*first.split(), *out.read().split()]
        return int(told[-1]) if told else 0, errors.read()


def check_session(store: Store, told: int, outcome: Outcome) -> int:
    """Check what the store holds; returns how many turns that is."""
    try:
        opened = store.open_session(USER, "s")
    except SessionNotFoundError:
        outcome.seen["no session yet"] += 1
        outcome.faults += [f"the session is lost, {told} turns were stored"] if told else []
        return 0
    session, history = opened["session"], store.history(USER, "s", 60)
    whole = 0
    for turn in history:
        number = turn["turn"]
        texts = [each["message"]["content"] for each in turn["messages"]]
        question, answer = f"q{number} {PADDING}", f"a{number} {PADDING}"
        if turn["status"] == "complete" and texts == [question, answer]:
            whole = number
        elif turn["status"] != "failed" or texts != [question]:
            outcome.faults.append(f"turn {number} is {turn['status']}, {[t[:9] for t in texts]}")
    if [turn["turn"] for turn in history[:-1]] != [turn["turn"] - 1 for turn in history[1:]]:
        outcome.faults.append("a turn is missing")
    seqs = [each["seq"] for turn in history for each in turn["messages"]]
    if seqs != list(range(seqs[0], session["last_seq"] + 1)) if seqs else session["last_seq"]:
        outcome.faults.append(f"the sequence has a gap: {seqs[-9:]}, {session['last_seq']}")
    if whole < told:
        outcome.faults.append(f"turn {told} was stored and is lost; the last is {whole}")
    ends = [each["seq"] for turn in history if turn["turn"] == whole for each in turn["messages"]]
    if [each["seq"] for each in opened["messages"]][-2:] != ends:
        outcome.faults.append(f"the window ends in {opened['messages'][-2:]}, not in {ends}")
    state = "as told" if session["last_turn"] == told else "a turn more"
    if history and history[-1]["status"] == "failed":
        state = "a failed question"
    outcome.seen[state] += 1
    return session["last_turn"]


def main() -> int:
    """Kill writers of both languages and print what was seen; returns the exit status."""
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=2000)
    options.add_argument("--seed", type=int, default=time.time_ns())
    options.add_argument("--language", choices=LANGUAGES)
    known = options.parse_args()
    faults: list[str] = []
    for language in [known.language] if known.language else LANGUAGES:
        # Every fourth store is one of JSON files.
        stores = [
            (language, "json" if i % 4 == 3 else "sqlite", min(A_STORE, known.kills - start))
            for i, start in enumerate(range(0, known.kills, A_STORE))
        ]
        with ThreadPoolExecutor(4) as pool:
            runs = [
                pool.submit(kill_writers, *each, f"{known.seed} {language} {i}")
                for i, each in enumerate(stores)
            ]
            outcomes = [run.result() for run in runs]
        seen = sum((each.seen for each in outcomes), Counter[str]())
        kills, turns = (sum(getattr(each, n) for each in outcomes) for n in ("kills", "turns"))
        faults += [f"{language}: {fault}" for each in outcomes for fault in each.faults]
        told = ", ".join(f"{count} times {what}" for what, count in seen.most_common())
        print(f"{language}: {kills} writers killed, {turns} turns in the stores; found {told}")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(faults)} faults (--seed {known.seed})" if faults else "nothing lost, nothing torn")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
