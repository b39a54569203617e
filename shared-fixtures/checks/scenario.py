"""What the scenarios of the terminal programs are made of."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn, cast

from fake_ollama import FakeOllama
from pseudoterminal import Program, ScenarioError, environment, pipe

__all__ = ["Play", "Scenario", "contains", "expect"]


class Scenario:
    """What a scenario has: two programs, a folder of its own with a store in it, a server."""

    def __init__(self, first: Program, second: Program, folder: str, server: FakeOllama) -> None:
        self.first = first
        self.second = second
        self.folder = Path(folder)
        self.server = server
        self.store = ["--store", "memory.db"]

    def run(self, program: Program, words: list[str], text: str = "") -> tuple[int, str, str]:
        """Run a program to its end; returns its exit code and what it printed."""
        words = [*words, *([] if "--store" in words else self.store)]
        status, out, err = pipe(program, words, text.encode(), self.server.port, str(self.folder))
        return status, out.decode(), err.decode()

    @contextmanager
    def answering(self, program: Program) -> Generator[subprocess.Popen[bytes]]:
        """Run a program that is in the middle of its answer, and kill it after the block."""
        chat = subprocess.Popen(
            [*program, "chat", *self.store],
            cwd=self.folder,
            env=environment(self.server.port),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with chat:
            typed, printed = cast("IO[bytes]", chat.stdin), cast("IO[bytes]", chat.stdout)
            try:
                typed.write("My cat is called 花花.\ntalk on\n".encode())
                typed.flush()
                seen = b""
                while b"\n\n0 1 2 " not in seen:
                    seen += printed.read(1) or exit_early()
                yield chat
            finally:
                chat.kill()


Play = Callable[[Scenario], None]


def exit_early() -> NoReturn:
    raise ScenarioError("the program has ended before its answer began")


def expect(expected: object, actual: object) -> None:
    """Fail unless both are equal."""
    if expected != actual:
        raise ScenarioError(f"expected {expected!r}, and it is {actual!r}")


def contains(part: str, text: str) -> None:
    """Fail unless `part` is in `text`."""
    if part not in text:
        raise ScenarioError(f"{part!r} is not in {text!r}")
