"""The routes of Ollama's HTTP API that its official clients use for chat, models and embeddings."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from .chat import ChatRequest, answer, load, read_chat
from .embed import embed, read_texts
from .engine import Finish
from .replies import CancelOnDisconnect, Json, NdJson
from .residency import Residency
from .weights import Model, normalize_name
from .wire import ApiError, Fields

# The API level stood in for, marked (as semantic versions allow) as not being Ollama itself.
VERSION = "0.17.4+tandem-memory"
GET_THE_REAL_ONE = "install Ollama (https://ollama.com/download) and run `ollama pull qwen3:0.6b`"
_UNNAMED = "unqualified name: registry.ollama.ai/library/!MISSING!:latest"
_HTTP_ERRORS = {404: "page not found", 405: "method not allowed"}
_LOCAL_ORIGINS = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


@dataclass(slots=True)
class Stats:
    """What the engine did for chats since the start, in tokens, and the same of the last one."""

    requests: int = 0
    prompt_tokens: int = 0
    evaluated_tokens: int = 0
    answer_tokens: int = 0
    last: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, finish: Finish) -> None:
        """Count one finished answer."""
        self.requests += 1
        self.prompt_tokens += finish.prompt_tokens
        self.evaluated_tokens += finish.evaluated
        self.answer_tokens += finish.answer_tokens
        self.last = {
            "prompt_tokens": finish.prompt_tokens,
            "evaluated_tokens": finish.evaluated,
            "answer_tokens": finish.answer_tokens,
        }


class Api:
    """The handlers, over one model and its residency."""

    def __init__(self, model: Model, residency: Residency) -> None:
        self._model = model
        self._residency = residency
        self._stats = Stats()

    def app(self) -> Starlette:
        """The web application. Only pages and programs of this machine may use it, as in Ollama."""
        return Starlette(
            routes=[
                Route("/", self._running),
                Route("/api/version", self._version),
                Route("/api/tags", self._tags),
                Route("/api/ps", self._ps),
                Route("/api/show", self._show, methods=["POST"]),
                Route("/api/pull", self._pull, methods=["POST"]),
                Route("/api/chat", self._chat, methods=["POST"]),
                Route("/api/embed", self._embed, methods=["POST"]),
                Route("/tandem/stats", self._tandem_stats),
            ],
            middleware=[
                Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
                Middleware(
                    CORSMiddleware,
                    allow_origin_regex=_LOCAL_ORIGINS,
                    allow_methods=["*"],
                    allow_headers=["*"],
                ),
                Middleware(CancelOnDisconnect),
            ],
            exception_handlers={ApiError: _api_error, HTTPException: _http_error},
        )

    async def _running(self, _request: Request) -> Response:
        return PlainTextResponse("Ollama is running")

    async def _version(self, _request: Request) -> Response:
        return Json({"version": VERSION})

    async def _tags(self, _request: Request) -> Response:
        model = self._model
        entry = {
            "name": model.name,
            "model": model.name,
            "modified_at": model.modified,
            "size": model.bytes,
            "digest": model.digest,
            "details": model.details(),
        }
        return Json({"models": [entry]})

    async def _ps(self, _request: Request) -> Response:
        return Json({"models": self._residency.loaded()})

    async def _show(self, request: Request) -> Response:
        fields = Fields.parse(await request.body(), "ShowRequest")
        name = fields.text("model") or fields.text("name")
        if not name:
            raise ApiError(400, "model is required")
        if normalize_name(name) != self._model.name:
            raise ApiError(404, f"model '{name}' not found")
        return Json(self._model.card())

    async def _pull(self, request: Request) -> Response:
        fields = Fields.parse(await request.body(), "PullRequest")
        name = normalize_name(fields.text("model") or fields.text("name"))
        if name is None:
            raise ApiError(400, "invalid model name")
        lines = self._pull_lines(name)
        if fields.flag("stream", default=True):
            return NdJson(await anext(lines), lines)
        return Json([line async for line in lines][-1])

    async def _pull_lines(self, name: str) -> AsyncGenerator[Mapping[str, object], None]:
        yield {"status": "pulling manifest"}
        if name != self._model.name:
            alone = f"this server stands in for Ollama and has {self._model.name} alone"
            raise ApiError(500, f"pull model manifest: {alone}; to get others, {GET_THE_REAL_ONE}")
        yield {"status": "success"}

    async def _chat(self, request: Request) -> Response:
        started = time.monotonic()
        chat = read_chat(await request.body())
        self._admit(chat)
        if not chat.messages:
            return Json(await load(chat, self._residency))
        lines = self._chat_lines(chat, started)
        if chat.stream:
            return NdJson(await anext(lines), lines)
        return Json(await _joined(lines))

    def _admit(self, chat: ChatRequest) -> None:
        name = normalize_name(chat.model)
        if name is None:
            raise ApiError(400, "model is required")
        if name != self._model.name:
            raise ApiError(404, f"model '{chat.model}' not found")
        if chat.think:
            raise ApiError(400, f'"{chat.model}" does not support thinking')
        if chat.has_tools:
            raise ApiError(400, f"registry.ollama.ai/library/{name} does not support tools")

    async def _chat_lines(
        self, chat: ChatRequest, started: float
    ) -> AsyncGenerator[Mapping[str, object], None]:
        lines = answer(chat, self._residency, started)
        async with aclosing(lines):
            async for line in lines:
                if isinstance(line, Finish):
                    self._stats.add(line)
                else:
                    yield line

    async def _embed(self, request: Request) -> Response:
        started = time.monotonic()
        fields = Fields.parse(await request.body(), "EmbedRequest")
        texts = read_texts(fields.values.get("input"))
        name = fields.text("model")
        if not name:
            raise ApiError(500, _UNNAMED)
        if normalize_name(name) != self._model.name:
            raise ApiError(404, f'model "{name}" not found, try pulling it first')
        return Json(await embed(fields, texts, self._residency, started))

    async def _tandem_stats(self, _request: Request) -> Response:
        """Not Ollama's: what was read again, which its API tells by durations alone."""
        return Json({"model": self._model.name, **asdict(self._stats)})


async def _joined(lines: AsyncGenerator[Mapping[str, object], None]) -> Mapping[str, object]:
    """One response of a stream's: its last line with the text of all."""
    texts: list[str] = []
    last: Mapping[str, object] = {}
    async with aclosing(lines):
        async for line in lines:
            last = line
            texts.append(cast("dict[str, str]", line["message"])["content"])
    return {**last, "message": {"role": "assistant", "content": "".join(texts)}}


async def _api_error(_request: Request, error: Exception) -> Response:
    failure = cast("ApiError", error)
    return Json({"error": failure.message}, status_code=failure.status)


async def _http_error(_request: Request, error: Exception) -> Response:
    failure = cast("HTTPException", error)
    text = _HTTP_ERRORS.get(failure.status_code, failure.detail)
    return PlainTextResponse(
        f"{failure.status_code} {text}", status_code=failure.status_code, headers=failure.headers
    )
