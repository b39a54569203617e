"""Where the contract lies, and its files as strict JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict

__all__ = [
    "CASES",
    "FIXTURES",
    "LANGUAGES",
    "PYTHON_SOURCES",
    "SELFTEST",
    "TOP",
    "TYPESCRIPT_SOURCES",
    "Difference",
    "Json",
    "differences",
    "find_node",
    "parse",
    "read",
    "report",
    "runner",
]

Json = Any  # fixtures are looked into freely; the schema says what they are

FIXTURES = Path(__file__).resolve().parents[1]
TOP = FIXTURES.parent
CASES = FIXTURES / "cases"
SELFTEST = FIXTURES / "selftest"
PYTHON_SOURCES = TOP / "python" / "src" / "tandem_memory"
TYPESCRIPT_SOURCES = TOP / "typescript" / "src"
LANGUAGES = ("python", "typescript")


@cache
def find_node() -> str:
    """Return Node's program itself: what the PATH has may be a wrapper, which dies alone."""
    found = shutil.which("node") or sys.exit("there is no node on the PATH; run this through nox")
    command = [found, "--print", "process.execPath"]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout.strip()


def runner(language: str) -> list[str]:
    """Return the command that runs fixture files in a language."""
    if language == "python":
        return [sys.executable, str(TOP / "python" / "tests" / "fixtures.py")]
    return [find_node(), str(TOP / "typescript" / "tests" / "fixtures.ts")]


class Difference(TypedDict):
    """What one language has and the other has not: an entry of `differences.json`.

    `symbol` is a folder (`embedded/`), a file (`chat/cli`), a name or a member in it
    (`core/window:Limits.target_turns`, as Python writes it), or a fixture (`cases:its-id`).
    """

    symbol: str
    only: Literal["python", "typescript"]
    reason: str


def parse(text: str) -> Json:
    """Read JSON, refusing an object that names a key twice (the last would win in silence)."""
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {json.dumps(twice)} stands twice in one object")
    return fields


def read(file: Path) -> Json:
    """Read a JSON file as `parse` does."""
    return parse(file.read_text("utf-8"))


def differences() -> list[Difference]:
    """Read the entries of `differences.json`."""
    return read(FIXTURES / "differences.json")


def report(problems: Iterable[str], passed: str) -> int:
    """Print what is wrong, or what passed; returns the exit status."""
    found = list(problems)
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{len(found)} problems" if found else passed)
    return 1 if found else 0
