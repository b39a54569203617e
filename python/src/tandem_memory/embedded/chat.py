"""`/api/chat`: what a request asks for, and the objects that answer it."""

import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from .engine import Finish
from .format import read_format
from .options import Options, read_options
from .prompt import Message, render, render_within
from .residency import Residency
from .weights import timestamp
from .wire import ApiError, Fields

_LEVELS = ("high", "medium", "low")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """The body of a chat request. `options` and `format` are read later, where Ollama does."""

    model: str
    messages: list[Message]
    stream: bool
    think: bool
    has_tools: bool
    truncate: bool
    shift: bool
    keep_alive: float | None
    options: Mapping[str, object]
    format: object


def read_chat(body: bytes) -> ChatRequest:
    """Read a request; `ApiError` 400 in the words of Ollama's decoder where it can't be read."""
    fields = Fields.parse(body, "ChatRequest")
    return ChatRequest(
        model=fields.text("model"),
        messages=_messages(fields),
        stream=fields.flag("stream", default=True),
        think=_think(fields.values.get("think")),
        has_tools=bool(fields.children("tools", "api.Tools", "api.Tool")),
        truncate=fields.flag("truncate", default=True),
        shift=fields.flag("shift", default=True),
        keep_alive=fields.seconds("keep_alive"),
        options=fields.mapping("options"),
        format=fields.values.get("format"),
    )


async def answer(
    request: ChatRequest, residency: Residency, started: float
) -> AsyncGenerator[Mapping[str, object] | Finish, None]:
    """The response objects of an answer, its text piece by piece, and at the end its `Finish`.

    `started` is the `time.monotonic` of the request's arrival. Ollama also ends a stream without
    a last line when a model repeats one token 30 times; here such an answer runs to its limit.
    """
    options = read_options(request.options)
    async with residency.engine(options, request.keep_alive) as engine:
        loaded = time.monotonic()
        prompt = (
            await render_within(request.messages, options.num_ctx, engine.count)
            if request.truncate
            else render(request.messages)
        )
        pieces = engine.answer(
            prompt,
            options,
            grammar=read_format(request.format),
            truncate=request.truncate,
            may_shift=request.shift,
        )
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, str):
                    yield _response(request, content=piece, done=False)
                    continue
                yield _response(request, done=True, done_reason=piece.reason) | _metrics(
                    piece, total=time.monotonic() - started, load=loaded - started
                )
                yield piece


async def load(request: ChatRequest, residency: Residency) -> Mapping[str, object]:
    """The answer to a request without messages, which loads the model or frees it."""
    if request.keep_alive == 0:
        await residency.unload()
        return _response(request, done=True, done_reason="unload")
    options: Options = read_options(request.options)
    async with residency.engine(options, request.keep_alive):
        return _response(request, done=True, done_reason="load")


def _response(
    request: ChatRequest, *, done: bool, content: str = "", **more: object
) -> dict[str, object]:
    return {
        "model": request.model,
        "created_at": timestamp(datetime.now(UTC)),
        "message": {"role": "assistant", "content": content},
        "done": done,
        **more,
    }


def _metrics(finish: Finish, *, total: float, load: float) -> dict[str, object]:
    """Counts, and durations in nanoseconds. What is 0 is left out, as in Ollama."""
    values = {
        "total_duration": int(total * 1e9),
        "load_duration": int(load * 1e9),
        "prompt_eval_count": finish.prompt_tokens,
        "prompt_eval_duration": int(finish.prompt_ms * 1e6),
        "eval_count": finish.answer_tokens,
        "eval_duration": int(finish.answer_ms * 1e6),
    }
    return {name: value for name, value in values.items() if value}


def _messages(fields: Fields) -> list[Message]:
    messages: list[Message] = []
    images = 0
    for message in fields.children("messages", "[]api.Message", "api.Alias"):
        _check_tool_calls(message)
        content = message.text("content")
        pictures = [_check_base64(image) for image in message.items("images", "[]api.ImageData")]
        # Ollama leaves the marks of images in the text, also for a model that cannot see.
        marks = "".join(f"[img-{images + n}]" for n in range(len(pictures)))
        images += len(pictures)
        messages.append(Message(message.text("role").lower(), marks + content))
    return messages


def _check_tool_calls(message: Fields) -> None:
    for call in message.children("tool_calls", "[]api.ToolCall", "api.ToolCall"):
        arguments = Fields(call.name, call.mapping("function")).values.get("arguments")
        if not isinstance(arguments, dict | None):
            raise ApiError(400, "Value looks like object, but can't find closing '}' symbol")


def _check_base64(image: object) -> str:
    text = image if isinstance(image, str) else ""
    match = _BASE64.match(text)
    end = match.end() if match else 0
    if end != len(text) or len(text) % 4:
        raise ApiError(400, f"illegal base64 data at input byte {end}")
    return text


def _think(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    allowed = '"high", "medium", "low", true, or false)'
    if not isinstance(value, str):
        raise ApiError(400, f"think must be a boolean or string ({allowed}")
    if value not in _LEVELS:
        raise ApiError(400, f'invalid think value: "{value}" (must be {allowed}')
    return True
