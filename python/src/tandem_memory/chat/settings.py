"""Settings of a model: the closed list of what an entry may say, and how each value is checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from ..core.errors import InvalidModelFileError, quote
from ..core.values import JsonObject, JsonValue, copy_json, whole_number

__all__ = [
    "ModelEntry",
    "Think",
    "answer_room",
    "half",
    "is_setting",
    "make_entry",
    "read_host",
    "read_setting",
]

Think = bool | Literal["low", "medium", "high"] | None
"""Whether a model thinks before it answers, or how much; None leaves it to the server."""

DEFAULT_HOST = "http://127.0.0.1:11434"

MOST_ANSWER_TOKENS = 4096

ADDRESS = re.compile(
    r"(?:(https?)://)?([\w.~%:+-]*@)?(\[[\da-f:.]+\]|[\w.-]*)(?::(\d{1,5}))?(/[\w.~%:+/-]*)?",
    re.IGNORECASE | re.ASCII,
)

DEFAULT_PORTS = {"http": 80, "https": 443}

THIS_MACHINE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - not bound


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One model with its settings, as the groups above it handed them down.

    `path`: where it stands in the tree, such as `local/chat/small`.
    `model`: the name by which the engine knows it, such as `qwen3:0.6b`.
    `engine`: what runs it; so far `ollama` alone.
    `host`: the server's URL; default: what OLLAMA_HOST says, else
        `http://127.0.0.1:11434`.
    `num_ctx`: the context in tokens, always sent; default 8192.
    `answer_tokens`: the part of it that is kept free for the answer; default a quarter, at most
        4096.
    `max_turns`, `trim_to`: the window's limits; default 20, and half of `max_turns`, so that the
        front of the prompt stands still and the server's prompt cache keeps serving.
    `think`: whether the model is asked to think; default None, which says nothing about it.
    `send_thinking`: whether earlier thinking is sent back; default False.
    `opens_thinking`: whether the model's template opens the block of thinking, so that the text
        starts inside it; default False.
    `keep_alive`: how long the server keeps the model loaded (`"5m"`, or seconds); default None,
        which leaves it to the server.
    `options`: the engine's own options (`temperature`, `seed`, `num_predict`, …) as they are sent.
    """

    path: str
    model: str
    engine: Literal["ollama"]
    host: str
    num_ctx: int
    answer_tokens: int
    max_turns: int | None
    trim_to: int | None
    think: Think
    send_thinking: bool
    opens_thinking: bool
    keep_alive: str | int | None
    options: JsonObject


def make_entry(
    path: str, settings: Mapping[str, object], *, host: str = DEFAULT_HOST
) -> ModelEntry:
    """Return an entry of settings by their names in a model file, with the defaults of the rest.

    `host` is the server where `settings` names none. Raises `InvalidModelFileError`.
    """
    given = {name: read_setting("the entry", path, name, value) for name, value in settings.items()}
    num_ctx = cast("int", given.get("num_ctx", 8192))
    max_turns = cast("int | None", given.get("max_turns", 20))
    full: JsonObject = {
        "engine": "ollama",
        "host": host,
        "num_ctx": num_ctx,
        "answer_tokens": answer_room(num_ctx),
        "max_turns": max_turns,
        "trim_to": half(max_turns),
        "think": None,
        "send_thinking": False,
        "opens_thinking": False,
        "keep_alive": None,
        "options": {},
        **given,
    }
    return ModelEntry(path=path, **full)  # pyright: ignore[reportArgumentType] - checked above


