"""What fixtures call of the terminal program. Twin: typescript/tests/terminals.ts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tandem_memory import ModelEntry, make_entry
from tandem_memory.chat.engine import PullProgress
from tandem_memory.storage.jsonfile import document_text
from tandem_memory.terminal.answer import AnswerText
from tandem_memory.terminal.archive import export_name
from tandem_memory.terminal.arguments import parse_arguments
from tandem_memory.terminal.commands import parse_line
from tandem_memory.terminal.context import context_document
from tandem_memory.terminal.history import (
    render_history,
    render_opening,
    render_sessions,
    turn_question,
    turn_title,
)
from tandem_memory.terminal.listing import render_models
from tandem_memory.terminal.place import find_place
from tandem_memory.terminal.pull import render_progress
from tandem_memory.terminal.table import render_context
from tandem_memory.terminal.texts import BANNER, CHAT_HELP, HELP, HINTS, PROMPT

Json = Any

FUNCTIONS: dict[str, Callable[[Json], Json]] = {
    "context_text": lambda args: lines(
        document_text(
            context_document(args["session"], read_entry(args["entry"]), args["explanation"])
        )
    ),
    "export_name": lambda args: export_name(args["session_id"]),
    "find_place": lambda args: find_place(
        args["given"], env=args["env"], platform=args["platform"], home=args["home"]
    ),
    "parse_arguments": lambda args: parse_arguments(args["words"]),
    "parse_line": lambda args: parse_line(args["line"]),
    "render_answer": lambda args: render_answer(args["pieces"], args["styled"], args["shown"]),
    "render_context": lambda args: lines(render_context(args["explanation"], args["columns"])),
    "render_history": lambda args: lines(render_history(args["turns"])),
    "render_models": lambda args: lines(
        render_models([read_entry(entry) for entry in args["entries"]], args["installed"])
    ),
    "render_opening": lambda args: render_opening(args["session_id"], args["title"], args["place"]),
    "render_progress": lambda args: list(
        render_progress(args["model"], PullProgress(**args["progress"]))
    ),
    "render_sessions": lambda args: lines(
        render_sessions(args["sessions"], args["titles"], args["columns"], args["current"])
    ),
    "texts": lambda _: {
        "help": {command: lines(text) for command, text in HELP.items()},
        "banner": BANNER,
        "prompt": PROMPT,
        "chat_help": lines(CHAT_HELP),
        "hints": dict(HINTS),
    },
    "turn_question": lambda args: turn_question(args["turn"]),
    "turn_title": lambda args: turn_title(args["turn"]),
}


class TerminalSubject:
    """The functions of the terminal program, which have no state."""

    def call(self, name: str, args: Json) -> Json:
        return FUNCTIONS[name](args)

    def state(self) -> None:
        return None


def read_entry(settings: Json) -> ModelEntry:
    return make_entry(settings.pop("path"), settings)


def lines(text: str) -> list[str]:
    return text.split("\n")


def render_answer(pieces: list[Json], styled: bool, shown: bool) -> str:
    answer = AnswerText(styled=styled, shown=shown)
    return "".join(answer.add(**piece) for piece in pieces) + answer.end()
