"""The embedded server and a true Ollama answer the same requests alike, through Ollama's client.

Twin: typescript/tests/conformance.test.ts. Both run shared-fixtures/conformance/requests.json
against TANDEM_EMBEDDED_URL (else a server of their own) and, where it is set, TANDEM_OLLAMA_URL.
"""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import ollama
import pytest

from tandem_memory.embedded import EmbeddedServer
from tandem_memory.embedded.weights import find_model

FILE = Path(__file__).parents[2] / "shared-fixtures" / "conformance" / "requests.json"
LIST: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
REQUESTS: dict[str, dict[str, Any]] = {request["id"]: request for request in LIST["requests"]}
OLLAMA_URL = os.environ.get("TANDEM_OLLAMA_URL")
SERVERS = ["embedded", "ollama"] if OLLAMA_URL else ["embedded"]

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None,
        reason="the extra tandem-memory[embedded] is not installed",
    ),
]


@dataclass
class Exchange:
    """What came over the wire for a request."""

    status: int = 0
    type: str = ""
    text: str = ""


class Recorder(httpx.HTTPTransport):
    """Sends requests for the client and keeps what came back."""

    last = Exchange()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        media_type = response.headers.get("content-type", "").partition(";")[0]
        self.last = Exchange(response.status_code, media_type)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = Kept(response.stream, self.last)
        return response


class Kept(httpx.SyncByteStream):
    """A body that is kept as text while it is read."""

    def __init__(self, stream: httpx.SyncByteStream, exchange: Exchange) -> None:
        self.stream = stream
        self.exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.stream:
            self.exchange.text += chunk.decode()
            yield chunk

    def close(self) -> None:
        self.stream.close()


class Server:
    """A server as seen by the official client."""

    def __init__(self, url: str) -> None:
        self.recorder = Recorder()
        self.client = ollama.Client(url, transport=self.recorder, timeout=300)
        self.http = httpx.Client(base_url=url, transport=self.recorder, timeout=300)

    def send(self, request: dict[str, Any]) -> object:
        """Send a request; return what the client makes of it, or the error that it raises."""
        call, body = request["call"], expand(request.get("body"))
        if " " in call:
            method, path = call.split(" ")
            content = body if isinstance(body, str) or body is None else json.dumps(body)
            return self.http.request(method, path, content=content)
        try:
            result = getattr(self.client, call)(**(body or {}))
            return list(cast("Iterator[object]", result))[-1] if hasattr(result, "send") else result
        except ollama.ResponseError as error:
            return error

    def hang_up(self, request: dict[str, Any], lines: int) -> None:
        """Send a request, read so many lines of its answer (0: wait half a second), and go."""
        body = expand(request["body"])
        if lines:
            stream = cast("Any", self.client).chat(**body)
            assert [next(stream)["done"] for _ in range(lines)] == [False] * lines
            stream.close()
            return
        with pytest.raises(httpx.ReadTimeout):
            self.http.post(request["call"].split(" ")[1], json=body, timeout=0.5)


@pytest.fixture(scope="session", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with ExitStack() as stack:
        if request.param == "ollama":
            url = OLLAMA_URL or ""
        elif not (url := os.environ.get("TANDEM_EMBEDDED_URL", "")):
            url = stack.enter_context(EmbeddedServer()).url
        server = Server(url)
        stack.callback(server.recorder.close)
        if request.param == "ollama":
            create_model(server.client)
        yield server


def create_model(client: ollama.Client) -> None:
    """Have the embedded server's own weights in Ollama; they stay there for the twin."""
    model = find_model(None)
    if model.name not in {entry.model for entry in client.list().models}:
        client.create_blob(model.path)
        client.create(model.name, files={model.path.name: f"sha256:{model.digest}"})


@pytest.mark.parametrize("id_", REQUESTS)
def test_answers_as_recorded(server: Server, id_: str) -> None:
    request = REQUESTS[id_]
    expected = request["expect"]
    if "lines" in expected:
        server.hang_up(request, expected["lines"])
        started = time.monotonic()
        server.send(REQUESTS["chat-answers-at-once"])
        assert server.recorder.last.status == 200
        assert time.monotonic() - started < 30
        return
    result = server.send(request)
    got = server.recorder.last
    assert (got.status, got.type) == (expected["status"], expected["type"])
    if "text" in expected:
        assert got.text == expected["text"]
        return
    lines = [json.loads(line) for line in got.text.splitlines()]
    if "error" in expected or "error_starts" in expected:
        check_error(expected, lines[-1], result)
    else:
        check_answer(expected, lines, result)


def check_error(expected: dict[str, Any], line: dict[str, Any], result: object) -> None:
    assert list(line) == ["error"]
    assert line["error"] == expected.get("error", line["error"])
    assert line["error"].startswith(expected.get("error_starts", ""))
    if isinstance(result, ollama.ResponseError):
        assert (result.status_code, result.error) == (expected["status"], line["error"])


def check_answer(expected: dict[str, Any], lines: list[Any], result: Any) -> None:
    shapes = LIST["shapes"]
    *earlier, last = lines
    assert shapes[expected["shape"]] == {k: v for k, v in shape(last).items() if k not in LARGE}
    assert bool(earlier) == ("line_shape" in expected)
    for line in earlier:
        assert shape(line) == shapes[expected["line_shape"]]
    values = expected.get("values", {})
    assert {path: find(last, path) for path in values} == values
    if isinstance(result, ollama.ChatResponse):
        assert {key: result[key] for key in values} == values
    for key, check in CHECKS.items():
        if key in expected:
            check(last, expected[key])


def check_content_keys(last: dict[str, Any], keys: list[str]) -> None:
    assert list(json.loads(last["message"]["content"])) == keys


def check_content_without(last: dict[str, Any], text: str) -> None:
    assert text not in last["message"]["content"]


def check_min_eval_count(last: dict[str, Any], count: int) -> None:
    assert last["eval_count"] >= count


def check_embeddings(last: dict[str, Any], lengths: list[int]) -> None:
    assert [len(embedding) for embedding in last["embeddings"]] == lengths
    for embedding in last["embeddings"]:
        assert sum(number * number for number in embedding) == pytest.approx(1, abs=1e-4)


CHECKS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "content_keys": check_content_keys,
    "content_without": check_content_without,
    "min_eval_count": check_min_eval_count,
    "embeddings": check_embeddings,
}
# Parts of an answer whose single fields are the model's own.
LARGE = {"model_info", "tensors"}


def expand(value: Any) -> Any:
    """A body with its short forms written out."""
    if isinstance(value, list):
        return [expand(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    parts = cast("dict[str, Any]", value)
    if "alternating" in parts:
        return alternating(parts["alternating"])
    if "repeated" in parts:
        return parts["repeated"] * parts["times"]
    return {key: expand(item) for key, item in parts.items()}


def alternating(pairs: int) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": "Be brief."}]
    for i in range(pairs):
        messages.append({"role": "user", "content": f"Say number {i} please"})
        messages.append({"role": "assistant", "content": f"The number is {i}."})
    return [*messages, {"role": "user", "content": "Next?"}]


def shape(value: Any) -> Any:
    """The kinds of a JSON value's parts."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return "array" if not items or isinstance(items[0], list) else [shape(items[0])]
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "null"


def find(value: Any, path: str) -> Any:
    """The part at a dotted path; a key may have dots of its own."""
    if path in value:
        return value[path]
    key, _, rest = path.partition(".")
    return find(value[key], rest)
