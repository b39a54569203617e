"""Engines: what a model must offer to be chatted with, and Ollama.

An engine stands for one model entry. Each has the same members as a plain and as an async class;
they differ in how they wait, and all that they know is in `wire`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
import ollama

from ..core.errors import ServerFailedError, ServerUnreachableError
from ..core.messages import Message
from ..core.values import JsonObject, whole_number
from .settings import ModelEntry
from .wire import Delta, ReplyReader, chat_request, read_error, server_error

__all__ = [
    "AsyncEngine",
    "AsyncOllamaEngine",
    "Engine",
    "ModelInfo",
    "OllamaEngine",
    "PullProgress",
]


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """What a model is: its whole context in tokens, and what it can do (`tools`, `thinking`, …)."""

    context_length: int | None
    capabilities: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, kw_only=True)
class PullProgress:
    """How far a pull is: `completed` of `total` bytes of the part that `status` names."""

    status: str
    completed: int | None = None
    total: int | None = None


class Engine(Protocol):
    """What a model must offer. All that goes wrong is raised as a `TandemError`."""

    @property
    def entry(self) -> ModelEntry:
        """The model and its settings."""
        ...

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        format: Mapping[str, object] | str | None = None,  # noqa: A002 - Ollama's own name for it
        entry: ModelEntry | None = None,
    ) -> Generator[Delta]:
        """Send `messages` and yield the answer as it comes; the last delta has the `ending`.

        `tools`, `format`: as in Ollama's API. `entry`: the settings where this answer has others.
        Closing the generator closes the connection. Raises `ReplyBrokenOffError` where the server
        ends without an ending.
        """
        ...

    def pull(self) -> Generator[PullProgress]:
        """Fetch the model onto the server and yield how far it is."""
        ...

    def models(self) -> list[str]:
        """Return the names of the models on the server."""
        ...

    def show(self) -> ModelInfo:
        """Return what the model is, or raise `ModelNotFoundError`."""
        ...


class AsyncEngine(Protocol):
    """`Engine` for async programs."""

    @property
    def entry(self) -> ModelEntry:
        """The model and its settings."""
        ...

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        format: Mapping[str, object] | str | None = None,  # noqa: A002 - Ollama's own name for it
        entry: ModelEntry | None = None,
    ) -> AsyncGenerator[Delta]:
        """See `Engine.stream`."""
        ...

    def pull(self) -> AsyncGenerator[PullProgress]:
        """See `Engine.pull`."""
        ...

    async def models(self) -> list[str]:
        """See `Engine.models`."""
        ...

    async def show(self) -> ModelInfo:
        """See `Engine.show`."""
        ...


class OllamaEngine:
    """A model on an Ollama server, through the official client. It tries nothing twice."""

    def __init__(self, entry: ModelEntry) -> None:
        self.entry = entry
        self._client = Client(entry.host, **connection(entry.host))

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        format: Mapping[str, object] | str | None = None,  # noqa: A002
        entry: ModelEntry | None = None,
    ) -> Generator[Delta]:
        """Send `messages` and yield the answer as it comes; see `Engine.stream`."""
        entry = entry or self.entry
        body = chat_request(entry, messages, tools=tools, format=format)
        reader = ReplyReader(entry, messages)
        with client_errors(entry, messages), self._client.send_chat(body) as response:
            if response.is_error:
                response.read()
            response.raise_for_status()
            with breaking_off(reader):
                for piece in response.iter_bytes():
                    yield from reader.feed(piece)
            yield from reader.finish()

    def pull(self) -> Generator[PullProgress]:
        """Fetch the model onto the server and yield how far it is."""
        with client_errors(self.entry):
            progress = None
            for progress in self._client.pull(self.entry.model, stream=True):
                yield read_progress(progress)
            check_pulled(progress)

    def models(self) -> list[str]:
        """Return the names of the models on the server."""
        with client_errors(self.entry):
            return read_names(self._client.list())

    def show(self) -> ModelInfo:
        """Return what the model is, or raise `ModelNotFoundError`."""
        with client_errors(self.entry):
            return read_info(self._client.show(self.entry.model))


class AsyncOllamaEngine:
    """`OllamaEngine` for async programs."""

    def __init__(self, entry: ModelEntry) -> None:
        self.entry = entry
        self._client = AsyncClient(entry.host, **connection(entry.host))

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        format: Mapping[str, object] | str | None = None,  # noqa: A002
        entry: ModelEntry | None = None,
    ) -> AsyncGenerator[Delta]:
        """Send `messages` and yield the answer as it comes; see `Engine.stream`."""
        entry = entry or self.entry
        body = chat_request(entry, messages, tools=tools, format=format)
        reader = ReplyReader(entry, messages)
        with client_errors(entry, messages):
            async with self._client.send_chat(body) as response:
                if response.is_error:
                    await response.aread()
                response.raise_for_status()
                with breaking_off(reader):
                    async for piece in response.aiter_bytes():
                        for delta in reader.feed(piece):
                            yield delta
                for delta in reader.finish():
                    yield delta

    async def pull(self) -> AsyncGenerator[PullProgress]:
        """Fetch the model onto the server and yield how far it is."""
        with client_errors(self.entry):
            progress = None
            async for progress in await self._client.pull(self.entry.model, stream=True):
                yield read_progress(progress)
            check_pulled(progress)

    async def models(self) -> list[str]:
        """Return the names of the models on the server."""
        with client_errors(self.entry):
            return read_names(await self._client.list())

    async def show(self) -> ModelInfo:
        """Return what the model is, or raise `ModelNotFoundError`."""
        with client_errors(self.entry):
            return read_info(await self._client.show(self.entry.model))


class Client(ollama.Client):
    """The official client, with the chat request sent as it is."""

    _client: httpx.Client

    def send_chat(self, body: JsonObject) -> AbstractContextManager[httpx.Response]:
        return self._client.stream("POST", "/api/chat", json=body)


class AsyncClient(ollama.AsyncClient):
    """The official async client, with the chat request sent as it is."""

    _client: httpx.AsyncClient

    def send_chat(self, body: JsonObject) -> AbstractAsyncContextManager[httpx.Response]:
        return self._client.stream("POST", "/api/chat", json=body)


@contextmanager
def client_errors(entry: ModelEntry, messages: Sequence[Message] = ()) -> Generator[None]:
    """Turn what the client and its HTTP library raise into this package's errors."""
    try:
        yield
    except ollama.ResponseError as error:
        # In mid-stream the client knows no status: the answer had begun with 200.
        status = 200 if error.status_code < 0 else error.status_code
        raise server_error(status, error.error, entry, messages) from error
    except httpx.HTTPStatusError as error:
        detail = read_error(error.response.text)
        raise server_error(error.response.status_code, detail, entry, messages) from error
    except (httpx.RequestError, ConnectionError) as error:
        raise ServerUnreachableError(entry.host) from error
    except ValueError as error:
        raise ServerFailedError(200, f"no reply of Ollama's ({error})") from error


