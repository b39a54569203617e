"""What comes in from outside, checked: exported documents, changes to a session, counts.

A document is read strictly: a field too many is a fault as much as a missing one, since what is
not understood would be lost. Messages alone may have fields of their own. `revision` and `lease`,
which the files of a `JsonStore` have beside the rest, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypedDict, cast

from ..core.errors import (
    InvalidDocumentError,
    InvalidIdError,
    InvalidLimitError,
    InvalidMessageError,
    quote,
)
from ..core.messages import Message, read_message
from ..core.values import JsonObject, read_json, well_formed, whole_number
from .documents import MessageDocument, SessionDocument, TurnDocument
from .records import Ranges, SessionChanges, Status, end_of, read_id

__all__ = [
    "Export",
    "read_changes",
    "read_count",
    "read_export",
    "read_fields",
    "read_name",
    "read_status",
    "read_stored",
    "read_whole",
    "write_export",
]

VERSION = 1
STATUSES = ("pending", "complete", "failed", "interrupted")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


class Export(TypedDict):
    """Sessions of one user, the one used last at the end."""

    format: Literal["tandem-memory"]
    version: int
    user_id: str
    sessions: list[SessionDocument]


def write_export(user_id: str, sessions: list[SessionDocument]) -> Export:
    """Return the document of these sessions; it holds them themselves, not copies."""
    return {
        "format": "tandem-memory",
        "version": VERSION,
        "user_id": user_id,
        "sessions": sessions,
    }


def read_export(value: object) -> Export:
    """Return the exported document that `value` is, as a copy, or raise `InvalidDocumentError`."""
    fields = read_fields(value, "", ("format", "version", "user_id", "sessions"), ("revision",))
    if fields["format"] != "tandem-memory":
        raise InvalidDocumentError("format", 'must be "tandem-memory"')
    if read_whole(fields["version"], "version") != VERSION:
        hint = f"is {quote(fields['version'])}; this release reads version {VERSION}"
        raise InvalidDocumentError("version", hint)
    user_id = read_name(fields["user_id"], "user_id")
    sessions = read_list(fields["sessions"], "sessions")
    read = [read_session(item, f"sessions[{i}]") for i, item in enumerate(sessions)]
    if len({session["session_id"] for session in read}) < len(read):
        raise InvalidDocumentError("sessions", "have a session_id twice")
    return write_export(user_id, read)


def read_changes(value: object) -> SessionChanges:
    """Return changes to a session as a copy, or raise `InvalidDocumentError`."""
    if not isinstance(value, dict):
        raise InvalidDocumentError("", f"must be an object, not {quote(value)}")
    changes: SessionChanges = {}
    for name, item in cast("dict[str, object]", value).items():
        if name == "system_prompt":
            changes["system_prompt"] = read_text(item, name)
        elif name == "summary":
            changes["summary"] = read_summary(item, name)
        elif name == "window":
            changes["window"] = read_ranges(item, name)
        else:
            raise InvalidDocumentError("", f"has an unknown field {quote(name)}")
    return changes


def read_status(value: object, path: str = "status") -> Status:
    """Return `value` as a turn's status, or raise `InvalidDocumentError`."""
    if value not in STATUSES:
        hint = f"is {quote(value)}; it must be one of {', '.join(STATUSES)}"
        raise InvalidDocumentError(path, hint)
    return value


def read_stored(value: object, path: str) -> Message:
    """Return a message as a store takes it: any but the system message."""
    message = read_message(value, path)
    if message["role"] == "system":
        hint = "is system; there is one system message, set by the system prompt"
        raise InvalidMessageError(f"{path}.role", "not_allowed", hint)
    return message


def read_count(name: str, value: object) -> int | None:
    """Return how many are wanted, None being all, or raise `InvalidLimitError`."""
    if value is None:
        return None
    whole = whole_number(value)
    if whole is None:
        raise InvalidLimitError(name, value, "a whole number from 0 up, or None for all")
    return whole


def read_session(value: object, path: str) -> SessionDocument:
    names = tuple(SessionDocument.__annotations__)
    fields = read_fields(value, path, names, ("revision", "lease"))
    session: SessionDocument = {
        "session_id": read_name(fields["session_id"], f"{path}.session_id"),
        "system_prompt": read_text(fields["system_prompt"], f"{path}.system_prompt"),
        "summary": read_summary(fields["summary"], f"{path}.summary"),
        "window": read_ranges(fields["window"], f"{path}.window"),
        "last_seq": read_whole(fields["last_seq"], f"{path}.last_seq"),
        "last_turn": read_whole(fields["last_turn"], f"{path}.last_turn"),
        "created_at": read_time(fields["created_at"], f"{path}.created_at"),
        "updated_at": read_time(fields["updated_at"], f"{path}.updated_at"),
        "turns": [],
    }
    if end_of(session["window"]) > session["last_seq"]:
        raise InvalidDocumentError(f"{path}.window", "goes beyond last_seq")
    turn = seq = 0
    for i, item in enumerate(read_list(fields["turns"], f"{path}.turns")):
        read = read_turn(item, f"{path}.turns[{i}]", seq)
        if not turn < read["turn"] <= session["last_turn"]:
            raise InvalidDocumentError(f"{path}.turns[{i}].turn", "is out of order")
        turn, seq = read["turn"], read["messages"][-1]["seq"]
        session["turns"].append(read)
    if seq > session["last_seq"]:
        raise InvalidDocumentError(f"{path}.last_seq", "is below the last message's seq")
    return session


