"""Values as fixtures write them, and back; twin: typescript/tests/encoding.ts."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, is_dataclass
from typing import Any, cast

Json = Any  # a fixture's JSON is looked into freely; `run_case` compares it whole


def decode(value: Json) -> Json:
    """Return a fixture's value as a Python value of its own."""
    if isinstance(value, list):
        return [decode(item) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        if set(fields) == {"$number"}:
            return float(fields["$number"])
        return {key: decode(item) for key, item in fields.items()}
    return value


def encode(value: Json) -> Json:
    """Return a Python value as a fixture writes it."""
    if is_dataclass(value) and not isinstance(value, type):
        return encode(asdict(value))
    if isinstance(value, list):
        return [encode(item) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        if set(fields) == {"role", "content"}:
            return f"{fields['role']}: {fields['content']}"
        return {key: encode(item) for key, item in fields.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$number": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]}
    return value


def expand(message: Json) -> Json:
    if not isinstance(message, str):
        return message
    role, content = message.split(": ", 1)
    return {"role": role, "content": content}


def spoil(value: Json) -> None:
    """Overwrite a value as deep as it goes: whoever holds it must not have handed it out."""
    if isinstance(value, list):
        items = cast("list[Json]", value)
        for item in items:
            spoil(item)
        items[:] = ["spoilt"]
    elif isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        for item in fields.values():
            spoil(item)
        for key in fields:
            fields[key] = "spoilt"


def write(value: Json) -> str:
    """Return a value as text, so that `1`, `1.0` and `True` differ."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
