"""An Ollama of a few lines, which does what the question says, to test the terminal programs."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, cast

__all__ = ["FakeOllama", "fake_ollama"]

SUMMARY = "Below is a conversation. Write a summary of it"
"""How the request for a summary begins."""


class FakeOllama(ThreadingHTTPServer):
    """Serves the models in `models`; `asked` holds the messages of each question.

    `summaries`: the requests for summaries; each gets the same one, and never an end where somebody
    says "slowly" in the conversation.
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.models = ["qwen3:0.6b", "qwen3:4b"]
        self.asked: list[list[dict[str, Any]]] = []
        self.summaries: list[str] = []

    @property
    def port(self) -> int:
        """The port that it listens to."""
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away is what the tests are about."""


@contextlib.contextmanager
def fake_ollama(port: int = 0) -> Generator[FakeOllama]:
    """Serve for the block."""
    with FakeOllama(port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    replies: ClassVar[dict[str, str]] = {
        "GET /api/tags": "tags",
        "POST /api/show": "show",
        "POST /api/chat": "chat",
        "POST /api/pull": "pull",
    }

    def do_GET(self) -> None:
        """Answer a GET."""
        self._answer()

    def do_POST(self) -> None:
        """Answer a POST."""
        self._answer()

    @property
    def _fake(self) -> FakeOllama:
        return cast("FakeOllama", self.server)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        # So that the server is gone at once when it is shut down.
        self.close_connection = True
        getattr(self, f"_{self.replies[f'{self.command} {self.path}']}")(body)

    def _tags(self, _body: Any) -> None:
        self._send(200, {"models": [{"name": name, "model": name} for name in self._fake.models]})

    def _show(self, body: Any) -> None:
        if body["model"] in self._fake.models:
            self._send(200, {"capabilities": ["completion"], "model_info": {}})
        else:
            self._send(404, {"error": f"model '{body['model']}' not found"})

    def _pull(self, body: Any) -> None:
        self._begin()
        self._line({"status": "pulling manifest"})
        for done in (0, 21_000_000, 42_000_000):
            self._line({"status": "pulling 0123", "total": 42_000_000, "completed": done})
        self._fake.models.append(body.get("model") or body["name"])  # the npm client says name
        self._line({"status": "success"})
        self._chunk(b"")

    def _chat(self, body: Any) -> None:
        if body["model"] not in self._fake.models:
            self._send(404, {"error": f"model '{body['model']}' not found"})
            return
        question = body["messages"][-1]["content"]
        self._begin()
        if question.startswith(SUMMARY):
            self._summarize(question)
            return
        self._fake.asked.append(body["messages"])
        if question == "think":
            self._say(thinking="\nHmm, ")
            self._say(thinking="what a question.\n\n")
        if question == "talk on":
            self._talk_on()
        elif question == "break off":
            self._say(content="Half an ans")
            self._chunk(b'{"message":{"content":"wer, cut in mid-l')
            return
        else:
            for word in ("You", " said", f" “{question}”", f" ({len(body['messages'])}).\n\n"):
                self._say(content=word)
        self._end()

    def _summarize(self, request: str) -> None:
        self._fake.summaries.append(request)
        if "slowly" in request:
            self._talk_on()
        else:
            self._say(content="They have met.")
        self._end()

    def _talk_on(self) -> None:
        """Write until the reader is gone, or for ten seconds."""
        for number in range(200):
            self._say(content=f"{number} ")
            time.sleep(0.05)

    def _end(self) -> None:
        self._line({"message": {"content": ""}, "done": True, "done_reason": "stop"})
        self._chunk(b"")

    def _say(self, **message: str) -> None:
        self._line({"message": {"role": "assistant", "content": "", **message}, "done": False})

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _line(self, fields: Any) -> None:
        self._chunk(json.dumps(fields).encode() + b"\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
