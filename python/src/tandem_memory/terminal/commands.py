"""Lines of a chat: which is a message, which a command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..core.errors import quote

__all__ = ["Entry", "parse_line"]

# White space at a line's ends says nothing; neither does the mark that Windows puts before a file.
BLANK = " \t\r\n\u3000\ufeff"

COMMANDS = {
    "bye": "",
    "clear": "",
    "context": "",
    "export": "[FILE]",
    "forget": "[yes]",
    "help": "",
    "history": "[N]",
    "model": "[PATH]",
    "new": "[ID]",
    "retry": "",
    "sessions": "",
    "think": "on|off",
    "undo": "",
}
"""What each command takes after it."""

CHECKS = {
    "[N]": (re.compile("[0-9]{1,9}"), "a whole number from 0 up"),
    "[yes]": (re.compile("yes"), "yes, or nothing"),
    "on|off": (re.compile("on|off"), "on or off"),
}
"""What some of that may be, and the words for it."""

ALIASES = {"?": "help", "exit": "bye", "quit": "bye"}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a line is.

    `kind` is `blank`, `message` (`text` is what to send), `command` (`text` is its name, `argument`
    what follows, or `""`) or `problem` (`text` says what is wrong with the command).
    """

    kind: Literal["blank", "message", "command", "problem"]
    text: str = ""
    argument: str = ""


def parse_line(line: str) -> Entry:
    """Tell what a line is. Pasted text of several lines is a message, whatever it begins with."""
    text = line.strip(BLANK)
    if not text:
        return Entry(kind="blank")
    if text[0] != "/" or "\n" in text:
        return Entry(kind="message", text=text)
    if text.startswith("//"):
        return Entry(kind="message", text=text[1:])
    word, _, rest = text[1:].replace("\t", " ").partition(" ")
    return parse_command(word, rest.strip(BLANK))


def parse_command(word: str, argument: str) -> Entry:
    name = ALIASES.get(word.lower(), word.lower())
    if name not in COMMANDS:
        hint = f"no command {quote('/' + word)}; /help lists them, // sends a line with a slash"
        return Entry(kind="problem", text=hint)
    takes = COMMANDS[name]
    if argument and not takes:
        return Entry(kind="problem", text=f"/{name} takes nothing after it, not {quote(argument)}")
    check = CHECKS.get(takes)
    if argument and check and not check[0].fullmatch(argument):
        text = f"/{name} is {quote(argument)}; it must be {check[1]}"
        return Entry(kind="problem", text=text)
    return Entry(kind="command", text=name, argument=argument)
