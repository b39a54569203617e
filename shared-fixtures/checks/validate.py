"""Checks the contract's own files: fixtures, `differences.json`, `retired.json`.

It stands outside both suites. `validate.py FILE…` checks these fixture files alone.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from contract import (
    CASES,
    FIXTURES,
    PYTHON_SOURCES,
    TYPESCRIPT_SOURCES,
    Json,
    differences,
    parse,
    read,
    report,
)
from schema import error_fields, objections

__all__ = ["check_file", "main"]

TENSE = re.compile(r"\b(should|shall|will)\b", re.IGNORECASE)
SYMBOL = re.compile(r"cases:[a-z0-9-]+|\w+(/\w+)*(/|:\w+(\.\w+)*)?")
UNSEEN = {"Cc", "Cf", "Co", "Cn", "Zl", "Zp", "Zs"}


def check_file(name: str, text: str) -> Iterator[str]:
    """Yield what is wrong with one fixture file of this stem."""
    where = f"{name}.json"
    try:
        document = parse(text)
    except ValueError as error:
        yield f"{where}: {error}; write valid JSON"
        return
    yield from (f"{where}: {fault}" for fault in check_text(text))
    faults = list(objections(document))
    for path, words in faults:
        yield f"{where}: {locate(document, path)}: {words}"
    if faults:
        return  # the rules below are for files of the right form
    if document["suite"] != name:
        yield f'{where}: "suite" is "{document["suite"]}"; name it as the file, "{name}"'
    for case in document["cases"]:
        yield from (f"{where}: {case['id']}: {fault}" for fault in check_case(name, case))


def check_text(text: str) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"line {number} ends in white space; remove it"
        for character in sorted(set(line) - {" "}):
            if unicodedata.category(character) in UNSEEN:
                code = json.dumps(character)[1:-1]
                yield f"line {number} holds a character that can't be seen; write it as {code}"
    if not text.endswith("}\n"):
        yield "ends without a line break, or with several; end it with one"


def locate(document: Json, path: list[str | int]) -> str:
    """Return where `path` leads, a case by its id."""
    names = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in path]
    if names[:1] == [".cases"] and len(path) > 1:
        case = document["cases"][path[1]]
        fields = cast("dict[str, Json]", case) if isinstance(case, dict) else {}
        names[:2] = [f"{fields.get('id', f'case {path[1]}')}: "]
    return "".join(names).replace(": .", ": ").lstrip(".").removesuffix(": ") or "the file"


def check_case(suite: str, case: Json) -> Iterator[str]:
    if not case["id"].startswith(f"{suite}-"):
        yield f'the id begins with another name; begin it with "{suite}-"'
    title = case["title"]
    if word := TENSE.search(title):
        yield f"the title says '{word[0]}'; state a fact in the present tense"
    if title != title.strip() or title.endswith("."):
        yield "the title ends in a period or white space; remove it"
    before = first_state(case)
    for number, step in enumerate(case["steps"], 1):
        where = f"step {number} ({step['call']})"
        after = cast("dict[str, Json]", step["state"]) if step["state"] else {}
        # A failed turn stays stored: what a chat has written down is no part of what it remembers.
        kept = before.keys() - {"stored"}
        if "throws" in step and any(write(after[key]) != write(before[key]) for key in kept):
            yield f"{where} throws and changes the state; repeat the state before it"
        before = after
        came = {key: value for key, value in step.items() if key not in ("call", "args")}
        for message in long_forms(came):
            yield f"{where}: {message} is only role and content; write it in one text"
        for item in cast("list[Json]", step["args"].get("messages", [])):
            for message in [item] if is_long_form(item) else []:
                yield f"{where}: {write(message)} is only role and content; write it in one text"
        for number_text in whole_floats(came):
            yield f"{where}: {number_text} is a whole number; write it without a fraction"


def first_state(case: Json) -> dict[str, Json]:
    """Return what is known of the state before the first step."""
    if "manager" not in case["given"]:
        return {}
    return {"system_prompt": case["given"]["manager"].get("system_prompt") or None, "messages": []}


def long_forms(value: Json) -> Iterator[str]:
    """Yield the messages in a result that should be written as one text."""
    if is_long_form(value):
        yield write(value)
    for item in children(value):
        yield from long_forms(item)


def is_long_form(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, Json]", value)
    return set(fields) == {"role", "content"} and all(isinstance(v, str) for v in fields.values())


def whole_floats(value: Json) -> Iterator[str]:
    if isinstance(value, float) and value.is_integer():
        yield repr(value)
    for item in children(value):
        yield from whole_floats(item)


def children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else []


def write(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def check_together(documents: dict[str, Json]) -> Iterator[str]:
    """Yield what is wrong between files: ids and titles that stand twice, ids that came back."""
    cases = [(name, case) for name, document in documents.items() for case in document["cases"]]
    retired = set(read(FIXTURES / "retired.json"))
    for key in ("id", "title"):
        times = Counter(case[key] for _, case in cases)
        for name, case in cases:
            if times[case[key]] > 1:
                yield f'{name}.json: {case["id"]}: its {key} "{case[key]}" stands twice; change one'
    for name, case in cases:
        if case["id"] in retired:
            yield f"{name}.json: {case['id']}: the id is in retired.json; choose a new one"


def check_lists() -> Iterator[str]:
    """Yield what is wrong in `retired.json` and `differences.json`."""
    retired = read(FIXTURES / "retired.json")
    if not all(isinstance(name, str) for name in retired) or retired != sorted(set(retired)):
        yield "retired.json: must be a list of ids, sorted, each once"
    entries = differences()
    for entry in entries:
        fields = cast("dict[str, Json]", entry)
        if set(fields) != {"symbol", "only", "reason"}:
            yield f'differences.json: {write(fields)}: must have "symbol", "only" and "reason"'
        elif not SYMBOL.fullmatch(entry["symbol"]):
            yield f"differences.json: {entry['symbol']}: write folder/, folder/file or file:Name.m"
        elif entry["only"] not in ("python", "typescript") or not entry["reason"].strip():
            yield f"differences.json: {entry['symbol']}: needs a language and a reason"
    symbols = [str(entry.get("symbol")) for entry in entries]
    if symbols != sorted(set(symbols)):
        yield "differences.json: sort the entries by symbol, each once"


def check_errors() -> Iterator[str]:
    """Yield where the schema's error codes differ from the classes of either language."""
    sources = {
        PYTHON_SOURCES / "core/errors.py": (r'code = "(\w+)"', r"self\.(\w+) ="),
        TYPESCRIPT_SOURCES / "core/errors.ts": (r'code = "(\w+)"', r"\n  readonly (\w+):"),
    }
    schema = error_fields()
    for file, (code, field) in sources.items():
        classes: dict[str, set[str]] = {}
        for body in re.split(r"\n(?:export )?class ", file.read_text("utf-8"))[1:]:
            if found := re.search(code, body):
                names: list[str] = re.findall(field, body)
                classes[found[1]] = {snake_case(name) for name in names}
        for name in sorted(set(schema) | set(classes)):
            if classes.get(name) != schema.get(name):
                has, wants = sorted(classes.get(name, ())), sorted(schema.get(name, ()))
                yield f"{file.name}: error {name} has the data {has}, in the schema {wants}"


def snake_case(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def check(files: list[Path]) -> Iterator[str]:
    texts = {file.stem: file.read_text("utf-8") for file in files}
    if not texts:
        yield f"{CASES}: there is no fixture file"
    faults = [fault for name, text in texts.items() for fault in check_file(name, text)]
    yield from faults
    if not faults:
        yield from check_together({name: parse(text) for name, text in texts.items()})


def main(names: list[str]) -> int:
    """Print every fault of these fixture files, or of all; returns the exit status."""
    files = [Path(name) for name in names] or sorted(CASES.glob("*.json"))
    problems = [*check(files), *check_lists(), *check_errors()]
    return report(problems, f"{len(files)} fixture files are valid")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
