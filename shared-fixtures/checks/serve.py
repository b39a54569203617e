"""Find or start a model server for a session, and a model on it.

The choice, in this order: the Ollama that answers at OLLAMA_HOST (or the default address); an
`ollama serve` on a free loopback port where `ollama` is on the PATH; the embedded engine. The
standard library is enough, so the task runner can import it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_MODEL = "qwen3:0.6b"
EMBEDDED = "the embedded engine"
OLLAMA = shutil.which("ollama")
LOG = Path(__file__).resolve().parents[2] / ".nox" / "server.log"

# Loopback and a server of one's own are not for a proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class CannotServeError(Exception):
    """No server, or not the model that was asked for; the text says what to do."""


@dataclass(frozen=True)
class Served:
    """A model that answers at `url`, and why it is not the default one, if it is not."""

    engine: str
    url: str
    model: str
    why: str = ""

    @property
    def env(self) -> dict[str, str]:
        """What tells a program where the model is."""
        return {"TANDEM_LIVE_URL": self.url, "TANDEM_LIVE_MODEL": self.model}

    def __str__(self) -> str:
        return f"{self.model} on {self.engine} at {self.url}" + (
            f" ({self.why})" if self.why else ""
        )


@contextlib.contextmanager
def serving(
    wanted: str | None, *, embedded: Callable[[], Path], say: Callable[[str], None]
) -> Generator[Served]:
    """Serve a model for the block.

    Args:
        wanted: The model that it must be; None is the default one or what can stand in for it.
        embedded: Installs the embedded engine and returns the Python that has it.
        say: Prints a line of progress.

    Raises:
        CannotServeError: No server starts, or `wanted` is not there and cannot be pulled.
    """
    with contextlib.ExitStack() as stack:
        why = "no Ollama here; https://ollama.com has it"
        if url := stack.enter_context(ollama(say)):
            model, why = wanted or DEFAULT_MODEL, ""
            if problem := _fetch(url, model, say):
                why = f"{model} cannot be pulled"
                if wanted is not None:
                    raise CannotServeError(f"{why}: {problem}")
                say(f"{why}: {problem}")
                model = _smallest_chat_model(url)
            if model is not None:
                yield Served(f"Ollama {_version(url)}", url, model, why)
                return
            why += ", and no other chat model is installed"
        stack.close()
        say(f"{why}; using {EMBEDDED}, whose model is very small")
        url = stack.enter_context(embedded_server(embedded()))
        models = _models(url)
        if wanted is not None and wanted not in models:
            raise CannotServeError(f"{wanted} needs Ollama, and there is {why}")
        yield Served(EMBEDDED, url, wanted or models[0], why)


@contextlib.contextmanager
def ollama(say: Callable[[str], None]) -> Generator[str | None]:
    """The Ollama that answers, else one started for the block, else None; yields its URL."""
    url = _ollama_url()
    if _version(url) is not None:
        yield url
    elif OLLAMA is not None:
        say("no Ollama answers; starting `ollama serve` on a free port")
        with ollama_server() as url:
            yield url
    else:
        yield None


@contextlib.contextmanager
def ollama_server(models: Path | None = None) -> Generator[str]:
    """An `ollama serve` of one's own on a free loopback port, for the block; yields its URL.

    `models`: the folder of its models; None is the user's.
    """
    url = f"http://127.0.0.1:{free_port()}"
    with _server([str(OLLAMA), "serve"], url, {"OLLAMA_MODELS": str(models)} if models else {}):
        yield url


@contextlib.contextmanager
def embedded_server(python: Path) -> Generator[str]:
    """The embedded engine on a free loopback port, for the block; yields its URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(python), "-m", "tandem_memory.embedded", "--with-parent", "--port", str(port)]
    with _server(command, url):
        yield url


@contextlib.contextmanager
def _server(command: list[str], url: str, env: dict[str, str] | None = None) -> Generator[None]:
    LOG.parent.mkdir(exist_ok=True)
    # A group of its own: Ctrl-C in the terminal is for the chat, not for its server.
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    # Being asked to end must not leave the server behind, so it unwinds like Ctrl-C.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with (
            LOG.open("ab") as log,
            subprocess.Popen(
                command,
                env={**os.environ, **(env or {}), "OLLAMA_HOST": url.removeprefix("http://")},
                stdin=subprocess.PIPE,  # its end tells the embedded engine that this process died
                stdout=log,
                stderr=log,
                creationflags=flags,
                start_new_session=os.name == "posix",
            ) as process,
        ):
            try:
                deadline = time.monotonic() + 60
                while _version(url) is None:
                    if process.poll() is not None or time.monotonic() > deadline:
                        said = LOG.read_text("utf-8", "replace").splitlines() or ["no word"]
                        raise CannotServeError(f"{command[0]} fails: {said[-1]} (all in {LOG})")
                    time.sleep(0.1)
                yield
            finally:
                process.terminate()
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
    finally:
        signal.signal(signal.SIGTERM, before)


def free_port() -> int:
    """A loopback port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _ollama_url() -> str:
    """OLLAMA_HOST as Ollama reads it: scheme and port may be missing, 0.0.0.0 is for servers."""
    scheme, _, rest = os.environ.get("OLLAMA_HOST", "").strip().rpartition("://")
    host, _, port = rest.rstrip("/").partition(":")
    host = "127.0.0.1" if host in {"", "0.0.0.0"} else host  # noqa: S104 - replaced, not bound
    return f"{scheme or 'http'}://{host}:{port or 11434}"


def _call(url: str, body: dict[str, Any] | None = None, timeout: float = 5) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310
    return _OPENER.open(request, timeout=timeout)


def _version(url: str) -> str | None:
    try:
        with _call(f"{url}/api/version", timeout=2) as reply:
            return str(json.load(reply)["version"])
    except (OSError, ValueError, KeyError):
        return None


def _models(url: str) -> list[str]:
    """The names of the models there, smallest first."""
    with _call(f"{url}/api/tags") as reply:
        models = sorted(json.load(reply)["models"], key=lambda model: model["size"])
    return [str(model["name"]) for model in models]


def _smallest_chat_model(url: str) -> str | None:
    for model in _models(url):
        with _call(f"{url}/api/show", {"model": model}) as reply:
            if "completion" in json.load(reply).get("capabilities", []):
                return model
    return None


def _fetch(url: str, model: str, say: Callable[[str], None]) -> str:
    """Have this model on the server, pulled if need be; returns what went wrong, or ""."""
    if not {model, f"{model}:latest"}.isdisjoint(_models(url)):
        return ""
    say(f"{model} is not at {url} yet; pulling it")
    step: dict[str, Any] = {}
    shown = ""
    try:
        with _call(f"{url}/api/pull", {"model": model}, timeout=120) as reply:
            for step in map(json.loads, reply):
                if "error" in step:
                    return str(step["error"])
                text = _progress(step)
                if text != shown:
                    print(f"\r{text:<70}", end="" if sys.stdout.isatty() else "\n", flush=True)
                shown = text
    except (OSError, ValueError) as error:
        return str(error)
    finally:
        print(flush=True)
    return "" if step.get("status") == "success" else "the server broke off"


def _progress(step: dict[str, Any]) -> str:
    """One step of a pull in words: by the percent in a terminal, else by tens, a line each."""
    if not step.get("total"):
        return str(step["status"])
    share = 100 * step.get("completed", 0) // step["total"]
    return f"{step['status']} {share if sys.stdout.isatty() else share // 10 * 10} %"
