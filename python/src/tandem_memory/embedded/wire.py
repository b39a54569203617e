"""Reads request bodies and complains about them in Ollama's own words.

Ollama is written in Go, and its clients show the error texts of Go's JSON decoder to people; so
the texts are part of the API that is stood in for here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

_KINDS: dict[type[object], str] = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}
_GO_KINDS: dict[type[object], str] = {
    bool: "bool",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)([a-zµ]*)")


class ApiError(Exception):
    """An answer other than 200: the HTTP status and the text of its `error` field."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object read field by field. `name` is what Ollama calls the object in its errors."""

    name: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def parse(cls, body: bytes, name: str) -> "Fields":
        """Read a request body; like Ollama, ignore whatever follows the first JSON value."""
        text = body.decode("utf-8", "replace").lstrip()
        if not text:
            raise ApiError(400, "missing request body")
        try:
            value, _end = json.JSONDecoder().raw_decode(text)
        except json.JSONDecodeError as error:
            raise ApiError(400, _syntax_error(text, error)) from error
        if value is None:
            return cls(name)
        if not isinstance(value, dict):
            kind = _kind(value)
            raise ApiError(400, f"json: cannot unmarshal {kind} into Go value of type api.{name}")
        return cls(name, cast("dict[str, object]", value))

    def text(self, key: str) -> str:
        """A string; empty where absent or null. A lone surrogate becomes U+FFFD."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.mismatch(key, value, "string")
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def flag(self, key: str, *, default: bool) -> bool:
        """A boolean; `default` where absent or null."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.mismatch(key, value, "bool")
        return value

    def whole(self, key: str) -> int:
        """A whole number; 0 where absent or null."""
        value = self.values.get(key)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.mismatch(key, value, "int")
        return value

    def items(self, key: str, go_type: str) -> list[object]:
        """An array; empty where absent or null."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.mismatch(key, value, go_type)
        return cast("list[object]", value)

    def mapping(self, key: str) -> dict[str, object]:
        """An object; empty where absent or null."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.mismatch(key, value, "map[string]interface {}")
        return cast("dict[str, object]", value)

    def children(self, key: str, go_type: str, go_item: str) -> list["Fields"]:
        """An array of objects; a null item is an empty object."""
        children: list[Fields] = []
        for item in self.items(key, go_type):
            if not isinstance(item, dict | None):
                raise self.mismatch(key, item, go_item)
            values = cast("dict[str, object]", item or {})
            children.append(Fields(f"{self.name}.{key}", values))
        return children

    def seconds(self, key: str) -> float | None:
        """A duration in seconds from a number or a text such as `1h30m`; negative is for ever."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, str):
            seconds = parse_duration(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = float(value)
        else:
            raise ApiError(400, f"Unsupported type: '{_GO_KINDS[type(value)]}'")
        return seconds if seconds >= 0 else float("inf")

    def mismatch(self, key: str, value: object, go_type: str) -> ApiError:
        """The error for a value of the wrong kind."""
        return ApiError(
            400,
            f"json: cannot unmarshal {_kind(value)} into Go struct field "
            f"{self.name}.{key} of type {go_type}",
        )


def parse_duration(text: str) -> float:
    """Seconds of a duration in Go's notation, such as `300ms` or `-1.5h`."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0.0
    total, end = 0.0, 0
    for part in _DURATION_PART.finditer(rest):
        if part.start() != end:
            break
        number, unit = part.groups()
        if not unit:
            raise ApiError(400, f'time: missing unit in duration "{text}"')
        if unit not in _SECONDS:
            raise ApiError(400, f'time: unknown unit "{unit}" in duration "{text}"')
        total, end = total + float(number) * _SECONDS[unit], part.end()
    if not rest or end != len(rest):
        raise ApiError(400, f'time: invalid duration "{text}"')
    return sign * total


def _kind(value: object) -> str:
    return _KINDS[type(value)]


def _syntax_error(text: str, error: json.JSONDecodeError) -> str:
    # Go names the place of a fault by what it expected there; Python knows the character alone.
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return "unexpected EOF"
    return f"invalid character {text[error.pos]!r} looking for beginning of value"
