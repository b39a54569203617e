"""Runs a program as a user does: in a pipe, or in a terminal of its own, key by key."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from codecs import getincrementaldecoder
from collections.abc import Mapping

if sys.platform != "win32":
    import fcntl
    import pty
    import select
    import struct
    import termios

__all__ = ["Program", "ScenarioError", "Terminal", "environment", "pipe"]

Program = list[str]
STYLE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[=>])|\r")


class ScenarioError(AssertionError):
    """A scenario that went another way; the text holds what was on the screen."""


def environment(port: int) -> dict[str, str]:
    """An environment without the user's own settings, in the poorest locale there is."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    own = {
        "OLLAMA_HOST": f"127.0.0.1:{port}",
        "TANDEM_MEMORY_STORE": "none",
        "XDG_CONFIG_HOME": os.devnull,
    }
    return {**kept, **own, "LANG": "C", "LC_ALL": "C", "TERM": "xterm"}


def pipe(
    program: Program, words: list[str], text: bytes, port: int, folder: str
) -> tuple[int, bytes, bytes]:
    """Run a program in `folder` on piped input; returns its exit code and what it printed."""
    done = subprocess.run(
        [*program, *words],
        input=text,
        env=environment(port),
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


class Terminal:
    """A program in a terminal of 60 columns; `screen` is all that it printed, without codes.

    `raw` is the same with them; `setting` is added to the environment.
    """

    def __init__(
        self, program: Program, words: list[str], port: int, setting: Mapping[str, str] = {}
    ) -> None:
        self.raw = ""
        self.screen = ""
        self._seen = 0
        self._decoder = getincrementaldecoder("utf-8")("replace")
        pid, self._fd = pty.fork()
        if pid == 0:
            os.execvpe(program[0], [*program, *words], {**environment(port), **setting})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        self.pid = pid

    def type(self, text: str) -> None:
        """Send keys."""
        os.write(self._fd, text.encode())

    def see(self, text: str, seconds: float = 20) -> None:
        """Wait until `text` comes after what was seen before."""
        deadline = time.monotonic() + seconds
        while (at := self.screen.find(text, self._seen)) < 0:
            if not self._read(deadline - time.monotonic()):
                raise ScenarioError(f"{text!r} does not come after {self.screen[self._seen :]!r}")
        self._seen = at + len(text)

    def prompt(self) -> None:
        """Wait until a line can be typed."""
        self.see("\n>")

    def end(self) -> int:
        """Wait for the end of the program; returns its exit code, negative for a signal."""
        deadline = time.monotonic() + 20
        while self._read(deadline - time.monotonic()):
            pass
        if time.monotonic() > deadline:
            raise ScenarioError(f"does not end after {self.screen[self._seen :]!r}")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        """End the program at once, unless it has ended."""
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._fd], [], [], max(0, seconds))[0]:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux says so where the other end is closed
            return False
        self.raw += self._decoder.decode(data)
        self.screen = STYLE.sub("", self.raw)
        return bool(data)
