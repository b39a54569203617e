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
        "--user",
        "--session",
        "--store",
        "--model",
        "--models",
        "--system",
        "--max-turns",
        "--summarize",
        "--host",
        "--think",
        "--no-think",
        "--show-thinking",
        "--hide-thinking",
    ],
    "models": ["--models", "--host"],
    "pull": ["--models", "--host"],
    "sessions": ["--user", "--store"],
    "show": ["--user", "--session", "--turns", "--store"],
    "context": [
        "--user",
        "--session",
        "--store",
        "--model",
        "--models",
        "--system",
        "--max-turns",
        "--json",
    ],
    "export": ["--user", "--session", "--store", "--force"],
    "import": ["--user", "--store"],
    "forget": ["--user", "--session", "--store", "--yes"],
}
"""The options of each command; `--help` is every command's."""

WORDS = {"export": "document", "import": "document", "pull": "model"}
"""The field of the word that a command may have besides its options."""

VALUES = {
    "--host": "host",
    "--max-turns": "turns",
    "--model": "model",
    "--models": "file",
    "--session": "session",
    "--store": "store",
    "--system": "system",
    "--turns": "turns",
    "--user": "user",
}
"""The field of each option that has a value."""

SWITCHES = {
    "--force": ("sure", True),
    "--hide-thinking": ("shown", False),
    "--json": ("json", True),
    "--no-think": ("think", False),
    "--show-thinking": ("shown", True),
    "--summarize": ("summarize", True),
    "--think": ("think", True),
    "--yes": ("sure", True),
}
"""The field that each other option sets, and to what."""

NAME = "at least one character long"

ALLOWED = {
    "--host": "an address such as http://127.0.0.1:11434",
    "--max-turns": "a whole number from 0 up",
    "--session": NAME,
    "--store": NAME,
    "--turns": "a whole number from 0 up",
    "--user": NAME,
}


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """A command and its options; None is an option that was not given.

    `command`: one of those that have options, `help` and `version`.
    `topic`: of `help`, the command that it is about; `""` is the program.
    `model`: a path in the tree of model entries, or a model's name; of `pull`, its PATH.
    `file`: of the model entries. `turns`: `max_turns`, or how many to show. `think`: whether the
    model thinks, `shown`: whether its thinking is printed. `summarize`: whether it summarises what
    is about to leave its sight.
    `user`, `session`: their ids, `new` for a session to begin. `store`: the place of the store.
    `document`: the FILE of an export. `sure`: whether not to ask before something is lost.
    `json`: whether a program is to read what is printed.
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
    summarize: bool = False
    user: str | None = None
    session: str | None = None
    store: str | None = None
    document: str | None = None
    sure: bool = False
    json: bool = False


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
            field = WORDS.get(command)
            if field is None or field in fields:
                return f"{quote(name + equals + value)} is one word too many; {hint}"
            fields[field] = name + equals + value
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
    if command == "import" and "document" not in fields:
        return f"import needs a FILE; {hint}"
    return replace(Arguments(command=command), **fields)


def read_name(value: str) -> str | None:
    return value or None


def read_whole(value: str) -> int | None:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None


READERS: dict[str, Callable[[str], object]] = {
    "--host": read_host,
    "--max-turns": read_whole,
    "--session": read_name,
    "--store": read_name,
    "--turns": read_whole,
    "--user": read_name,
}
"""How the value of an option is read; None is one that it can't have."""
