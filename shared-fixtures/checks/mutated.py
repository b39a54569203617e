"""Runs the fixtures on mutants for `mutants.py`: a JSON line in, one out.

In: `{"file", "source"}`, the text that stands in a source file's place. Out: `{"failed"}`, the id
of the first fixture that fails, or null. Twin: typescript/tests/mutants.ts.
"""

from __future__ import annotations

import importlib
import json
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

from contract import PYTHON_SOURCES, TOP, Json

sys.path.insert(0, str(TOP / "python" / "tests"))

import fixtures

__all__ = ["Mutant"]

MUTATED = ("tandem_memory.core", "tandem_memory.chat.correction")


class Mutant(Loader, MetaPathFinder):
    """Stands before the other finders and gives one module another text."""

    def __init__(self, file: Path, source: str) -> None:
        parts = file.relative_to(PYTHON_SOURCES.parent).with_suffix("").parts
        self._name = ".".join(parts)
        self._source = source

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Return this loader for the one module."""
        return spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutant's text as the module."""
        exec(compile(self._source, self._name, "exec"), module.__dict__)  # noqa: S102


def first_failure(mutant: Mutant, cases: list[Json]) -> str | None:
    """Return the id of the first case that fails, or None; a module that can't load fails too."""
    for name in [name for name in sys.modules if name.startswith(MUTATED)]:
        del sys.modules[name]
    sys.meta_path.insert(0, mutant)
    case: Json = {"id": "import"}
    try:
        importlib.reload(fixtures)
        for case in cases:
            fixtures.run_case(case)
    except Exception:  # noqa: BLE001 - however it fails, it was noticed
        return case["id"]
    finally:
        sys.meta_path.remove(mutant)
    return None


if __name__ == "__main__":
    # What is above has its own tests, and an unchanged core of its own.
    kinds = {"core", "corrections", "manager", "splitter"}
    loaded = [case for case in fixtures.load_cases() if kinds & set(case["given"])]
    for line in sys.stdin:
        request = json.loads(line)
        killer = first_failure(Mutant(Path(request["file"]), request["source"]), loaded)
        print(json.dumps({"failed": killer}), flush=True)
