"""Shows that the fixtures bite: one-change mutants must fail them, in each language.

`mutants.py [--language L] [--module M]`. Only the fixtures count, not the suites' own tests: a
change that they let pass could be made in one language alone and nobody would notice. Mutants that
no fixture can tell from the original stand in `equivalent_mutants.json`, each with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Timer
from typing import IO, cast

from contract import LANGUAGES, PYTHON_SOURCES, TOP, TYPESCRIPT_SOURCES, find_node, read
from mutations import Edit, python_edits

__all__ = ["main"]

FILES = [
    *("core/messages", "core/turns", "core/window", "core/thinking", "core/tokens"),
    *("core/frame", "core/explanation", "core/snapshot", "chat/correction"),
]
"""What is pure, and whose whole work is to be in the fixtures."""

MODULES = {file.partition("/")[2]: file for file in FILES}
TESTS = TOP / "typescript" / "tests"
SECONDS = 10
"""For one mutant: over ten times what the fixtures take. One that loops for ever is caught."""

LEAST_SHARE = 0.95


@dataclass(frozen=True)
class Mutant:
    """A file with one change in it, at positions in its text."""

    language: str
    file: Path
    text: str
    edit: Edit

    @property
    def source(self) -> str:
        """The whole text, changed."""
        start, end, replacement = self.edit
        return self.text[:start] + replacement + self.text[end:]

    @property
    def change(self) -> dict[str, str]:
        """The lines that differ, before and after: how `equivalent_mutants.json` names it."""
        start, end, replacement = self.edit
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        becomes = self.text[first:start] + replacement + self.text[end:last]
        lines = (" ".join(text.split()) for text in (self.text[first:last], becomes))
        return dict(zip(("file", "was", "becomes"), (self.file.name, *lines), strict=True))


class Worker:
    """A process that runs the fixtures on one mutant after another."""

    def __init__(self, language: str) -> None:
        if language == "python":
            self._command = [sys.executable, str(Path(__file__).with_name("mutated.py"))]
        else:
            self._command = [find_node(), str(TESTS / "mutants.ts")]
        self._start()

    def _start(self) -> None:
        pipes = subprocess.PIPE
        self._process = subprocess.Popen(
            self._command, stdin=pipes, stdout=pipes, stderr=subprocess.DEVNULL, encoding="utf-8"
        )

    def killer(self, mutant: Mutant) -> str | None:
        """Return what notices the mutant: a fixture's id, the time limit or a crash."""
        stdin = cast("IO[str]", self._process.stdin)
        stdout = cast("IO[str]", self._process.stdout)
        limit = Timer(SECONDS, self._process.kill)
        limit.start()
        stdin.write(json.dumps({"file": str(mutant.file), "source": mutant.source}) + "\n")
        stdin.flush()
        answer = stdout.readline()
        limit.cancel()
        if answer:
            return json.loads(answer)["failed"]
        self.end()
        self._start()
        return "no answer"

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.communicate()


def mutants_of(language: str, modules: list[str]) -> Iterator[Mutant]:
    if language == "python":
        for file in [PYTHON_SOURCES / f"{MODULES[module]}.py" for module in modules]:
            text = file.read_text("utf-8")
            yield from (Mutant(language, file, text, edit) for edit in python_edits(text))
        return
    files = [str(TYPESCRIPT_SOURCES / f"{MODULES[module]}.ts") for module in modules]
    command = [find_node(), str(TESTS / "mutations.ts"), *files]
    out = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    for file, edits in json.loads(out).items():
        text = Path(file).read_text("utf-8")
        yield from (Mutant(language, Path(file), text, Edit(**edit)) for edit in edits)


def survivors(language: str, mutants: list[Mutant]) -> list[Mutant]:
    """Run the fixtures on each mutant, telling how far it is; returns those not noticed."""
    count = os.cpu_count() or 1
    workers: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(count):
        workers.put(Worker(language))

    def survives(mutant: Mutant) -> bool:
        worker = workers.get()
        try:
            return worker.killer(mutant) is None
        finally:
            workers.put(worker)

    with ThreadPoolExecutor(count) as pool:
        alive: list[bool] = []
        for lives in pool.map(survives, mutants):
            alive.append(lives)
            if len(alive) % 100 == 0:
                print(f"{language}: {len(alive)} of {len(mutants)} mutants", flush=True)
    for _ in range(count):
        workers.get().end()
    return [mutant for mutant, lives in zip(mutants, alive, strict=True) if lives]


def check(language: str, modules: list[str]) -> bool:
    """Print a language's share of mutants noticed, and the others; returns whether it is enough."""
    mutants = list(mutants_of(language, modules))
    reasons = [
        {key: entry[key] for key in ("file", "was", "becomes")}
        for entry in read(Path(__file__).with_name("equivalent_mutants.json"))
    ]
    alive = survivors(language, mutants)
    equivalent = [mutant for mutant in alive if mutant.change in reasons]
    unnoticed = [mutant for mutant in alive if mutant.change not in reasons]
    names = {mutant.file.name for mutant in mutants}
    changes = [mutant.change for mutant in equivalent]
    stale = [each for each in reasons if each["file"] in names and each not in changes]
    for mutant in unnoticed:
        change = mutant.change
        print(f"  {change['file']}: {change['was']}\n      -> {change['becomes']}")
    for each in stale:
        print(f"  equivalent_mutants.json: {each} is noticed, or is no mutant; remove it")
    total = len(mutants) - len(equivalent)
    share = (total - len(unnoticed)) / total
    print(
        f"{language}: the fixtures notice {total - len(unnoticed)} of {total} mutants "
        f"({share:.1%}); {len(equivalent)} more are no different",
        flush=True,
    )
    return share >= LEAST_SHARE and not stale


def main() -> int:
    """Check the languages asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", action="append", choices=LANGUAGES)
    parser.add_argument("--module", action="append", choices=MODULES)
    options = parser.parse_args()
    results = [
        check(each, options.module or list(MODULES)) for each in options.language or LANGUAGES
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
