"""The server as a process: started for as long as a `with` block runs, and ended with it."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

# The line that `python -m tandem_memory.embedded` prints once it serves.
URL_LINE = "TANDEM_EMBEDDED_URL="


class EmbeddedServerError(Exception):
    """The server could not start; the message is the one line that it printed."""


class EmbeddedServer:
    """Runs the stand-in in a process of its own while a `with` block runs.

    `with EmbeddedServer() as server:` waits until it serves and gives its base URL as
    `server.url`, such as `http://127.0.0.1:43211`. `port` 0 is any free one; `model` is a GGUF
    file, by default the weights that come as a package; `python` is the interpreter that has the
    extra `tandem-memory[embedded]`. `notice` is what the server said of itself when it started.
    The server ignores Ctrl-C (the program decides what that means) and ends with its parent,
    however that ends. `EmbeddedServerError` where it cannot start within `timeout` seconds.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        model: Path | None = None,
        python: str = sys.executable,
        timeout: float = 60.0,
    ) -> None:
        self._command = [python, "-m", __package__ or "", "--port", str(port), "--with-parent"]
        if model is not None:
            self._command += ["--model", str(model)]
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.notice = ""

    def __enter__(self) -> Self:
        """Start the server and wait until it serves."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                # Away from the terminal's group, Ctrl-C does not reach it.
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            self._process = process
            late = threading.Timer(self._timeout, process.kill)
            late.start()
            try:
                self._read_until_url(process)
            finally:
                late.cancel()
            if not self.url:
                self.stop()
                errors.seek(0)
                lines = errors.read().strip().splitlines() or ["it printed nothing"]
                raise EmbeddedServerError(f"the embedded server did not start: {lines[-1]}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.stop()

    def stop(self) -> None:
        """Let the server end by closing its input; kill it if it has not within ten seconds."""
        if (process := self._process) is None:
            return
        self._process = None
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _read_until_url(self, process: "subprocess.Popen[str]") -> None:
        for line in process.stdout or ():
            if line.startswith(URL_LINE):
                self.url = line.removeprefix(URL_LINE).strip()
                return
            self.notice += line
