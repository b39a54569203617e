"""Compares the fixtures on disk with those that each suite says it ran: `reconcile.py REPORT…`.

A report is `{"language", "ran": [id], "skipped": {id: reason}}`, its file named after the
interpreter (`python-3.11.json`). A suite that forgot a case in silence is found here, and so is a
case that one language alone runs, unless `differences.json` has a reason for `cases:its-id`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from contract import CASES, LANGUAGES, differences, read
from contract import report as report_problems

__all__ = ["main"]


class Report(TypedDict):
    """What one run of a suite did with the fixtures."""

    language: str
    ran: list[str]
    skipped: dict[str, str]


def check_report(name: str, report: Report, ids: set[str]) -> Iterator[str]:
    """Yield what does not add up in one report."""
    ran, skipped = set(report["ran"]), report["skipped"]
    if len(ran) < len(report["ran"]):
        yield f"{name}: ran a fixture twice"
    for case in sorted(ids - ran - set(skipped)):
        yield f"{name}: {case}: no result; it must be run, or skipped with a reason"
    for case in sorted((ran | set(skipped)) - ids):
        yield f"{name}: {case}: there is no such fixture on disk; run the suite again"
    for case, reason in skipped.items():
        if not reason.strip():
            yield f"{name}: {case}: skipped without a reason"


def check_languages(reports: list[Report], ids: set[str]) -> Iterator[str]:
    """Yield the cases that nobody ran, or one language alone and without a reason."""
    ran = {
        language: {case for each in reports if each["language"] == language for case in each["ran"]}
        for language in LANGUAGES
    }
    only = {
        entry["symbol"].removeprefix("cases:"): entry["only"]
        for entry in differences()
        if entry["symbol"].startswith("cases:")
    }
    for case in sorted(ids | set(only)):
        by = [language for language, cases in ran.items() if case in cases]
        if not by:
            yield f"{case}: nobody ran it"
        elif len(by) == 1 and only.get(case) != by[0]:
            entry = json.dumps({"symbol": f"cases:{case}", "only": by[0], "reason": "…"})
            yield f"{case}: only {by[0]} ran it; run it in both, or give the reason: {entry}"
        elif len(by) > 1 and case in only:
            yield f"cases:{case}: both languages ran it; take it out of differences.json"


def main(files: list[str]) -> int:
    """Compare these reports with the files on disk; returns the exit status."""
    ids = {case["id"] for file in CASES.glob("*.json") for case in read(file)["cases"]}
    missing = [file for file in files if not Path(file).exists()]
    problems = [
        f"{file}: there is no such report; run the suite that writes it" for file in missing
    ]
    reports: dict[str, Report] = {
        Path(file).stem.replace("-", " "): read(Path(file)) for file in files if file not in missing
    }
    for name, report in reports.items():
        problems += check_report(name, report, ids)
    problems += check_languages(list(reports.values()), ids)
    counts = [f"{name}: {len(report['ran'])} fixtures" for name, report in reports.items()]
    return report_problems(problems, ", ".join(counts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