def read_turn(value: object, path: str, seq: int) -> TurnDocument:
    fields = read_fields(value, path, tuple(TurnDocument.__annotations__))
    turn: TurnDocument = {
        "turn": read_whole(fields["turn"], f"{path}.turn"),
        "status": read_status(fields["status"], f"{path}.status"),
        "removed": read_flag(fields["removed"], f"{path}.removed"),
        "created_at": read_time(fields["created_at"], f"{path}.created_at"),
        "messages": [],
    }
    for i, item in enumerate(read_list(fields["messages"], f"{path}.messages")):
        read = read_row(item, f"{path}.messages[{i}]")
        if read["seq"] <= seq:
            raise InvalidDocumentError(f"{path}.messages[{i}].seq", "is out of order")
        seq = read["seq"]
        turn["messages"].append(read)
    if not turn["messages"]:
        raise InvalidDocumentError(f"{path}.messages", "is empty; a turn has at least one message")
    return turn


def read_row(value: object, path: str) -> MessageDocument:
    fields = read_fields(value, path, tuple(MessageDocument.__annotations__))
    try:
        message = read_stored(fields["message"], f"{path}.message")
    except InvalidMessageError as error:
        raise InvalidDocumentError(error.path, f"can't be taken: {error}") from error
    return {
        "seq": read_whole(fields["seq"], f"{path}.seq"),
        "removed": read_flag(fields["removed"], f"{path}.removed"),
        "created_at": read_time(fields["created_at"], f"{path}.created_at"),
        "message": message,
    }


def read_fields(
    value: object, path: str, names: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, object]:
    """Return an object that has all fields of `names`, and none beside them and `optional`."""
    if not isinstance(value, dict):
        raise InvalidDocumentError(path, f"must be an object, not {quote(value)}")
    fields = cast("dict[str, object]", value)
    for name in names:
        if name not in fields:
            raise InvalidDocumentError(f"{path}.{name}" if path else name, "is missing")
    if unknown := fields.keys() - {*names, *optional}:
        raise InvalidDocumentError(path, f"has an unknown field {quote(min(unknown))}")
    return fields


def read_name(value: object, path: str) -> str:
    """Return an id, or raise `InvalidDocumentError`."""
    try:
        return read_id(path, value)
    except InvalidIdError as error:
        raise InvalidDocumentError(path, "is no id: a text of at least one character") from error


def read_text(value: object, path: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InvalidDocumentError(path, f"must be a string or null, not {quote(value)}")
    return well_formed(value) if value else None


def read_summary(value: object, path: str) -> JsonObject | None:
    try:
        summary = read_json(value, path)
    except InvalidMessageError as error:
        raise InvalidDocumentError(error.path, "is no JSON that both languages hold") from error
    if summary is not None and not isinstance(summary, dict):
        raise InvalidDocumentError(path, f"must be an object or null, not {quote(value)}")
    return summary


def read_ranges(value: object, path: str) -> Ranges:
    ranges: Ranges = []
    end = 0
    for i, item in enumerate(read_list(value, path)):
        pair = read_list(item, f"{path}[{i}]")
        numbers = [read_whole(number, f"{path}[{i}]") for number in pair]
        if len(numbers) != 2 or not end < numbers[0] <= numbers[1]:
            hint = "must be [first, last], after the pair before it"
            raise InvalidDocumentError(f"{path}[{i}]", hint)
        end = numbers[1]
        ranges.append(numbers)
    return ranges


def read_list(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidDocumentError(path, f"must be a list, not {quote(value)}")
    return cast("list[object]", value)


def read_whole(value: object, path: str) -> int:
    """Return a whole number from 0 up, or raise `InvalidDocumentError`."""
    whole = whole_number(value)
    if whole is None:
        raise InvalidDocumentError(path, f"must be a whole number, not {quote(value)}")
    return whole


def read_flag(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidDocumentError(path, f"must be true or false, not {quote(value)}")
    return value


def read_time(value: object, path: str) -> str:
    if not isinstance(value, str) or not TIME.fullmatch(value):
        raise InvalidDocumentError(path, 'must be a time as "2026-11-30T07:46:02.123Z"')
    return value
