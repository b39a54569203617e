"""Plays the same random scripts in both languages and compares what comes, to the byte.

`differential.py [--sequences N] [--seed S]`. Hypothesis makes the scripts; where the languages
differ it looks for the shortest script that shows it, and that is printed as a fixture case.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from typing import IO, cast

from contract import TOP, Json, find_node
from hypothesis import HealthCheck, Phase, given, seed, settings
from scripts import OWN_SNAPSHOT, scripts

sys.path.insert(0, str(TOP / "python" / "tests"))

from fixtures import TandemError, make_subject, perform

__all__ = ["main"]

BATCH = 250


class DifferenceFoundError(Exception):
    """The languages differ; the text says where, with the case."""


@dataclass
class Played:
    """What one batch did."""

    scripts: int = 0
    steps: int = 0
    difference: str = ""


@cache
def player() -> tuple[IO[str], IO[str]]:
    """Start this process's Node, which plays one script after another; returns its two ends."""
    command = [find_node(), str(TOP / "typescript" / "tests" / "differential.ts")]
    pipes = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipes, stdout=pipes, encoding="utf-8")
    return cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)


def play_typescript(script: Json) -> list[Json]:
    stdin, stdout = player()
    stdin.write(json.dumps(script) + "\n")
    stdin.flush()
    return json.loads(stdout.readline())


def play_python(script: Json) -> list[Json]:
    """Play a script in this process, and write into it what its own snapshots are."""
    results: list[Json] = []
    try:
        subject = make_subject(script["given"])
        for step in script["steps"]:
            snapshot: Json = step["args"].get("snapshot")
            if isinstance(snapshot, dict) and OWN_SNAPSHOT in snapshot:
                own = subject.call("snapshot", {})
                step["args"]["snapshot"] = spoilt(own, cast("Json", snapshot)[OWN_SNAPSHOT])
            results.append(perform(subject, step))
    except TandemError as error:
        results.append({"refused": error.code})
    except Exception as error:  # noqa: BLE001 - whatever it is, TypeScript must do it too
        results.append({"crash": repr(error)})
    return results


def spoilt(snapshot: Json, change: str) -> Json:
    """Return a snapshot with one thing in it made wrong."""
    messages = snapshot["messages"]
    if change == "first":
        return snapshot | {"messages": messages[1:]}
    if change == "role" and messages:
        return snapshot | {"messages": [*messages[:-1], messages[-1] | {"role": "nobody"}]}
    return {key: value for key, value in snapshot.items() if key != change}


def write(value: Json) -> str:
    """Return a result as text; escapes make two halves of a surrogate pair the same as a whole."""
    return json.dumps(value, sort_keys=True)


def as_javascript(value: Json) -> Json:
    """Return an error's data with its numbers as JavaScript would send them."""
    if isinstance(value, dict):
        fields: dict[str, Json] = value  # pyright: ignore[reportUnknownVariableType]
        return {key: as_javascript(item) for key, item in fields.items()}
    if isinstance(value, list):
        items: list[Json] = value  # pyright: ignore[reportUnknownVariableType]
        return [as_javascript(item) for item in items]
    if isinstance(value, int) and abs(value) > 2**53:
        return float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


def compare(script: Json) -> int:
    """Play a script in both languages; returns how many steps, or raises with the difference."""
    python = play_python(script)
    typescript = play_typescript(script)
    for number, (left, right) in enumerate(zip(python, typescript, strict=False), 1):
        for result in (left, right):
            if "throws" in result:
                result["throws"] = as_javascript(result["throws"])
        if "crash" in left or write(left) != write(right):
            raise DifferenceFoundError(explain(script, number, python, typescript))
    if len(python) != len(typescript):
        raise DifferenceFoundError(explain(script, len(python), python, typescript))
    return len(python)


def explain(script: Json, number: int, python: list[Json], typescript: list[Json]) -> str:
    """Return the difference in words and the script as a case, with Python's results."""
    steps = [step | came for step, came in zip(script["steps"], python, strict=False)][:number]
    case = {
        "id": "suite-what-differs",
        "title": "what is right",
        "given": script["given"],
        "steps": steps,
    }
    return (
        f"step {number} differs:\n  python:     {write(python[number - 1])}\n"
        f"  typescript: {write(typescript[number - 1])}\n"
        f"as a fixture case, with Python's results:\n{json.dumps(case, indent=2)}"
    )


def play_batch(count: int, number: int) -> Played:
    """Play `count` scripts from one seed; in a process of the pool."""
    played = Played()

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(scripts)
    def play(script: Json) -> None:
        played.steps += compare(script)
        played.scripts += 1

    try:
        play()
    except DifferenceFoundError as error:
        played.difference = str(error)
    return played


def main() -> int:
    """Play as many scripts as asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), metavar="S")  # noqa: S311
    options = parser.parse_args()
    print(f"{options.sequences} sequences from seed {options.seed}", flush=True)
    done = Played()
    batches = range(0, options.sequences, BATCH)
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(batches))) as pool:
        counts = [min(BATCH, options.sequences - start) for start in batches]
        futures = [pool.submit(play_batch, n, options.seed + i) for i, n in enumerate(counts)]
        for future in as_completed(futures):
            played = future.result()
            if played.difference:
                pool.shutdown(cancel_futures=True)
                print(played.difference, file=sys.stderr)
                return 1
            done = Played(done.scripts + played.scripts, done.steps + played.steps)
            print(f"{done.scripts} sequences, {done.steps} steps: no difference", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
