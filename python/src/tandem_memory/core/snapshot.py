"""Snapshots: all that a manager holds, as a JSON document that both languages read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NotRequired, TypedDict, cast

from .errors import (
    InvalidMessageError,
    InvalidSnapshotError,
    ToolCallNotFoundError,
    quote,
)
from .messages import Message, read_message
from .summary import Summary, read_summary
from .turns import CountTokens, Turn, extend_turns
from .values import well_formed

__all__ = ["Snapshot", "read_snapshot", "read_system_prompt", "write_snapshot"]

VERSION = 1


class Snapshot(TypedDict):
    """A system prompt, a summary if there is one, and the messages of a window.

    The limits are the receiver's own.
    """

    version: int
    system_prompt: str | None
    summary: NotRequired[Summary]
    messages: list[Message]


def write_snapshot(
    system_prompt: str | None, summary: Summary | None, messages: list[Message]
) -> Snapshot:
    """Return the snapshot of a window; it holds `messages` themselves, not copies."""
    snapshot: Snapshot = {"version": VERSION, "system_prompt": system_prompt, "messages": messages}
    return {**snapshot, "summary": summary} if summary else snapshot


def read_snapshot(
    value: object, count_tokens: CountTokens
) -> tuple[str | None, Summary | None, list[Turn]]:
    """Return a snapshot's system prompt, summary and turns, or raise `InvalidSnapshotError`."""
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
    turns: list[Turn] = []
    for i, message in enumerate(cast("list[object]", messages)):
        with located(f"messages[{i}]"):
            extend_turns(turns, read_message(message), count_tokens)
    return system_prompt, summary, turns


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
