"""`python -m tandem_memory.embedded`: the stand-in as a program."""

import argparse
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from .server import URL_LINE

if TYPE_CHECKING:
    import uvicorn

_PORT = 11434  # Ollama's own


def main() -> int:
    """Serve until Ctrl-C, SIGTERM or (`--with-parent`) the end of its input."""
    arguments = _arguments()
    try:
        import uvicorn

        from .api import GET_THE_REAL_ONE, Api
        from .engine import EngineError, free_cores
        from .residency import Residency
        from .weights import WeightsError, find_model
    except ImportError as error:
        return _fail(f'{error.name} is not installed; run `pip install "tandem-memory[embedded]"`')
    try:
        listener = _listen(arguments.host, arguments.port)
        model = find_model(arguments.model)
        threads = free_cores()
        residency = Residency(model, threads)
        residency.preload()
    except (EngineError, WeightsError, OSError) as error:
        return _fail(str(error))
    server = uvicorn.Server(
        uvicorn.Config(Api(model, residency).app(), log_level="warning", lifespan="off")
    )
    _end_by_signal(server)
    if arguments.with_parent:
        _end_with_input(server)
    print(
        f"This is not Ollama but a stand-in with its API, for machines without Ollama.\n"
        f"It serves {model.name} ({model.path.name}), a very small model, by llama.cpp on "
        f"{threads} threads.\n"
        f"For better answers, {GET_THE_REAL_ONE}.\n"
        f"{URL_LINE}http://{arguments.host}:{listener.getsockname()[1]}",
        flush=True,
    )
    server.run(sockets=[listener])
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tandem_memory.embedded", description=__doc__)
    parser.add_argument("--port", type=int, default=_PORT, help="0 is any free one")
    parser.add_argument("--host", choices=["127.0.0.1", "localhost"], default="127.0.0.1")
    parser.add_argument("--model", type=Path, metavar="PATH.gguf", help="a chat model with ChatML")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    return parser.parse_args()


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket()
    if os.name == "posix":  # elsewhere this would share a port that is taken
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        hint = "name another with --port, or 0 for any free one"
        raise OSError(f"cannot use port {port} ({error}); {hint}") from error
    listener.listen(128)
    return listener


def _end_by_signal(server: "uvicorn.Server") -> None:
    # uvicorn has its own handlers while it serves; this is for a signal before that, and for the
    # same one when uvicorn raises it again after it has ended in order.
    def end(_number: int, _frame: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _end_with_input(server: "uvicorn.Server") -> None:
    def watch() -> None:
        while os.read(0, 1024):
            pass
        server.should_exit = True

    threading.Thread(target=watch, daemon=True).start()


def _fail(message: str) -> int:
    print(f"tandem-memory: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
