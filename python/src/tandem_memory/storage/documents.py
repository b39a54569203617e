"""A session held whole: in memory, or read from a JSON document and written back as one.

The published form of the document is `shared-fixtures/schema/export.schema.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TypedDict

from ..core.messages import Message
from ..core.values import JsonObject, copy_json
from .records import Ranges, Session, Status, StoredMessage, StoredTurn, end_of
from .rules import Change, Lease, State, TurnRow

__all__ = [
    "MessageDocument",
    "SessionDocument",
    "Sheet",
    "TurnDocument",
    "apply_change",
    "read_sheet",
    "sheet_state",
    "sheet_turns",
    "sheet_window",
    "turn_row",
    "write_sheet",
]


class MessageDocument(TypedDict):
    """A message with all that is stored beside it."""

    seq: int
    removed: bool
    created_at: str
    message: Message


class TurnDocument(TypedDict):
    """A turn with all its messages, removed ones too, by their sequence numbers."""

    turn: int
    status: Status
    removed: bool
    created_at: str
    messages: list[MessageDocument]


class SessionDocument(TypedDict):
    """A session with all its turns, by their numbers."""

    session_id: str
    system_prompt: str | None
    summary: JsonObject | None
    window: Ranges
    last_seq: int
    last_turn: int
    created_at: str
    updated_at: str
    turns: list[TurnDocument]


@dataclass
class Sheet:
    """A session's row and lease with all its turns; what `apply_change` writes on."""

    session: Session
    turns: list[TurnDocument] = field(default_factory=list[TurnDocument])
    lease: Lease | None = None


def write_sheet(sheet: Sheet) -> SessionDocument:
    """Return the document of a sheet; it holds the sheet's values, not copies."""
    session = sheet.session
    return {
        "session_id": session["session_id"],
        "system_prompt": session["system_prompt"],
        "summary": session["summary"],
        "window": session["window"],
        "last_seq": session["last_seq"],
        "last_turn": session["last_turn"],
        "created_at": session["created_at"],
        "updated_at": session["updated_at"],
        "turns": sheet.turns,
    }


def read_sheet(document: SessionDocument, user_id: str, revision: int) -> Sheet:
    """Return a document's sheet; it holds the document's values, not copies."""
    session: Session = {
        "user_id": user_id,
        "session_id": document["session_id"],
        "system_prompt": document["system_prompt"],
        "summary": document["summary"],
        "window": document["window"],
        "last_seq": document["last_seq"],
        "last_turn": document["last_turn"],
        "revision": revision,
        "created_at": document["created_at"],
        "updated_at": document["updated_at"],
    }
    return Sheet(session, document["turns"])


def sheet_state(sheet: Sheet, revision: int) -> State:
    """Return what a rule reads of a sheet; `revision` is the user's next one."""
    session = sheet.session
    newest = sheet.turns[-1] if sheet.turns else None
    end = end_of(session["window"])
    last = next((turn for turn in newest_first(sheet, end) if first_seq(turn) <= end), None)
    return State(
        session["user_id"],
        session["session_id"],
        revision,
        copy_json(session),
        sheet.lease,
        turn_row(newest) if newest else None,
        turn_row(last) if last else None,
    )


def sheet_window(sheet: Sheet) -> list[StoredMessage]:
    """Return copies of the window's messages, oldest first; nothing older is looked at."""
    ranges = sheet.session["window"]
    turns = newest_first(sheet, ranges[0][0]) if ranges else ()
    messages = [message for turn in turns for message in reversed(turn["messages"])]
    kept = [each for each in reversed(messages) if not each["removed"]]
    return [stored_message(each) for each in kept if is_within(ranges, each["seq"])]


def sheet_turns(sheet: Sheet, limit: int | None, before: int | None) -> list[StoredTurn]:
    """Return copies of the newest turns that were not removed, oldest first."""
    turns = (
        turn
        for turn in reversed(sheet.turns)
        if not turn["removed"] and (before is None or turn["turn"] < before)
    )
    return [stored_turn(turn) for turn in islice(turns, limit)][::-1]


def apply_change(sheet: Sheet, change: Change) -> None:
    """Write a change on the sheet."""
    sheet.session = change.session
    sheet.lease = change.lease
    if change.remove_turns is not None:
        for turn in sheet.turns:
            turn["removed"] = turn["removed"] or turn["turn"] >= change.remove_turns
    if change.remove_messages is not None:
        for turn in newest_first(sheet, change.remove_messages):
            for message in turn["messages"]:
                removed = message["removed"] or message["seq"] >= change.remove_messages
                message["removed"] = removed
    for row in change.turns:
        if turn := find_turn(sheet, row["turn"]):
            turn["status"] = row["status"]
        else:
            sheet.turns.append(new_turn(row))
    for number, stored in change.messages:
        if turn := find_turn(sheet, number):
            turn["messages"].append({**stored, "removed": False})


def is_within(ranges: Ranges, seq: int) -> bool:
    return any(first <= seq <= last for first, last in ranges)


def first_seq(turn: TurnDocument) -> int:
    return turn["messages"][0]["seq"]


def newest_first(sheet: Sheet, seq: int) -> Iterator[TurnDocument]:
    """Give the turns, the newest first, down to the one that holds `seq`."""
    for turn in reversed(sheet.turns):
        yield turn
        if first_seq(turn) <= seq:
            break


def find_turn(sheet: Sheet, number: int) -> TurnDocument | None:
    """Return the turn of this number; it is one of the newest or there is none."""
    newest = takewhile(lambda turn: turn["turn"] >= number, reversed(sheet.turns))
    return next((turn for turn in newest if turn["turn"] == number), None)


def new_turn(row: TurnRow) -> TurnDocument:
    return {
        "turn": row["turn"],
        "status": row["status"],
        "removed": row["removed"],
        "created_at": row["created_at"],
        "messages": [],
    }


def turn_row(turn: TurnDocument) -> TurnRow:
    """Return a turn without its messages."""
    return {
        "turn": turn["turn"],
        "status": turn["status"],
        "removed": turn["removed"],
        "first_seq": first_seq(turn),
        "last_seq": turn["messages"][-1]["seq"],
        "created_at": turn["created_at"],
    }


def stored_turn(turn: TurnDocument) -> StoredTurn:
    return {
        "turn": turn["turn"],
        "status": turn["status"],
        "created_at": turn["created_at"],
        "messages": [stored_message(each) for each in turn["messages"] if not each["removed"]],
    }


def stored_message(message: MessageDocument) -> StoredMessage:
    return {
        "seq": message["seq"],
        "created_at": message["created_at"],
        "message": copy_json(message["message"]),
    }
