"""A server on loopback that speaks Ollama's wire format, and misbehaves when told to.

Twin: typescript/tests/loopback.ts.
"""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Json = Any


@dataclass
class Answer:
    """What the server says to one request.

    `parts`: a dict is a JSON line, bytes and texts are sent as they are; each is a chunk.
    `end`: `whole` ends the answer; `cut` closes the connection in the middle of it, `reset` does so
        with a TCP reset; `stall` says nothing more until the client hangs up; `silent` closes the
        connection without a word.
    """

    parts: Sequence[Json] = ()
    status: int = 200
    end: Literal["whole", "cut", "reset", "stall", "silent"] = "whole"


class Loopback:
    """The server. `requests` are the paths and JSON bodies that came, `answers` what is said next.

    `hung_up` is set when a client has left a stalled answer. What a model is, for which chats ask
    before their first question, is said without an answer, and is no request, but with `shows`.
    """

    def __init__(self, *, shows: bool = False) -> None:
        self.shows = shows
        self.requests: list[tuple[str, Json]] = []
        self.answers: list[Answer] = []
        self.hung_up = threading.Event()
        loopback = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                loopback.handle(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, client: socketserver.StreamRequestHandler) -> None:
        path = client.rfile.readline().split()[1].decode()
        length = 0
        while line := client.rfile.readline().strip().lower():
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = client.rfile.read(length)
        if path == "/api/show" and not self.shows:
            answer = Answer([{}])
        else:
            self.requests.append((path, json.loads(body) if body else None))
            answer = self.answers.pop(0)
        if answer.end == "silent":
            return
        client.wfile.write(
            f"HTTP/1.1 {answer.status} Status\r\nConnection: close\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        for part in answer.parts:
            data = to_bytes(part)
            client.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        if answer.end == "whole":
            client.wfile.write(b"0\r\n\r\n")
        elif answer.end == "reset":
            linger = struct.pack("ii", 1, 0)  # an abortive close, which sends a reset
            client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif answer.end == "stall":
            try:
                client.connection.recv(1)
            finally:
                self.hung_up.set()


def to_bytes(part: Json) -> bytes:
    if isinstance(part, bytes):
        return part
    text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) + "\n"
    return text.encode()


def said(*pieces: str) -> list[Json]:
    """Return the lines of an answer that goes on after these pieces."""
    return [{"message": {"role": "assistant", "content": piece}} for piece in pieces]


def whole(*pieces: str) -> Answer:
    """Return an answer that says these pieces and ends as it should."""
    last = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 2}
    return Answer([*said(*pieces), last])
