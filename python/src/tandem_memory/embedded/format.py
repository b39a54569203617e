"""The `format` of a request: none, any JSON object, or a JSON schema."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from .wire import ApiError

_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}
_SCHEMA = ("items", "additionalProperties", "not")
_SCHEMA_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
_VALUES = ("allOf", "const", "default", "enum", "examples")
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions")
# Ollama's grammar allows this much white space; without a bound, a small model prints it for ever.
_GUIDANCE = {"whitespace_flexible": True, "whitespace_pattern": r"( |\n[ \t]{0,20})?"}


def read_format(value: object) -> dict[str, object]:
    """What llama.cpp is told for `value`; errors are Ollama's, with the status 500 that it gives.

    llama.cpp answers without any constraint where it can't use a schema, so a schema's types,
    references and patterns are checked here first.
    """
    if value in (None, ""):
        return {}
    if value == "json":
        value = {"type": "object"}
    if not isinstance(value, dict):
        shown = json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False)
        expected = 'expected "json" or a valid JSON Schema object'
        raise ApiError(500, f"invalid format: {shown}; {expected}")
    schema = cast("dict[str, object]", value)
    if not _is_sound(schema, schema):
        raise ApiError(500, "invalid JSON schema in format")
    closed = cast("dict[str, object]", _closed(schema))
    return {"json_schema": closed | {"x-guidance": _GUIDANCE}}


def _closed(part: object) -> object:
    """`part` with objects limited to their listed properties, which is how Ollama reads them."""
    if isinstance(part, list):
        return [_closed(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    node = cast("dict[str, object]", part)
    # The parts of an `allOf` add to each other, so none of them may refuse the others' properties.
    closed = {k: v if k in _VALUES else _closed(v) for k, v in node.items()}
    if "properties" in node and "allOf" not in node:
        closed.setdefault("additionalProperties", False)
    return closed


def _is_sound(schema: object, root: Mapping[str, object]) -> bool:
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    node = cast("dict[str, object]", schema)
    return (
        _has_known_type(node.get("type", "object"))
        and _leads_somewhere(node.get("$ref", "#"), root)
        and _is_pattern(node.get("pattern", ""))
        and all(_is_sound(child, root) for child in _children(node))
    )


def _has_known_type(value: object) -> bool:
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(isinstance(name, str) and name in _TYPES for name in names)


def _leads_somewhere(reference: object, root: Mapping[str, object]) -> bool:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return False
    place = root
    for step in reference.split("/")[1:]:
        inner = place.get(step)
        if not isinstance(inner, dict):
            return False
        place = cast("dict[str, object]", inner)
    return True


def _is_pattern(value: object) -> bool:
    try:
        re.compile(cast("str", value))
    except (TypeError, re.error):
        return False
    return True


def _children(node: Mapping[str, object]) -> Iterator[object]:
    """The schemas inside `node`; a part of the wrong kind stands for itself, to be refused."""
    yield from (node[key] for key in _SCHEMA if key in node)
    for key in _SCHEMA_LISTS:
        value = node.get(key, [])
        yield from cast("list[object]", value) if isinstance(value, list) else [value]
    for key in _SCHEMA_MAPS:
        value = node.get(key, {})
        yield from cast("dict[str, object]", value).values() if isinstance(value, dict) else [value]
