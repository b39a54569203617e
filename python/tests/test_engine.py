"""The Ollama engine over real HTTP, with a server that does all that servers do.

Each test runs the plain and the async engine; twin: typescript/tests/engine.test.ts.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from loopback import Answer, Json, Loopback, said, whole
from tandem_memory import (
    AsyncOllamaEngine,
    ContextTruncatedError,
    Delta,
    Durations,
    Ending,
    Message,
    ModelEntry,
    ModelInfo,
    ModelNotFoundError,
    OllamaEngine,
    PullProgress,
    ReplyBrokenOffError,
    ServerFailedError,
    ServerUnreachableError,
    TandemError,
    UnsupportedCapabilityError,
    make_entry,
)

HI: list[Message] = [{"role": "user", "content": "hi"}]


@pytest.fixture
def server() -> Iterator[Loopback]:
    server = Loopback(shows=True)
    yield server
    server.close()


class Plain:
    """The plain engine, called as the async one is."""

    def __init__(self, entry: ModelEntry) -> None:
        self._engine = OllamaEngine(entry)

    def all(self, name: str, *args: Any, **options: Any) -> list[Any]:
        return list(getattr(self._engine, name)(*args, **options))

    def one(self, name: str) -> Any:
        return getattr(self._engine, name)()

    def leave(self, messages: Sequence[Message]) -> Delta:
        stream = self._engine.stream(messages)
        first = next(stream)
        stream.close()
        return first


class Async:
    """The async engine, called from a program that is not."""

    def __init__(self, entry: ModelEntry) -> None:
        self._entry = entry

    def all(self, name: str, *args: Any, **options: Any) -> list[Any]:
        async def run() -> list[Any]:
            engine = AsyncOllamaEngine(self._entry)
            return [each async for each in getattr(engine, name)(*args, **options)]

        return asyncio.run(run())

    def one(self, name: str) -> Any:
        async def run() -> Any:
            return await getattr(AsyncOllamaEngine(self._entry), name)()

        return asyncio.run(run())

    def leave(self, messages: Sequence[Message]) -> Delta:
        async def run() -> Delta:
            stream = AsyncOllamaEngine(self._entry).stream(messages)
            first = await anext(stream)
            await stream.aclose()
            return first

        return asyncio.run(run())


Make = Callable[..., Plain | Async]


@pytest.fixture(params=[Plain, Async])
def make(request: pytest.FixtureRequest, server: Loopback) -> Make:
    def make(**settings: Json) -> Plain | Async:
        return request.param(make_entry("t", {"model": "m:1", "host": server.url, **settings}))

    return make


def test_stream_yields_what_the_lines_add(server: Loopback, make: Make) -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": {"at": 1}}}
    server.answers = [
        Answer(
            [
                {"message": {"content": "", "thinking": "hm"}, "done": False},
                {"message": {"content": "Hi", "tool_calls": [call]}, "done": False},
                {
                    "message": {"content": ""},
                    "done": True,
                    "done_reason": "stop",
                    "total_duration": 9,
                    "load_duration": 1,
                    "prompt_eval_count": 11,
                    "prompt_eval_duration": 3,
                    "eval_count": 2,
                    "eval_duration": 5,
                },
            ]
        )
    ]
    durations = Durations(total=9, load=1, prompt=3, reply=5)
    ending = Ending(done_reason="stop", prompt_tokens=11, reply_tokens=2, durations=durations)
    assert make().all("stream", HI) == [
        Delta(thinking="hm"),
        Delta(content="Hi", tool_calls=[call]),  # pyright: ignore[reportArgumentType]
        Delta(ending=ending),
    ]


def test_request_says_all_that_the_clients_leave_out(server: Loopback, make: Make) -> None:
    server.answers = [whole("ok")]
    messages: list[Message] = [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": {}}}],
        },
        {"role": "tool", "content": "a cat", "tool_call_id": "c1", "tool_name": "look"},
    ]
    tools = [{"type": "function", "function": {"name": "look"}}]
    make(num_ctx=4096, options={"seed": 1}, think=True, keep_alive="1m").all(
        "stream", messages, tools=tools, format={"type": "object"}
    )
    assert server.requests == [
        (
            "/api/chat",
            {
                "model": "m:1",
                "messages": messages,
                "stream": True,
                "truncate": False,
                "shift": False,
                "options": {"seed": 1, "num_ctx": 4096},
                "think": True,
                "keep_alive": "1m",
                "tools": tools,
                "format": {"type": "object"},
            },
        )
    ]


def test_text_is_the_same_however_its_bytes_are_cut(server: Loopback, make: Make) -> None:
    lines = '{"message":{"content":"ж你\x85🦊"}}\r\n\n{"message":{"content":"."},"done":true}'
    data = lines.encode()
    server.answers = [Answer([data[i : i + 1] for i in range(len(data))])]
    assert [delta.content for delta in make().all("stream", HI)] == ["ж你\x85🦊", "."]


def test_leaving_the_stream_closes_the_connection(server: Loopback, make: Make) -> None:
    server.answers = [Answer(said("Once"), end="stall")]
    assert make().leave(HI) == Delta(content="Once")
    assert server.hung_up.wait(5)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(said("Once"), end="cut"),
        Answer(said("Once"), end="reset"),
        Answer([*said("Once"), '{"message":{"con'], end="cut"),
        Answer([*said("Once"), '{"message":{"con']),
        Answer(said("Once")),
        Answer([*said("Once"), "no JSON\n", *said("upon")]),
        Answer([*said("Once"), "[]\n"]),
    ],
    ids=["cut", "reset", "cut in a line", "ends in a line", "no ending", "no JSON", "no object"],
)
def test_server_that_breaks_off(server: Loopback, make: Make, answer: Answer) -> None:
    server.answers = [answer]
    with pytest.raises(ReplyBrokenOffError) as caught:
        make().all("stream", HI)
    assert caught.value.received == "Once"


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (404, "model 'm:1' not found", ModelNotFoundError),
        (400, '"m:1" does not support thinking', UnsupportedCapabilityError),
        (400, '"m:1" does not support tools', UnsupportedCapabilityError),
        (400, "the input length exceeds the context length", ContextTruncatedError),
        (500, "boom", ServerFailedError),
        (200, "llama runner process has terminated", ServerFailedError),
    ],
)
def test_errors_are_told_apart(
    server: Loopback, make: Make, status: int, words: str, expected: type[TandemError]
) -> None:
    server.answers = [Answer([{"error": words}], status)]
    with pytest.raises(expected) as caught:
        make().all("stream", HI)
    if isinstance(caught.value, ServerFailedError):
        assert caught.value.data == {"status": status, "detail": words}


@pytest.mark.parametrize(
    ("status", "words"), [(404, "404 page not found"), (502, "<p>"), (500, "")]
)
def test_error_that_is_not_ollamas_is_quoted(
    server: Loopback, make: Make, status: int, words: str
) -> None:
    server.answers = [Answer([words] if words else [], status)]
    with pytest.raises(ServerFailedError) as caught:
        make().all("stream", HI)
    assert caught.value.data == {"status": status, "detail": words}


@pytest.mark.parametrize("name", ["stream", "pull", "models", "show"])
def test_missing_server_is_told(make: Make, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"http://127.0.0.1:{free.getsockname()[1]}"
    engine = make(host=host)
    with pytest.raises(ServerUnreachableError) as caught:
        engine.all(name, HI) if name == "stream" else (
            engine.all(name) if name == "pull" else engine.one(name)
        )
    assert caught.value.host == host


def test_server_that_says_nothing_is_missing(server: Loopback, make: Make) -> None:
    server.answers = [Answer(end="silent")]
    with pytest.raises(ServerUnreachableError):
        make().all("stream", HI)


def test_no_proxy_stands_before_loopback(
    server: Loopback, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.answers = [whole("ok")]
    assert make().all("stream", HI)[0] == Delta(content="ok")


def test_pull_tells_its_progress(server: Loopback, make: Make) -> None:
    parts = [{"status": "pulling a", "total": 10, "completed": 5}, {"status": "success"}]
    server.answers = [Answer(parts)]
    assert make().all("pull") == [
        PullProgress(status="pulling a", completed=5, total=10),
        PullProgress(status="success"),
    ]
    path, body = server.requests[0]
    assert (path, body["stream"]) == ("/api/pull", True)
    assert body.get("model", body.get("name")) == "m:1"


@pytest.mark.parametrize(
    "answer",
    [
        Answer([{"status": "pulling a"}, {"error": "no space left"}]),
        Answer([{"status": "pulling a"}]),
        Answer([{"error": "pull model manifest: file does not exist"}], 500),
    ],
    ids=["error line", "no success", "status"],
)
def test_pull_that_fails_is_told(server: Loopback, make: Make, answer: Answer) -> None:
    server.answers = [answer]
    with pytest.raises(ServerFailedError):
        make().all("pull")


def test_models_and_show(server: Loopback, make: Make) -> None:
    info = {"general.architecture": "qwen3", "qwen3.context_length": 40960}
    server.answers = [
        Answer([{"models": [{"name": "a:1", "model": "a:1"}, {"name": "b:1", "model": "b:1"}]}]),
        Answer([{"model_info": info, "capabilities": ["completion", "tools"]}]),
        Answer([{"model_info": {}}]),
        Answer([{"error": "model 'm:1' not found"}], 404),
    ]
    engine = make()
    assert engine.one("models") == ["a:1", "b:1"]
    expected = ModelInfo(context_length=40960, capabilities=["completion", "tools"])
    assert engine.one("show") == expected
    assert engine.one("show") == ModelInfo(context_length=None)
    with pytest.raises(ModelNotFoundError):
        engine.one("show")


@pytest.mark.parametrize("name", ["models", "show"])
def test_what_is_no_ollama_is_told(server: Loopback, make: Make, name: str) -> None:
    server.answers = [Answer(["<html>Welcome</html>"])]
    with pytest.raises(ServerFailedError):
        make().one(name)
