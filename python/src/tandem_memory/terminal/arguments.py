"""The command line: which command, with which options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..chat.settings import read_host
from ..core.errors import quote
from ..core.values import well_formed

__all__ = ["Arguments", "parse_arguments"]

OPTIONS: dict[str, list[str]] = {
    "chat": [
        "--model",
        "--models",
        "--system",
        "--max-turns",
        "--host",
        "--think",
        "--no-think",
        "--show-thinking",
        "--hide-thinking",
    ],
    "models": ["--models", "--host"],
    "pull": ["--models", "--host"],
}
"""The options of each command; `--help` is every command's."""

VALUES = {
    "--host": "host",
    "--max-turns": "turns",
    "--model": "model",
    "--models": "file",
    "--system": "system",
}
"""The field of each option that has a value."""

SWITCHES = {
    "--hide-thinking": ("shown", False),
    "--no-think": ("think", False),
    "--show-thinking": ("shown", True),
    "--think": ("think", True),
}
"""The field that each other option sets, and to what."""


ALLOWED = {
    "--host": "an address such as http://127.0.0.1:11434",
    "--max-turns": "a whole number from 0 up",
}


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """A command and its options; None is an option that was not given.

    `command`: one of `chat`, `models`, `pull`, `help` and `version`.
    `topic`: of `help`, the command that it is about; `""` is the program.
    `model`: a path in the tree of model entries, or a model's name; of `pull`, its PATH.
    `file`: of the model entries. `turns`: `max_turns`. `think`: whether the model thinks,
    `shown`: whether its thinking is printed.
    """

    command: str
    topic: str = ""
    model: str | None = None
    file: str | None = None
    system: str | None = None
    turns: int | None = None
    host: str | None = None
    think: bool | None = None
    shown: bool | None = None


def parse_arguments(words: Sequence[str]) -> Arguments | str:
    """Return what the words of the command line ask for, or one line that says what is wrong."""
    first, *rest = [well_formed(word) for word in words] or ["--help"]
    if first == "--version":
        return Arguments(command="version")
    if first in {"--help", "-h", "help"}:
        topic = rest[0] if first == "help" and rest and rest[0] in OPTIONS else ""
        return Arguments(command="help", topic=topic)
    if first not in OPTIONS:
        kind = "option" if first[0:1] == "-" else "command"
        return f"no {kind} {quote(first)}; `tandem-memory --help` lists what there is"
    return parse_options(first, rest)


def parse_options(command: str, words: list[str]) -> Arguments | str:
    hint = f"`tandem-memory {command} --help` lists what there is"
    fields: dict[str, object] = {}
    if "--help" in words or "-h" in words:
        return Arguments(command="help", topic=command)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name[0:1] != "-":
            if command != "pull" or "model" in fields:
                return f"{quote(name + equals + value)} is one word too many; {hint}"
            fields["model"] = name + equals + value
        elif name not in OPTIONS[command]:
            return f"{command} has no option {quote(name)}; {hint}"
        elif name in SWITCHES:
            if equals:
                return f"{name} takes no value, not {quote(value)}"
            field, fields[field] = SWITCHES[name]
        else:
            # A word that looks like an option is one that was forgotten to be given its value.
            if not equals and words and not words[0].startswith("--"):
                equals, value = "=", words.pop(0)
            if not equals:
                return f"{name} needs a value; {hint}"
            read = READERS.get(name, str)(value)
            if read is None:
                return f"{name} is {quote(value)}; it must be {ALLOWED[name]}"
            fields[VALUES[name]] = read
    return replace(Arguments(command=command), **fields)


def read_whole(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


READERS: dict[str, Callable[[str], object]] = {"--host": read_host, "--max-turns": read_whole}
"""How the value of an option is read; None is one that it can't have."""
