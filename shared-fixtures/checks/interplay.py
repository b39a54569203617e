"""Lets each language go on with the store that the other has written: `interplay.py`.

Every store fixture is played four times in files of its own: by Python, by TypeScript, and by both
in turns, one step each, with either at the beginning. All must come to what the fixture says, and
the files must be the same then: row for row in SQLite, byte for byte in JSON.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from typing import IO, cast

from contract import CASES, TOP, Json, find_node, read, report

sys.path.insert(0, str(TOP / "python" / "tests"))

from encoding import write
from fixtures import perform
from stores import ROOT, StoreSubject

__all__ = ["main"]

ORDERS = (("python",), ("typescript",), ("python", "typescript"), ("typescript", "python"))


class Stepper:
    """Makes a step in either language; the TypeScript one is a program that is asked."""

    def __init__(self) -> None:
        command = [find_node(), str(TOP / "typescript" / "tests" / "steps.ts")]
        self._program = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def step(self, language: str, store: Json, step: Json) -> Json:
        if language == "python":
            return perform(StoreSubject(deepcopy(store)), deepcopy(step))
        asked, told = cast("IO[str]", self._program.stdin), cast("IO[str]", self._program.stdout)
        asked.write(json.dumps({"store": store, **step}) + "\n")
        asked.flush()
        return json.loads(told.readline())

    def close(self) -> None:
        self._program.communicate()


def play(case: Json, store: Json, order: tuple[str, ...], stepper: Stepper) -> Iterator[str]:
    """Play a case on the store, a step a language; yields where it comes to something else."""
    for step, language in zip(case["steps"], cycle(order), strict=False):
        asked = {"call": step["call"], "args": step["args"]}
        came = stepper.step(language, store, asked)
        expected = {key: step[key] for key in ("returns", "throws", "state") if key in step}
        if write(came) != write(expected):
            names = " and ".join(order)
            yield f"{case['id']}, {store['kind']} by {names}: {language} comes to {write(came)}"
            return
        follow(store, asked, came)


def follow(store: Json, step: Json, came: Json) -> None:
    """Move the clock, the ids and the known users on, as a subject would that lives on."""
    args = step["args"]
    if step["call"] == "advance":
        store["clock"] += args["milliseconds"]
    if "returns" not in came:
        return
    if step["call"] == "create_session" and args.get("session_id") is None:
        store["ids"].pop(0)
    named = [args.get("user_id"), args.get("to"), args.get("document", {}).get("user_id")]
    store["users"] += [user for user in named if user and user not in store["users"]]


def content(folder: Path) -> Json:
    """Return all that is stored in a folder: a database as SQL, other files as they are."""
    found: Json = {}
    for file in sorted(folder.rglob("*")):
        if file.name == "store.sqlite3":
            with closing(sqlite3.connect(file)) as connection:
                found[file.name] = list(connection.iterdump())
        elif file.is_file():
            found[file.name] = file.read_bytes()
    return found


def check(case: Json, kind: str, stepper: Stepper) -> Iterator[str]:
    given = case["given"]["store"]
    contents: list[Json] = []
    for order in ORDERS:
        with tempfile.TemporaryDirectory(dir=ROOT) as folder:
            store: Json = {"kind": kind, "folder": folder, "users": []}
            store |= {"clock": given.get("clock", 0), "ids": list(given.get("ids", []))}
            yield from play(case, store, order, stepper)
            contents.append(content(Path(folder)))
    if any(each != contents[0] for each in contents):
        yield f"{case['id']}: the {kind} files differ: {contents}"


def main() -> int:
    """Play every store fixture; returns the exit status."""
    cases = [
        case
        for file in sorted(CASES.glob("*.json"))
        for case in read(file)["cases"]
        if "store" in case["given"]
    ]
    stepper = Stepper()
    problems = [
        problem
        for case in cases
        for kind in ("sqlite", "json")
        for problem in check(case, kind, stepper)
    ]
    stepper.close()
    return report(
        problems,
        f"{len(cases)} fixtures: each language goes on with the other's stores, to the row",
    )


if __name__ == "__main__":
    sys.exit(main())
