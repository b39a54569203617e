"""The terminal program `tandem-memory`."""

from __future__ import annotations

import asyncio
import os
import sys
from io import TextIOWrapper

from .terminal.program import run_program

__all__ = ["main"]

BROKEN_PIPE = 141
"""What a shell says of a program whose reader has gone."""


def main() -> int:
    """Run the program with the process's own arguments; returns its exit code."""
    # The same bytes on every platform and under every locale.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    try:
        return asyncio.run(run_program(sys.argv[1:]))
    except BrokenPipeError:
        # Python would try once more to write what is left, at its very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