@contextmanager
def breaking_off(reader: ReplyReader) -> Generator[None]:
    """Say of a connection that ends early how far the answer had come."""
    try:
        yield
    except httpx.RequestError as error:
        raise reader.broken_off() from error


def connection(host: str) -> dict[str, Any]:
    """Return how the client connects: no proxy stands before loopback, and nothing is kept open.

    A kept connection would belong to one event loop, and would outlive an engine nobody closes.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    return {"trust_env": not is_loopback(host), "limits": limits}


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    name = urlsplit(host).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def read_progress(progress: ollama.ProgressResponse) -> PullProgress:
    return PullProgress(
        status=progress.status or "", completed=progress.completed, total=progress.total
    )


def check_pulled(last: ollama.ProgressResponse | None) -> None:
    if not last or last.status != "success":
        raise ServerFailedError(200, "the pull ended before it was complete")


def read_names(listed: ollama.ListResponse) -> list[str]:
    return [model.model for model in listed.models if model.model]


def read_info(shown: ollama.ShowResponse) -> ModelInfo:
    info: Mapping[str, object] = shown.modelinfo or {}
    length = whole_number(info.get(f"{info.get('general.architecture')}.context_length"))
    capabilities = [str(each) for each in shown.capabilities or []]
    return ModelInfo(context_length=length, capabilities=capabilities)
