"""The screen: answers and tables go to standard output, remarks and errors to standard error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TextIO

from .width import clip, one_line, visible

__all__ = ["Screen"]


class Screen:
    """What the program prints to.

    `styled`: whether thinking may be dimmed; not in a pipe, nor where NO_COLOR is set
    (https://no-color.org) or the terminal is a dumb one.
    """

    def __init__(self, out: TextIO, err: TextIO, *, env: Mapping[str, str] = os.environ) -> None:
        self._out = out
        self._err = err
        self._shown = ""
        plain = bool(env.get("NO_COLOR")) or env.get("TERM") == "dumb"
        self.styled = out.isatty() and not plain

    @property
    def columns(self) -> int:
        """How wide the terminal is; 80 where there is none."""
        return shutil.get_terminal_size().columns if self._out.isatty() else 80

    def write(self, text: str) -> None:
        """Print `text` as it is."""
        self._out.write(text)
        self._out.flush()

    def remark(self, text: str) -> None:
        """Print a line about what happened."""
        self._err.write(visible(text) + "\n")
        self._err.flush()

    def error(self, problem: object) -> None:
        """Print what went wrong, on one line."""
        self.remark(f"error: {one_line(str(problem))}")

    def progress(self, line: str, step: str) -> None:
        """Show how far something is: `line` over the one before in a terminal, else each `step`."""
        if self._err.isatty():
            self._err.write(f"\r{clip(visible(line), self.columns - 1)}\x1b[K")
            self._err.flush()
        elif step != self._shown:
            self.remark(step)
        self._shown = step

    def progress_end(self) -> None:
        """Leave the line of the progress."""
        if self._shown and self._err.isatty():
            self._err.write("\n")
        self._shown = ""