def answer_room(num_ctx: int) -> int:
    """Return the part of a context that is kept free for the answer where nothing else is said."""
    return min(max(num_ctx // 4, 1), MOST_ANSWER_TOKENS)


def half(max_turns: int | None) -> int | None:
    """Return `trim_to` for `max_turns`, so that the prompt's front stands still between trims."""
    return None if max_turns is None else (max_turns + 1) // 2


def is_setting(name: str) -> bool:
    """Whether a model file may use `name` for a setting; any other name is a table's."""
    return name in SETTINGS


def read_setting(file: str, path: str, name: str, value: object) -> JsonValue:
    """Return the checked value of one setting, or raise `InvalidModelFileError`.

    `path` is the table's path, `file` what the error names. `"none"` is TOML's spelling of null.
    """
    where = f"{path}/{name}" if path else name
    if name not in SETTINGS:
        hint = f"is no setting; there are: {', '.join(SETTINGS)}"
        raise InvalidModelFileError(file, where, hint)
    check, allowed = SETTINGS[name]
    try:
        return check(value)
    except (TypeError, ValueError) as error:
        hint = f"is {quote(value)}; it must be {allowed}"
        raise InvalidModelFileError(file, where, hint) from error


def read_host(value: str) -> str | None:
    """Return the URL that OLLAMA_HOST means, by Ollama's own rules (envconfig/config.go).

    The scheme may be missing (http), and so may the host (127.0.0.1) and the port: 11434, but the
    scheme's own where one is given. A server's "all addresses" is this machine for a client.
    Returns None for what is no address.
    """
    match = ADDRESS.fullmatch(value.strip(" \t\r\n\"'"))
    if match is None:
        return None
    given, user, name, port, path = (part or "" for part in match.groups())
    scheme = given.lower() or "http"
    number = int(port or (DEFAULT_PORTS[scheme] if given else 11434))
    host = THIS_MACHINE.get(name, name).lower()
    return f"{scheme}://{user}{host}:{number}{path.rstrip('/')}" if number < 65536 else None


def text(value: object) -> JsonValue:
    if not isinstance(value, str):
        raise TypeError
    if not value:
        raise ValueError
    return value


def host(value: object) -> JsonValue:
    read = read_host(value) if isinstance(value, str) else None
    if read is None:
        raise ValueError
    return read


def boolean(value: object) -> JsonValue:
    if not isinstance(value, bool):
        raise TypeError
    return value


def at_least(least: int) -> Callable[[object], JsonValue]:
    def check(value: object) -> JsonValue:
        whole = whole_number(value)
        if whole is None or whole < least:
            raise ValueError
        return whole

    return check


def one_of(*values: JsonValue) -> Callable[[object], JsonValue]:
    def check(value: object) -> JsonValue:
        for each in values:
            if type(each) is type(value) and each == value:
                return each
        raise ValueError

    return check


def or_none(check: Callable[[object], JsonValue]) -> Callable[[object], JsonValue]:
    return lambda value: None if value is None or value == "none" else check(value)


def keep_alive(value: object) -> JsonValue:
    if isinstance(value, float | int) and not isinstance(value, bool):
        if whole_number(abs(value)) is None:
            raise ValueError
        return int(value)
    return text(value)


def options(value: object) -> JsonValue:
    if not isinstance(value, dict):
        raise TypeError
    fields = cast("dict[str, object]", value)
    if "num_ctx" in fields or not all(map(is_option, fields.values())):
        raise ValueError
    return copy_json(cast("JsonObject", fields))


def is_option(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in cast("list[object]", value))
    return isinstance(value, bool | int | str) or (
        isinstance(value, float) and math.isfinite(value)
    )


SETTINGS: dict[str, tuple[Callable[[object], JsonValue], str]] = {
    "model": (text, "a model's name"),
    "engine": (one_of("ollama"), '"ollama"'),
    "host": (host, "an http or https address, such as http://127.0.0.1:11434"),
    "num_ctx": (at_least(1), "a whole number from 1 up"),
    "answer_tokens": (at_least(1), "a whole number from 1 up"),
    "max_turns": (or_none(at_least(0)), 'a whole number from 0 up, or "none" for no limit'),
    "trim_to": (or_none(at_least(0)), 'a whole number from 0 up, or "none" for no limit'),
    "think": (
        or_none(one_of(True, False, "low", "medium", "high")),
        'true, false, "low", "medium", "high" or "none"',
    ),
    "send_thinking": (boolean, "true or false"),
    "opens_thinking": (boolean, "true or false"),
    "keep_alive": (or_none(keep_alive), 'a duration such as "5m", whole seconds, or "none"'),
    "options": (
        options,
        "a table of numbers, booleans, strings and lists of strings, and num_ctx stands beside it",
    ),
}
