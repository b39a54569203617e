"""Shows that the checks bite: what must pass passes, and what must fail fails, in both runners.

`selftest/good.json` passes. Each one-change mutant of it fails in both languages, as does every
case of `selftest/must-fail.json`. The validator refuses each text of `selftest/invalid.json`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

from contract import LANGUAGES, SELFTEST, Json, parse, read, report, runner
from validate import check_file, check_together

__all__ = ["main"]

GOOD = SELFTEST / "good.json"


def mutants(good: Json) -> Iterator[Json]:
    """Yield the cases that one change in an expectation makes of the good ones."""
    for case in good["cases"]:
        for number, step in enumerate(case["steps"]):
            expected = {key: step[key] for key in ("returns", "throws", "state") if key in step}
            for change, wrong in [*value_mutants(expected), *step_mutants(expected)]:
                mutant = deepcopy(case)
                inputs = {key: step[key] for key in ("call", "args")}
                mutant["steps"][number] = inputs | wrong
                mutant["id"] = f"{case['id']}, step {number + 1}: {change}"
                yield mutant


def step_mutants(expected: Json) -> Iterator[tuple[str, Json]]:
    """Yield a step's expectation with a part lost, or with one outcome taken for the other."""
    for key in expected:
        yield f"{key} is lost", {name: expected[name] for name in expected if name != key}
    state = expected["state"]
    if "throws" in expected:
        yield "it returns", {"returns": None, "state": state}
    else:
        throws = {"code": "invalid_limit", "data": {"limit": "max_turns", "value": -1}}
        yield "it throws", {"throws": throws, "state": state}
        yield "it returns and throws", {**expected, "throws": throws}


def value_mutants(value: Json, where: str = "") -> Iterator[tuple[str, Json]]:
    """Yield `value` with one value in it changed, lost, added or swapped, and which it was."""
    if isinstance(value, dict):
        fields: dict[str, Json] = value  # pyright: ignore[reportUnknownVariableType]
        if where:
            for key in fields:
                yield f"{where}.{key} is lost", {k: v for k, v in fields.items() if k != key}
            yield f"{where} has more", fields | {"more": None}
        for key, item in fields.items():
            for change, wrong in value_mutants(item, f"{where}.{key}"):
                yield change, fields | {key: wrong}
    elif isinstance(value, list):
        items: list[Json] = value  # pyright: ignore[reportUnknownVariableType]
        yield f"{where} has one more", [*items, None]
        for i, item in enumerate(items):
            yield f"{where}[{i}] is lost", items[:i] + items[i + 1 :]
            for change, wrong in value_mutants(item, f"{where}[{i}]"):
                yield change, [*items[:i], wrong, *items[i + 1 :]]
        for i in range(len(items) - 1):
            if items[i] != items[i + 1]:
                swapped = [items[i + 1], items[i]]
                yield f"{where}[{i}] is swapped", items[:i] + swapped + items[i + 2 :]
    else:
        for wrong in others(value):
            yield f"{where} is {json.dumps(wrong)}", wrong


def others(value: Json) -> list[Json]:
    """Return values that a loose comparison would take for this one, and a plainly wrong one."""
    if isinstance(value, bool):
        return [not value, int(value), None, str(value).lower()]
    if isinstance(value, int):
        return [value + 1, value + 0.5, str(value), *([bool(value)] if value in (0, 1) else [])]
    if isinstance(value, str):
        return [f"{value} ", value[:-1]] if value else [" ", None, False]
    return [False, 0, "", [], {}]


def run(language: str, cases: list[Json]) -> dict[str, bool]:
    """Return for each case whether it passes in a language's runner."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps({"cases": cases}), "utf-8")
        command = [*runner(language), str(file)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"the {language} runner ended with {done.returncode}:\n{done.stderr}")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["id"]: result["passed"] for result in results}


def check_runner(language: str, good: list[Json], bad: list[Json]) -> Iterator[str]:
    passed = run(language, [*good, *bad])
    if len(passed) != len(good) + len(bad):
        yield f"{language}: ran {len(passed)} of {len(good) + len(bad)} cases"
    for wanted, cases in ((True, good), (False, bad)):
        for case in cases:
            if passed.get(case["id"]) is not wanted:
                yield f"{language}: {case['id']}: must {'pass' if wanted else 'fail'}"


def check_validator(text: str, invalid: list[dict[str, str]]) -> Iterator[str]:
    for each in invalid:
        spoilt = text.replace(each["find"], each["replace"], 1)
        faults = list(check_file("good", spoilt))
        if not faults:
            faults = list(check_together({"good": parse(spoilt)}))
        if not any(each["says"] in fault for fault in faults):
            yield f"the validator must say {each['says']!r} of {each['replace']!r}, not {faults}"


def main() -> int:
    """Run the self-test and say how much failed as it must; returns the exit status."""
    text = GOOD.read_text("utf-8")
    good = parse(text)
    bad = [*mutants(good), *read(SELFTEST / "must-fail.json")["cases"]]
    invalid = read(SELFTEST / "invalid.json")
    problems = [*check_file("good", text), *check_validator(text, invalid)]
    for language in LANGUAGES:
        problems += check_runner(language, good["cases"], bad)
    return report(
        problems,
        f"{len(good['cases'])} good fixtures pass and {len(bad)} bad ones fail in both languages; "
        f"the validator refuses {len(invalid)} invalid files",
    )


if __name__ == "__main__":
    sys.exit(main())
