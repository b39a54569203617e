"""JSON values that are the same in both languages: checked and copied on entry, one text form.

What one language can hold and the other can't is settled here. A lone surrogate becomes U+FFFD, an
integer beyond 2^53 - 1 is refused (JavaScript would round it), NaN and the infinities are refused
(JSON has none), and `1.0` is `1`, `-0.0` is `0`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from .errors import InvalidMessageError

__all__ = [
    "JsonObject",
    "JsonValue",
    "canonical_json",
    "copy_json",
    "parse_object",
    "read_json",
    "well_formed",
    "whole_number",
]

Value = TypeVar("Value")

TYPE_NAMES = "null, a boolean, a number, a string, a list or an object"

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that a JavaScript number holds exactly (ECMA-262, 21.1.2.6)."""

MAX_DEPTH = 100
"""How deep values may be nested; far below where either language's stack ends."""


def well_formed(text: str) -> str:
    """Return `text` with each lone surrogate replaced by U+FFFD, as JavaScript's toWellFormed."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Through UTF-16 a surrogate pair that Python holds as two code points becomes one.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def read_json(value: object, path: str, depth: int = 0) -> JsonValue:
    """Return `value` as a JSON value of its own, or raise `InvalidMessageError` naming the path."""
    if isinstance(value, str):
        return well_formed(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return read_number(value, path)
    if depth == MAX_DEPTH:
        raise InvalidMessageError(path, "too_deep", f"is nested over {MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):  # a tuple is a list to `json` too
        items = cast("Sequence[object]", value)
        return [read_json(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(items)]
    if isinstance(value, dict):
        return read_object(cast("dict[object, object]", value), path, depth)
    raise InvalidMessageError(path, "wrong_type", f"must be {TYPE_NAMES}")


def read_object(fields: dict[object, object], path: str, depth: int) -> JsonObject:
    if not all(isinstance(key, str) for key in fields):
        raise InvalidMessageError(path, "wrong_type", "must have strings as its keys")
    named = cast("dict[str, object]", fields)
    # In sorted order, so that of several faults both languages name the same one: JavaScript has
    # integer-like keys first, wherever they were written.
    read = {
        key: read_json(named[key], f"{path}.{key}" if path else key, depth + 1)
        for key in sorted(named, key=utf16_units)
    }
    return {well_formed(key): read[key] for key in named}


def read_number(value: float, path: str) -> int | float:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidMessageError(path, "not_finite", "must be a finite number")
    if value != int(value):
        return value
    if abs(value) > MAX_SAFE_INTEGER:
        raise InvalidMessageError(path, "unsafe_integer", "is an integer beyond 2^53 - 1")
    return int(value)


def whole_number(value: object) -> int | None:
    """Return `value` if it is a whole number from 0 up (`5.0` is 5, as in JavaScript), or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= MAX_SAFE_INTEGER or value != int(value):
        return None
    return int(value)


def copy_json(value: Value) -> Value:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        fields = cast("JsonObject", value)
        # Most fields are texts, which need no copy: asking first makes this twice as fast.
        copied = {
            k: item if isinstance(item, str) else copy_json(item) for k, item in fields.items()
        }
        return cast("Value", copied)
    if isinstance(value, list):
        return cast("Value", [copy_json(item) for item in cast("list[JsonValue]", value)])
    return value


def parse_object(text: str, path: str) -> JsonObject | None:
    """Return the JSON object that `text` holds, or None where it holds none that may enter."""
    try:
        value = read_json(json.loads(text, parse_constant=refuse_constant), path)
    except (ValueError, RecursionError, InvalidMessageError):
        return None
    return value if isinstance(value, dict) else None


def refuse_constant(name: str) -> float:
    raise ValueError(name)  # NaN and the infinities, which Python alone would read


def canonical_json(value: JsonValue) -> str:
    """Return the one text form of a JSON value, by RFC 8785: sorted keys, JavaScript's numbers."""
    if isinstance(value, dict):
        keys = sorted(value, key=utf16_units)
        return "{" + ",".join(f"{canonical_json(k)}:{canonical_json(value[k])}" for k in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, float):
        return number_text(value)
    return text_of(well_formed(value)) if isinstance(value, str) else text_of(value)


text_of: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False).encode


def utf16_units(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def number_text(value: float) -> str:
    """Return a finite float as JavaScript prints it (ECMA-262, Number::toString)."""
    if value == 0:
        return "0"
    # Both languages choose the same shortest digits; they differ in where they set the point.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        text = digits.ljust(point, "0")
        text = text if len(text) == point else f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        head = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
        text = f"{head}e{point - 1:+d}"
    return text if value > 0 else f"-{text}"
