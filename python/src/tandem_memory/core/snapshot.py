"""Snapshots: all that a manager holds, as a JSON document that both languages read."""

from __future__ import annotations

from typing import TypedDict, cast

from .errors import (
    InvalidMessageError,
    InvalidSnapshotError,
    ToolCallNotFoundError,
    quote,
)
from .messages import Message, read_message
from .turns import CountTokens, Turn, extend_turns
from .values import well_formed

__all__ = ["Snapshot", "read_snapshot", "read_system", "write_snapshot"]

VERSION = 1


class Snapshot(TypedDict):
    """A system prompt and the messages of a window; the limits are the receiver's own."""

    version: int
    system_prompt: str | None
    messages: list[Message]


def write_snapshot(system_prompt: str | None, messages: list[Message]) -> Snapshot:
    """Return the snapshot of a window; it holds `messages` themselves, not copies."""
    return {"version": VERSION, "system_prompt": system_prompt, "messages": messages}


def read_snapshot(value: object, count_tokens: CountTokens) -> tuple[Message | None, list[Turn]]:
    """Return the system message and the turns of a snapshot, or raise `InvalidSnapshotError`."""
    if not isinstance(value, dict):
        raise InvalidSnapshotError("", f"must be an object, not {quote(value)}")
    fields = cast("dict[str, object]", value)
    version, messages = fields.get("version"), fields.get("messages")
    if version != VERSION or isinstance(version, bool):
        hint = f"is {quote(version)}; this release reads version {VERSION}"
        raise InvalidSnapshotError("version", hint)
    if not isinstance(messages, list):
        raise InvalidSnapshotError("messages", f"must be a list, not {quote(messages)}")
    turns: list[Turn] = []
    system = read_prompt(fields.get("system_prompt"))
    for i, message in enumerate(cast("list[object]", messages)):
        try:
            extend_turns(turns, read_message(message), count_tokens)
        except (InvalidMessageError, ToolCallNotFoundError) as error:
            raise InvalidSnapshotError(f"messages[{i}]", f"can't be taken: {error}") from error
    return system, turns


def read_prompt(value: object) -> Message | None:
    try:
        return read_system(value)
    except InvalidMessageError as error:
        hint = f"must be a string or null, not {quote(value)}"
        raise InvalidSnapshotError("system_prompt", hint) from error


def read_system(value: object) -> Message | None:
    """Return the system message of a system prompt; None or `""` is none."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        hint = f"must be a string or null, not {quote(value)}"
        raise InvalidMessageError("system_prompt", "wrong_type", hint)
    return {"role": "system", "content": well_formed(value)}
