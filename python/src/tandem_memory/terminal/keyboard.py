"""Where lines come from: an editor in a terminal, plain lines from a pipe."""

from __future__ import annotations

import asyncio
from typing import BinaryIO, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.output import create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from .screen import Screen
from .texts import HINTS, PROMPT

__all__ = ["Keyboard", "PipedLines", "TypedLines"]


class Keyboard(Protocol):
    """Where a chat's lines come from."""

    interactive: bool

    async def read(self) -> str | None:
        """Return the next line, or None at the end."""
        ...

    async def confirm(self, question: str, /, *, enter: bool) -> bool:
        """Ask a question; `enter` is the answer of Enter alone. Where nobody is there, it is no."""
        ...


class TypedLines:
    """Lines typed in a terminal, with an editor that knows wide characters, and a history.

    Ctrl-C throws the line away, or on an empty one says how to leave. Text that is pasted in is one
    message, however many lines it has.
    """

    interactive = True

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._history = InMemoryHistory()
        self._output = create_output()
        # A terminal's late report of its cursor would be read as if it had been typed.
        if isinstance(self._output, Vt100_Output):
            self._output.enable_cpr = False

    async def read(self) -> str | None:
        """Return the next line, or None at Ctrl-D."""
        session = PromptSession[str](
            PROMPT, history=self._history, output=self._output, enable_suspend=True
        )
        while True:
            try:
                # Its own handling of SIGINT would put back the one that raises, for a moment.
                return await session.prompt_async(handle_sigint=False)
            except KeyboardInterrupt:
                if not session.default_buffer.text:
                    self._screen.remark(HINTS["leave"])
            except EOFError:
                return None

    async def confirm(self, question: str, /, *, enter: bool) -> bool:
        """Ask a question; `enter` is the answer of Enter alone. Ctrl-C and Ctrl-D are no."""
        choice = "[Y/n]" if enter else "[y/N]"
        session = PromptSession[str](f"{question} {choice} ", output=self._output)
        try:
            answer = await session.prompt_async(handle_sigint=False)
        except (KeyboardInterrupt, EOFError):
            return False
        word = answer.strip().lower()
        return word in {"y", "yes"} or (enter and not word)


class PipedLines:
    """Lines from a pipe or a file, in UTF-8; what is none becomes U+FFFD."""

    interactive = False

    def __init__(self, source: BinaryIO | None) -> None:
        self._source = source

    async def read(self) -> str | None:
        """Return the next line, or None at the end."""
        line = await asyncio.to_thread(self._source.readline) if self._source else b""
        return line.decode(errors="replace") if line else None

    async def confirm(self, _question: str, /, *, enter: bool) -> bool:  # noqa: ARG002
        """Answer no: nobody is there to ask."""
        return False
