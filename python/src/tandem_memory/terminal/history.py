"""What is stored, as text: the list of sessions, and the turns of one."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.messages import Message
from ..core.values import canonical_json
from ..storage.records import Session, StoredTurn
from .texts import count
from .width import clip, one_line, pad, visible, width

__all__ = [
    "NOWHERE",
    "render_history",
    "render_opening",
    "render_sessions",
    "turn_question",
    "turn_title",
]

NOWHERE = "none"
"""The place of a store that ends with the program."""

ID = 40
"""The columns that a session's id has at most."""

TEXT = 16
"""The columns that a title has at least, however narrow the terminal is."""

STATES = {"pending": "  awaits its answer", "failed": "  failed", "interrupted": "  interrupted"}


def render_sessions(
    sessions: Sequence[Session], titles: Sequence[str], columns: int, current: str | None = None
) -> str:
    """Return the list of sessions for a terminal of so many columns; a star marks `current`."""
    rows = [("  ", "session", "used last (UTC)", "begins")]
    for session, title in zip(sessions, titles, strict=True):
        mark = "* " if session["session_id"] == current else "  "
        name = clip(one_line(session["session_id"]), ID)
        rows.append((mark, name, minute(session["updated_at"]), title))
    widest = max(width(name) for _, name, _, _ in rows)
    room = max(TEXT, columns - widest - 24)
    lines = [
        f"{mark}{pad(name, widest)}  {pad(used, 16)}  {clip(title, room)}".rstrip(" ")
        for mark, name, used, title in rows
    ]
    return "\n".join(lines) + "\n"


def turn_title(turn: StoredTurn) -> str:
    """Return what a session that begins with `turn` is called: the user's first words in it."""
    return one_line(turn_question(turn) or first_words(turn))


def turn_question(turn: StoredTurn) -> str:
    """Return what the user said in a turn, or `""`."""
    messages = [stored["message"] for stored in turn["messages"]]
    return next((each["content"] for each in messages if each["role"] == "user"), "")


def render_opening(session_id: str, title: str, place: str) -> str:
    """Return the line that says which session is entered; without a title, it begins."""
    kept = "it ends with the program" if place == NOWHERE else f"it is kept in {place}"
    state = f"goes on (“{clip(title, ID)}”)" if title else "begins"
    return f"Session {clip(one_line(session_id), ID)} {state}; {kept}."


def render_history(turns: Sequence[StoredTurn]) -> str:
    """Return the turns as they were spoken, with an empty line behind each."""
    return "".join(render_turn(turn) + "\n" for turn in turns)


def render_turn(turn: StoredTurn) -> str:
    head = f"[{turn['turn']}]  {minute(turn['created_at'])} UTC{STATES.get(turn['status'], '')}"
    texts = [message_lines(stored["message"]) for stored in turn["messages"]]
    return visible("\n".join([head, *[line for lines in texts for line in lines]])) + "\n"


def message_lines(message: Message) -> list[str]:
    lines = message["content"].strip("\n ").split("\n") if message["content"] else []
    if message["role"] == "tool":
        return [f"({message.get('tool_name', 'tool')}: {one_line(message['content'])})"]
    if message["role"] == "user":
        images = message.get("images", [])
        lines += [f"({count(len(images), 'image')})"] if images else []
        return [("  " if i else "> ") + line for i, line in enumerate(lines)]
    calls = [call["function"] for call in message.get("tool_calls", [])]
    asked = [f"(calls {call['name']} {canonical_json(call['arguments'])})" for call in calls]
    return lines + asked


def first_words(turn: StoredTurn) -> str:
    return turn["messages"][0]["message"]["content"] if turn["messages"] else ""


def minute(time: str) -> str:
    return time[:16].replace("T", " ")
