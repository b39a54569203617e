"""The schema's objections to a fixture file, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from contract import FIXTURES, Json, read
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

__all__ = ["error_fields", "objections"]

SCHEMA: Json = read(FIXTURES / "schema" / "fixture.schema.json")
VALIDATOR: Any = Draft202012Validator(SCHEMA)


def objections(document: Json) -> Iterator[tuple[list[str | int], str]]:
    """Yield, for each fault, its path in the document and what is wrong there."""
    found = {
        (str(list(fault.absolute_path)), say(fault)): fault
        for error in VALIDATOR.iter_errors(document)
        for fault in meant(error)
    }
    for (_, words), fault in found.items():
        yield list(fault.absolute_path), words


def meant(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the faults of the alternative that was meant, not those of all of them."""
    branches: dict[object, list[ValidationError]] = {}
    for each in error.context or []:
        branches.setdefault(each.relative_schema_path[0], []).append(each)
    chosen = [branch for branch in branches.values() if not any(map(is_other, branch))]
    if not chosen:
        yield error
    for each in chosen[0] if chosen else []:
        yield from meant(each)


def is_other(error: ValidationError) -> bool:
    """Whether this fault shows that another call, code, kind or type was meant."""
    path = list(error.relative_path)
    return (
        (error.validator == "const" and len(path) == 1)
        or (error.validator == "required" and path == ["given"])
        or (error.validator == "type" and not path)
    )


def say(error: ValidationError) -> str:
    if error.schema is False:  # stands for `returns` beside `throws` alone
        return "a step has `returns` or `throws`, not both"
    wanted = cast("Json", error.validator_value)
    known = list(cast("dict[str, Json]", error.schema).get("properties", {}))
    if error.validator == "oneOf" and isinstance(cast("Json", error.instance), dict):
        names = [name for branch in wanted if (name := choice(branch))]
        fields = cast("dict[str, Json]", error.instance)
        came = fields.get("call") or fields.get("code") or list(fields.get("given", {}))
        return f"{json.dumps(came)} is none of {', '.join(names)}"
    if error.validator == "additionalProperties":
        return f"{error.message}; known are {', '.join(known)}"
    return error.message if len(error.message) <= 300 else f"{error.message[:299]}…"


def choice(branch: Json) -> str:
    """Return what a `oneOf` branch is for: a call's name, an error's code or a kind of object."""
    if "$ref" in branch:
        return str(branch["$ref"]).rpartition("/")[2]
    names = [field["const"] for field in branch["properties"].values() if "const" in field]
    return str(names[0])


def error_fields() -> dict[str, set[str]]:
    """Return the schema's error codes, each with its data fields."""
    codes = map(choice, SCHEMA["$defs"]["throws"]["oneOf"])
    return {code: set(SCHEMA["$defs"][code]["properties"]) for code in codes}
