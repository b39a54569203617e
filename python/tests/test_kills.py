"""Writers that are killed, and writers whose disk is full; twin: typescript/tests/kills.test.ts.

`nox -s kills` does the same thousands of times, `nox -s writers` with writers of both languages.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "shared-fixtures" / "checks"))

from kills import Outcome, check_session, kill_writers, writer_command

from writer import open_place

LIMIT = """
import resource, runpy, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


@pytest.mark.parametrize(("kind", "kills"), [("sqlite", 70), ("json", 30)])
def test_a_killed_writer_loses_and_tears_nothing(kind: str, kills: int) -> None:
    outcome = kill_writers("python", kind, kills, f"{kind} suite")
    assert outcome.faults == []
    assert outcome.turns > kills // 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no file's size")
@pytest.mark.parametrize("limit", [20_000, 150_000, 333_333])
@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_a_full_disk_is_reported_and_changes_nothing(tmp_path: Path, kind: str, limit: int) -> None:
    place = str(tmp_path / "store.sqlite3") if kind == "sqlite" else str(tmp_path)
    with open_place(kind, place) as store:
        store.create_session("ann", "s")
    python, program, *arguments = writer_command("python", kind, place, "s")
    command = [python, "-c", LIMIT, str(limit), program, *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    *told, last = done.stdout.split()
    assert last == "store_full"
    outcome = Outcome()
    with open_place(kind, place) as store:
        check_session(store, int(told[-1]) if told else 0, outcome)
        assert set(outcome.seen) <= {"as told", "a failed question"}
        store.append("ann", "s", [{"role": "user", "content": "there is room again"}])
    assert outcome.faults == []
