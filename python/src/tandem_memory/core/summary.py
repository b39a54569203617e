"""Rolling summaries: what a summariser is sent, and what of its answer is taken.

A summary stands for turns that have left the window. It is made from the summary before it and the
turns that leave next, so it covers all turns up to the last of them. Making one needs a model,
which is the caller's; here are the two ends of it, as pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

from .errors import InvalidMessageError, SummaryFailedError, quote
from .messages import Message
from .thinking import split_thinking, trim_white_space
from .tokens import estimate_text
from .values import canonical_json, read_json, whole_number

__all__ = ["HEADING", "Summary", "read_summary", "read_summary_reply", "summary_messages"]

MOST_CODE_POINTS = 4000
"""What of one message is sent to the summariser at most; less where all would be too much."""

LEAST_CODE_POINTS = 40

BEFORE_LIMIT = """\
Below is a conversation. Write a summary of it for somebody who is to continue it. Keep every \
name, number, date, place, preference, decision and open question. Leave out greetings. Write \
short plain sentences in the language of the conversation, at most """
AFTER_LIMIT = " words. Write the summary and nothing else."

HEADING = "Summary of the conversation so far:"
"""What stands above a summary, for the model that talks and for the one that summarises."""

# Digits, signs and white space; beyond Latin-1's first half everything may be a word.
NO_WORDS = re.compile("[^A-Za-z\xaa-\U0010ffff]*")


class Summary(TypedDict):
    """A summary's text, and how many turns it covers: all up to the last that it tells of."""

    text: str
    turns: int


def summary_messages(
    previous: Summary | None,
    leaving: Sequence[Message],
    *,
    max_tokens: int = 256,
    max_input_tokens: int = 2048,
) -> list[Message]:
    """Return what to send to a model, so that it folds `leaving` into the summary `previous`.

    `max_tokens`: what the summary may cost; the model is told half of it, in words.
    `max_input_tokens`: what the conversation's text may cost; long messages lose their middle.

    Each message has its role before it, so that nobody's words become somebody else's; thinking is
    left out.
    """
    request = f"{BEFORE_LIMIT}{max(max_tokens // 2, 1)}{AFTER_LIMIT}"
    before = [f"{HEADING}\n{previous['text']}"] if previous else []
    after = "Conversation:\n" + transcript(leaving, max_input_tokens)
    return [{"role": "user", "content": "\n\n".join([request, *before, after])}]


def transcript(messages: Sequence[Message], max_tokens: int) -> str:
    """Return messages as text of at most `max_tokens`, by cutting the longest ones shorter."""

    def write(limit: int) -> str:
        return "\n".join(line(message, limit) for message in messages)

    limit = MOST_CODE_POINTS
    text = write(limit)
    while limit > LEAST_CODE_POINTS and estimate_text(text) > max_tokens:
        limit //= 2
        text = write(limit)
    # So many messages that even their beginnings are too much: the middle ones go.
    size = len(text)
    while size > LEAST_CODE_POINTS and estimate_text(text) > max_tokens:
        size //= 2
        text = shorten(text, size)
    return text


def line(message: Message, limit: int) -> str:
    role, name = message["role"], message.get("tool_name")
    label = role.capitalize() if name is None else f"Tool {name}"
    calls = [
        f"[calls {call['function']['name']} {canonical_json(call['function']['arguments'])}]"
        for call in message.get("tool_calls", [])
    ]
    text = " ".join([part for part in (message["content"], *calls) if part])
    return f"{label}: {shorten(text, limit)}"


def shorten(text: str, size: int) -> str:
    """Return `text` without its middle where it has over `size` code points."""
    if len(text) <= size:
        return text
    tail = size // 3
    return f"{text[: size - tail]} … {text[len(text) - tail :]}"


def read_summary_reply(text: str, done_reason: str | None, *, max_tokens: int = 256) -> str:
    """Return the summary that a model wrote, or raise `SummaryFailedError` with the reason.

    `cut_off`: it stopped for want of room. `empty`: nothing but thinking or white space came.
    `no_words`: nothing but digits and signs came. `too_long`: it costs over `max_tokens`.
    """
    summary = trim_white_space(split_thinking(text).content)
    if done_reason == "length":
        raise SummaryFailedError("cut_off")
    if not summary:
        raise SummaryFailedError("empty")
    if NO_WORDS.fullmatch(summary):
        raise SummaryFailedError("no_words")
    if estimate_text(summary) > max_tokens:
        raise SummaryFailedError("too_long")
    return summary


def read_summary(value: object) -> Summary | None:
    """Return a summary, checked and copied; None where there is none."""
    fields = read_json(value, "summary")
    if fields is None:
        return None
    if not isinstance(fields, dict):
        hint = f"must be an object or null, not {quote(fields)}"
        raise InvalidMessageError("summary", "wrong_type", hint)
    text, turns = fields.get("text"), whole_number(fields.get("turns"))
    if not isinstance(text, str) or not text:
        raise InvalidMessageError("summary.text", "wrong_type", "must be a text, and not empty")
    if turns is None:
        raise InvalidMessageError("summary.turns", "wrong_type", "must be a whole number from 0 up")
    return {"text": text, "turns": turns}
