"""Ollama's wire format: the chat request as it is sent, and the lines of an answer as they come.

Pure functions over plain values, shared by every way of sending. The official clients can't say all
that must be said: Python's drops `tool_call_id`, the ids of tool calls and unknown fields, and
knows neither `truncate` nor `shift`; the npm one skips lines that it can't read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ..core.errors import (
    ContextTruncatedError,
    ModelNotFoundError,
    ReplyBrokenOffError,
    ServerFailedError,
    TandemError,
    UnsupportedCapabilityError,
)
from ..core.messages import Message, ToolCall
from ..core.tokens import estimate_tokens
from ..core.values import JsonObject, JsonValue, canonical_json, whole_number
from .settings import ModelEntry

__all__ = [
    "Delta",
    "Durations",
    "Ending",
    "ReplyReader",
    "chat_request",
    "read_error",
    "server_error",
]


@dataclass(frozen=True, kw_only=True)
class Durations:
    """How long the server took, in nanoseconds, as far as it says."""

    total: int | None = None
    load: int | None = None
    prompt: int | None = None
    reply: int | None = None


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What the last line of an answer says.

    `done_reason` is `stop`, `length` (the answer was cut off) or another word of the server's.
    `prompt_tokens` is the whole prompt's size, what the prompt cache served included
    (`prompt_eval_count`), `reply_tokens` the answer's (`eval_count`).
    """

    done_reason: str | None = None
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    durations: Durations = field(default_factory=Durations)


@dataclass(frozen=True, kw_only=True)
class Delta:
    """What one line adds to the answer. `ending` is there on the last one alone."""

    content: str = ""
    thinking: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list[ToolCall])
    ending: Ending | None = None


def chat_request(
    entry: ModelEntry,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, object]] = (),
    format: Mapping[str, object] | str | None = None,  # noqa: A002 - Ollama's own name for it
) -> JsonObject:
    """Return the body of `POST /api/chat`.

    `num_ctx` is always in it, for the server's default depends on its memory. `truncate` and
    `shift` ask for an error instead of a prompt or an answer that lost its front unseen; servers
    that are too old for them ignore them.
    """
    body: JsonObject = {
        "model": entry.model,
        "messages": cast("list[JsonValue]", list(messages)),
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {**entry.options, "num_ctx": entry.num_ctx},
    }
    if entry.think is not None:
        body["think"] = entry.think
    if entry.keep_alive is not None:
        body["keep_alive"] = entry.keep_alive
    if tools:
        body["tools"] = cast("list[JsonValue]", list(tools))
    if format is not None:
        body["format"] = cast("JsonValue", format)
    return body


class ReplyReader:
    """Reads an answer from the bytes of its lines, cut anywhere.

    `feed` each piece as it comes and `finish` at its end; both return the deltas that became whole.
    `finish` raises `ReplyBrokenOffError` where the last line never came; a line that is no JSON
    object raises it at once, and one that says `error` what `server_error` makes of it.
    """

    def __init__(self, entry: ModelEntry, messages: Sequence[Message]) -> None:
        self._entry = entry
        self._messages = messages
        self._buffer = b""
        self._received = ""
        self._ended = False

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes and return the deltas of the lines that they complete."""
        # Lines end in \n alone: JSON texts may hold what else Python takes for a line's end.
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [self._read(line) for line in lines if line.strip()]

    def finish(self) -> list[Delta]:
        """Say that no more bytes come, and return the delta of a last line without an end."""
        rest = [self._read(self._buffer)] if self._buffer.strip() else []
        if not self._ended:
            raise self.broken_off()
        return rest

    def broken_off(self) -> ReplyBrokenOffError:
        """Return the error of an answer that ends here."""
        return ReplyBrokenOffError(self._received)

    def _read(self, line: bytes) -> Delta:
        try:
            fields: object = json.loads(line.decode(errors="replace"))
        except (ValueError, RecursionError) as error:
            raise self.broken_off() from error
        if not isinstance(fields, dict):
            raise self.broken_off()
        reply = cast("JsonObject", fields)
        if "error" in reply:
            raise server_error(200, reply["error"], self._entry, self._messages)
        message = reply.get("message")
        said = message if isinstance(message, dict) else {}
        delta = Delta(
            content=read_text(said.get("content")),
            thinking=read_text(said.get("thinking")),
            tool_calls=cast("list[ToolCall]", said.get("tool_calls") or []),
            ending=read_ending(reply) if reply.get("done") is True else None,
        )
        self._received += delta.content
        self._ended = delta.ending is not None
        return delta


def read_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def read_ending(reply: JsonObject) -> Ending:
    reason = reply.get("done_reason")
    return Ending(
        done_reason=reason if isinstance(reason, str) else None,
        prompt_tokens=whole_number(reply.get("prompt_eval_count")),
        reply_tokens=whole_number(reply.get("eval_count")),
        durations=Durations(
            total=whole_number(reply.get("total_duration")),
            load=whole_number(reply.get("load_duration")),
            prompt=whole_number(reply.get("prompt_eval_duration")),
            reply=whole_number(reply.get("eval_duration")),
        ),
    )


MISSING = re.compile("model .*not found", re.IGNORECASE | re.ASCII | re.DOTALL)
UNSUPPORTED = re.compile("does not support ([a-z]+)", re.IGNORECASE | re.ASCII)
TOO_LONG = re.compile(
    # The last is what a Qwen template says once the server has cut away the user's message.
    "exceed.*context|context.*exceed|no user query found",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)


MOST_DIGITS = 10

COUNTED = re.compile(r"(\d+) tokens", re.ASCII)
"""How llama.cpp says of a prompt that is too long how long it is; Ollama says nothing of it."""


def server_error(
    status: int, detail: JsonValue, entry: ModelEntry, messages: Sequence[Message]
) -> TandemError:
    """Return the error that the server's `status` and words mean.

    `messages` are those that were sent: where they were too long, the server's count is told, or
    their estimate, which is more than the context then.
    """
    words = detail if isinstance(detail, str) else canonical_json(detail)
    if status == 404 and MISSING.search(words):
        return ModelNotFoundError(entry.model, entry.host)
    unsupported = UNSUPPORTED.search(words)
    if unsupported:
        return UnsupportedCapabilityError(entry.model, unsupported[1].lower())
    if TOO_LONG.search(words):
        counted = [int(count) for count in COUNTED.findall(words) if len(count) < MOST_DIGITS]
        told = counted[0] if counted else sum(map(estimate_tokens, messages))
        return ContextTruncatedError(max(told, entry.num_ctx + 1), entry.num_ctx)
    return ServerFailedError(status, words)


def read_error(text: str) -> JsonValue:
    """Return what the body of an error says: Ollama's are `{"error": …}`."""
    try:
        fields: object = json.loads(text)
    except ValueError:
        return text
    return cast("JsonObject", fields).get("error", text) if isinstance(fields, dict) else text
