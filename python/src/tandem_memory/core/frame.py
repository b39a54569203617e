"""The frame: what is sent beside the turns, in the system message or before the newest question.

The system message holds the system prompt, then the summary, then what was recalled. It stands in
front of all, so a change of it makes a model server read the whole prompt again. What stands before
the newest question is read with that question alone, but has to be read anew for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, cast

from .errors import InvalidMessageError, quote
from .messages import Message
from .summary import HEADING, Summary
from .turns import CountTokens, count_message
from .values import read_json

__all__ = [
    "Context",
    "Frame",
    "Place",
    "count_context",
    "make_frame",
    "place_context",
    "read_context",
    "read_place",
]

Place = Literal["system", "question"]
"""Where context is sent: at the end of the system message, or before the newest question."""


class Context(TypedDict):
    """What was recalled from elsewhere, such as facts of other sessions, and where it is sent."""

    text: str
    place: Place


@dataclass(frozen=True)
class Frame:
    """The parts of the frame, the one system message that they make, and what they cost.

    `tokens` is the cost of all, `system_tokens` that of the system message alone.
    """

    system_prompt: str | None
    summary: Summary | None
    context: Context | None
    system: Message | None
    system_tokens: int
    tokens: int


def make_frame(
    system_prompt: str | None,
    summary: Summary | None,
    context: Context | None,
    count_tokens: CountTokens,
) -> Frame:
    """Return the frame of these parts; context before the question counts as a message.

    There is one system message, for recent Qwen templates refuse a second.
    """
    asked = context is not None and context["place"] == "question"
    told = f"{HEADING}\n{summary['text']}" if summary else None
    parts = [system_prompt, told, context["text"] if context and not asked else None]
    content = "\n\n".join(part for part in parts if part)
    system: Message | None = {"role": "system", "content": content} if content else None
    system_tokens = count_message(system, count_tokens) if system else 0
    tokens = system_tokens
    if context and asked:
        tokens += count_message({"role": "user", "content": context["text"]}, count_tokens)
    return Frame(system_prompt, summary, context, system, system_tokens, tokens)


def count_context(frame: Frame, count_tokens: CountTokens) -> int:
    """Return what the frame's context costs in its place."""
    without = make_frame(frame.system_prompt, frame.summary, None, count_tokens)
    return max(frame.tokens - without.tokens, 0)


def place_context(messages: Sequence[Message], context: Context | None) -> list[Message]:
    """Return `messages` with the context before the newest question, if that is its place."""
    placed = list(messages)
    if context is None or context["place"] == "system":
        return placed
    for i in range(len(placed) - 1, -1, -1):
        if placed[i]["role"] == "user":
            content = f"{context['text']}\n\n{placed[i]['content']}"
            placed[i] = cast("Message", {**placed[i], "content": content})
            break
    return placed


def read_context(value: object) -> Context | None:
    """Return context, checked and copied; None where there is none."""
    fields = read_json(value, "context")
    if fields is None:
        return None
    if not isinstance(fields, dict):
        hint = f"must be an object or null, not {quote(fields)}"
        raise InvalidMessageError("context", "wrong_type", hint)
    text, place = fields.get("text"), fields.get("place")
    if not isinstance(text, str) or not text:
        raise InvalidMessageError("context.text", "wrong_type", "must be a text, and not empty")
    return {"text": text, "place": read_place(place)}


def read_place(value: object) -> Place:
    """Return a place of context, checked."""
    if value not in ("system", "question"):
        hint = f'must be "system" or "question", not {quote(value)}'
        raise InvalidMessageError("context.place", "not_allowed", hint)
    return value
