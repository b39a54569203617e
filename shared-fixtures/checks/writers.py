"""Lets writers of both languages write to one file at once: `writers.py [--seconds N]`.

Two of each language share a session, one lease a turn, in an SQLite file and in a folder of JSON
files. Afterwards every turn that a writer said was stored is there once, no turn has words of two
writers, each writer's turns are in its own order, and the sequence has no gap.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from contract import LANGUAGES, TOP
from kills import writer_command

sys.path.insert(0, str(TOP / "python" / "tests"))

from tandem_memory.storage import Store
from writer import USER, open_place

__all__ = ["main", "write_together"]


def write_together(kind: str, seconds: float) -> tuple[list[str], Counter[str]]:
    """Let four writers write for so long; returns what is wrong, and each one's turns."""
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "store.sqlite3") if kind == "sqlite" else folder
        names = [f"{language}{i}" for i in range(2) for language in LANGUAGES]
        writers = {
            name: subprocess.Popen(
                writer_command(name[:-1], kind, place, "s", str(seconds), name),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            for name in names
        }
        ended = {name: (writer.communicate(), writer) for name, writer in writers.items()}
        problems = [
            f"{kind}: {name} ended with {writer.returncode}: {errors}"
            for name, ((_, errors), writer) in ended.items()
            if writer.returncode or errors
        ]
        told = {name: [int(n) for n in out.split()] for name, ((out, _), _) in ended.items()}
        with open_place(kind, place) as store:
            problems += [f"{kind}: {fault}" for fault in check_turns(store, told)]
    return problems, Counter({name: len(turns) for name, turns in told.items()})


def check_turns(store: Store, told: dict[str, list[int]]) -> Iterator[str]:
    """Yield what is wrong with the shared session."""
    session, turns = store.open_session(USER, "s")["session"], store.history(USER, "s", None)
    stored: dict[str, list[int]] = {name: [] for name in told}
    for turn in turns:
        texts = [each["message"]["content"] for each in turn["messages"]]
        name = texts[0].split()[0]
        count = len(stored[name])
        if texts != [f"{name} q{count}", f"{name} a{count}"] or turn["status"] != "complete":
            yield f"turn {turn['turn']} is {turn['status']}: {texts}, not {name}'s number {count}"
        stored[name].append(turn["turn"])
    if stored != told:
        yield f"turns are lost or strange: {stored} are stored, {told} were told"
    seqs = [each["seq"] for turn in turns for each in turn["messages"]]
    if seqs != list(range(1, 2 * len(turns) + 1)) or session["last_seq"] != len(seqs):
        yield f"the sequence has a gap: {len(seqs)} messages, the last is {session['last_seq']}"


def main() -> int:
    """Let them write, and print how much each wrote; returns the exit status."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60)
    seconds = options.parse_args().seconds
    faults: list[str] = []
    for kind in ("sqlite", "json"):
        problems, turns = write_together(kind, seconds)
        faults += problems
        shares = ", ".join(f"{name} {count}" for name, count in turns.items())
        print(f"{kind}: {turns.total()} turns of four writers in {seconds:g} s ({shares})")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(faults)} faults" if faults else "no error, no gap, nothing interleaved")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
