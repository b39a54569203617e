"""The stand-in for Ollama as a process: start, prompt cache, keep-alive, end, failing to start."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tandem_memory.embedded import EmbeddedServer, EmbeddedServerError
from tandem_memory.embedded.server import URL_LINE
from tandem_memory.embedded.weights import find_model

MODEL = "smollm2:135m"
COMMAND = [sys.executable, "-m", "tandem_memory.embedded", "--port", "0"]

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None,
        reason="the extra tandem-memory[embedded] is not installed",
    ),
]


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as server:
        yield server


def ask(server: EmbeddedServer, messages: list[dict[str, str]], **more: object) -> Any:
    options = {"num_predict": 3, "temperature": 0, "num_ctx": more.pop("num_ctx", 4096)}
    body = {"model": MODEL, "messages": messages, "stream": False, "options": options, **more}
    return httpx.post(f"{server.url}/api/chat", json=body, timeout=300).json()


def get(server: EmbeddedServer, path: str) -> Any:
    return httpx.get(f"{server.url}{path}", timeout=30).json()


def test_says_that_it_stands_in_with_which_model_and_how_to_get_the_real_one(
    server: EmbeddedServer,
) -> None:
    for words in ("not Ollama", MODEL, "https://ollama.com/download", "ollama pull qwen3:0.6b"):
        assert words in server.notice


def test_a_still_front_is_not_read_again_also_when_num_ctx_changes(server: EmbeddedServer) -> None:
    chat = [{"role": "system", "content": "Be kind. " * 40}, {"role": "user", "content": "Hi"}]
    first = ask(server, chat)
    chat += [first["message"], {"role": "user", "content": "And you?"}]
    second = ask(server, chat, num_ctx=2048)
    last = get(server, "/tandem/stats")["last"]
    assert second["prompt_eval_count"] == last["prompt_tokens"] > first["prompt_eval_count"]
    assert last["evaluated_tokens"] < 25
    assert [entry["context_length"] for entry in get(server, "/api/ps")["models"]] == [2048]


def test_a_changed_front_is_read_again(server: EmbeddedServer) -> None:
    rest = {"role": "user", "content": "Tell me a story. " * 20}
    ask(server, [{"role": "system", "content": "Be kind."}, rest])
    ask(server, [{"role": "system", "content": "Be rude."}, rest])
    last = get(server, "/tandem/stats")["last"]
    assert last["evaluated_tokens"] > last["prompt_tokens"] - 10


def test_keep_alive_zero_frees_the_model_and_the_next_request_loads_it(
    server: EmbeddedServer,
) -> None:
    ask(server, [{"role": "user", "content": "Hi"}], keep_alive=0)
    deadline = time.monotonic() + 10
    while get(server, "/api/ps")["models"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert get(server, "/api/ps")["models"] == []
    again = ask(server, [{"role": "user", "content": "Hi"}])
    assert (again["done"], again["prompt_eval_count"]) == (True, 10)
    assert [entry["name"] for entry in get(server, "/api/ps")["models"]] == [MODEL]


def test_pages_of_other_sites_are_kept_out(server: EmbeddedServer) -> None:
    headers = {"Host": "evil.example", "Origin": "https://evil.example"}
    reply = httpx.get(f"{server.url}/api/tags", headers=headers)
    assert reply.status_code == 400
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_in_order_on_a_signal(number: signal.Signals) -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert any(line.startswith(URL_LINE) for line in process.stdout)
            process.send_signal(number)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def test_ends_with_its_parent() -> None:
    with EmbeddedServer() as server:
        url = server.url
        assert get(server, "/api/tags")["models"][0]["name"] == MODEL
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_a_taken_port_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(EmbeddedServerError, match=rf"port {port} .*another with --port"):
            EmbeddedServer(port=port).__enter__()


def test_weights_that_cannot_be_loaded_are_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    with find_model(None).path.open("rb") as whole:
        path.write_bytes(whole.read(4_000_000))
    with pytest.raises(EmbeddedServerError, match=r"cannot load .*cut\.gguf"):
        EmbeddedServer(model=path).__enter__()
