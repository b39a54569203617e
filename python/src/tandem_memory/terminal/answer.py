"""An answer as it is printed while it comes."""

from __future__ import annotations

from .width import visible

__all__ = ["AnswerText"]

DIM, UNDIM = "\x1b[2m", "\x1b[22m"


class AnswerText:
    """Turns the pieces of an answer into what is printed: the thinking apart, no blank ends.

    `styled`: whether thinking is dimmed by the terminal's own codes; else words mark it.
    `shown`: whether thinking is printed at all.
    """

    def __init__(self, *, styled: bool, shown: bool) -> None:
        self._styled = styled
        self._shown = shown
        self._part = ""
        # A blank end may be the answer's own end, so it waits for what follows.
        self._held = ""

    def add(self, *, thinking: str = "", content: str = "") -> str:
        """Take the next piece and return what it adds to the screen."""
        thought = self._add("thinking", visible(thinking)) if self._shown else ""
        return thought + self._add("content", visible(content))

    def end(self) -> str:
        """Return what ends the answer: an empty line, if anything was printed."""
        return self._close() + "\n\n" if self._part else ""

    def _add(self, part: str, text: str) -> str:
        begun = part == self._part
        text = self._held + text if begun else text.lstrip("\n ")
        kept = text.rstrip("\n ")
        if begun or kept:
            self._held = text[len(kept) :]
        if not kept:
            return ""
        return kept if begun else self._open(part) + kept

    def _open(self, part: str) -> str:
        text = self._close() + "\n\n" if self._part else ""
        # Without the codes words tell where the thinking begins, and where it ends.
        plain = "(thinking) " if part == "thinking" else "(answer) " if self._part else ""
        dimmed = DIM if part == "thinking" else ""
        self._part = part
        return text + (dimmed if self._styled else plain)

    def _close(self) -> str:
        return UNDIM if self._styled and self._part == "thinking" else ""
