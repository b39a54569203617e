"""Each shared fixture is a test; twin: typescript/tests/fixtures.test.ts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from encoding import Json
from fixtures import load_cases, run_case

RAN: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    yield
    if file := os.environ.get("TANDEM_FIXTURE_REPORT"):
        report: Json = {"language": "python", "ran": RAN, "skipped": {}}
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(json.dumps(report), "utf-8")


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case["id"])
def test_fixture(case: Json) -> None:
    RAN.append(case["id"])
    run_case(case)
