"""Snapshots: all that a manager holds, as a JSON document that both languages read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NotRequired, TypedDict, cast

from .errors import (
    InvalidMessageError,
    InvalidSnapshotError,
    ToolCallNotFoundError,
    quote,
)
from .frame import Context, Frame, make_frame, read_context
from .messages import Message, read_message
from .summary import Summary, read_summary
from .turns import CountTokens, Turn, extend_turns
from .values import well_formed, whole_number

__all__ = ["Restored", "Snapshot", "read_snapshot", "read_system_prompt", "write_snapshot"]

VERSION = 1


class Snapshot(TypedDict):
    """A system prompt, a summary and context where there are any, and the messages of a window.

    `dropped_turns`: how many turns have left the window, absent for none. The limits are the
    receiver's own.
    """

    version: int
    system_prompt: str | None
    summary: NotRequired[Summary]
    context: NotRequired[Context]
    dropped_turns: NotRequired[int]
    messages: list[Message]


@dataclass(frozen=True)
class Restored:
    """What a snapshot holds, as `read_snapshot` checked it."""

    frame: Frame
    dropped_turns: int
    turns: list[Turn]


def write_snapshot(frame: Frame, dropped_turns: int, messages: list[Message]) -> Snapshot:
    """Return the snapshot of a window; it holds `messages` themselves, not copies."""
    prompt = frame.system_prompt
    snapshot: Snapshot = {"version": VERSION, "system_prompt": prompt, "messages": messages}
    if frame.summary:
        snapshot["summary"] = frame.summary
    if frame.context:
        snapshot["context"] = frame.context
    if dropped_turns:
        snapshot["dropped_turns"] = dropped_turns
    return snapshot


def read_snapshot(value: object, count_tokens: CountTokens) -> Restored:
    """Return what a snapshot holds, or raise `InvalidSnapshotError`."""
    if not isinstance(value, dict):
        raise InvalidSnapshotError("", f"must be an object, not {quote(value)}")
    fields = cast("dict[str, object]", value)
    version, messages = fields.get("version"), fields.get("messages")
    if version != VERSION or isinstance(version, bool):
        hint = f"is {quote(version)}; this release reads version {VERSION}"
        raise InvalidSnapshotError("version", hint)
    if not isinstance(messages, list):
        raise InvalidSnapshotError("messages", f"must be a list, not {quote(messages)}")
    with located("system_prompt"):
        system_prompt = read_system_prompt(fields.get("system_prompt"))
    with located("summary"):
        summary = read_summary(fields.get("summary"))
    with located("context"):
        context = read_context(fields.get("context"))
    dropped_turns = whole_number(fields.get("dropped_turns", 0))
    if dropped_turns is None:
        hint = f"must be a whole number from 0 up, not {quote(fields['dropped_turns'])}"
        raise InvalidSnapshotError("dropped_turns", hint)
    turns: list[Turn] = []
    for i, message in enumerate(cast("list[object]", messages)):
        with located(f"messages[{i}]"):
            extend_turns(turns, read_message(message), count_tokens)
    frame = make_frame(system_prompt, summary, context, count_tokens)
    return Restored(frame, dropped_turns, turns)


@contextmanager
def located(path: str) -> Generator[None]:
    """Say of what is wrong inside where in the snapshot it is."""
    try:
        yield
    except (InvalidMessageError, ToolCallNotFoundError) as error:
        raise InvalidSnapshotError(path, f"can't be taken: {error}") from error


def read_system_prompt(value: object) -> str | None:
    """Return a system prompt, checked and made well-formed; None or `""` is none."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        hint = f"must be a string or null, not {quote(value)}"
        raise InvalidMessageError("system_prompt", "wrong_type", hint)
    return well_formed(value)
