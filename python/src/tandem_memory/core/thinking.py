"""Thinking: reasoning split off from the answer, the same at any chunking of a stream.

The rules, as in Ollama's own parser (thinking/parser.go) with three additions of ours:

- `<think>` counts only at the start of the text, white space aside, or right after another block.
  Anywhere later it is text, so that an answer may write about the tag.
- Tags are read in any case (`<THINK>`).
- Inside a block tags nest, if they balance. If the text ends first, the block ended at its first
  close: the reasoning only spoke of a tag. Until it is known which, what follows is held back.
- Where the model's template opens the block itself (`opens_thinking`), the text starts inside it,
  and further closes right behind the first are dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ThinkingSplitter", "Thought", "split_thinking", "trim_white_space"]

# Unicode's White_Space, spelt out: `strip()`, `\s` and JavaScript's `trim` each differ from it.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)

TAG = re.compile("<(/?)think>", re.IGNORECASE | re.ASCII)
PART_OF_TAG = re.compile("</?(t(h(i(nk?)?)?)?)?\\Z", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Thought:
    """Text split in two. `finished` is False where a block is still open at its end."""

    content: str
    thinking: str
    finished: bool = True


def split_thinking(text: str, *, opens_thinking: bool = False) -> Thought:
    """Split a whole text; the same as feeding it to a `ThinkingSplitter` in any pieces."""
    splitter = ThinkingSplitter(opens_thinking=opens_thinking)
    start, end = splitter.feed(text), splitter.finish()
    return Thought(start.content + end.content, start.thinking + end.thinking, end.finished)


class ThinkingSplitter:
    """Splits a stream: `feed` each piece, then `finish`; each returns what became certain by it.

    Added up, the pieces' `content` and `thinking` are those of the whole text. Blocks of thinking
    lose the white space around them and are joined by a line break; content loses the white space
    between it and a block, and is else untouched.
    """

    def __init__(self, *, opens_thinking: bool = False) -> None:
        self._opened_by_template = opens_thinking
        self._state = "front"  # then "block", perhaps "nested", "front" again, at last "text"
        self._buffer = ""
        self._depth = 0
        self._scanned = 0  # how far a "nested" buffer has been read
        self._past_block = False
        self._block_has_text = False
        self._space = ""  # goes before the next piece of thinking, should one come
        self._content = ""
        self._thinking = ""
        self._thought_any = False

    def feed(self, piece: str) -> Thought:
        """Take the next piece of the stream and return what is certain now."""
        self._buffer += piece
        return self._read(last=False)

    def finish(self) -> Thought:
        """Say that the stream has ended and return what was still held back."""
        return self._read(last=True)

    def _read(self, *, last: bool) -> Thought:
        while self._step(last):
            pass
        is_open = self._state in ("block", "nested")
        thought = Thought(self._content, self._thinking, not is_open)
        self._content = self._thinking = ""
        return thought

    def _step(self, last: bool) -> bool:
        """Read as far as one state goes; return whether there is more to read."""
        if self._state == "front":
            return self._step_front(last)
        if self._state == "block":
            return self._step_block(last)
        if self._state == "nested":
            return self._step_nested(last)
        self._content += self._take(len(self._buffer))
        return False

    def _step_front(self, last: bool) -> bool:
        space = len(self._buffer) - len(self._buffer.lstrip(WHITE_SPACE))
        tag = TAG.match(self._buffer, space)
        if tag and not tag[1]:
            self._take(tag.end())
            self._enter_block()
        elif tag and self._past_block and self._opened_by_template:
            self._take(tag.end())
        elif not last and (space == len(self._buffer) or PART_OF_TAG.match(self._buffer, space)):
            return False
        elif self._opened_by_template and not self._past_block:
            self._enter_block()
        else:
            self._state = "text"
            if self._past_block:
                self._take(space)
        return True

    def _enter_block(self) -> None:
        self._state, self._depth = "block", 1
        self._block_has_text = False
        self._space = "\n" if self._thought_any else ""

    def _step_block(self, last: bool) -> bool:
        tag = TAG.search(self._buffer)
        if tag is None:
            part = None if last else PART_OF_TAG.search(self._buffer)
            self._think(self._take(part.start() if part else len(self._buffer)))
            return False
        self._think(self._take(tag.start()))
        if tag[1] and self._depth == 1:
            self._take(len(tag[0]))
            self._leave_block()
        elif tag[1]:
            self._state, self._scanned = "nested", 0
        else:
            self._depth += 1
            self._think(self._take(len(tag[0])))
        return True

    def _step_nested(self, last: bool) -> bool:
        """Look, from the first close on, whether the tags balance."""
        for tag in TAG.finditer(self._buffer, self._scanned):
            self._depth += -1 if tag[1] else 1
            self._scanned = tag.end()
            if self._depth == 0:
                self._think(self._take(tag.start()))
                self._take(len(tag[0]))
                self._leave_block()
                return True
        if not last:
            part = PART_OF_TAG.search(self._buffer, self._scanned)
            self._scanned = part.start() if part else len(self._buffer)
            return False
        self._take(len("</think>"))
        self._leave_block()
        return True

    def _leave_block(self) -> None:
        self._state, self._past_block = "front", True

    def _think(self, text: str) -> None:
        if not self._block_has_text:
            text = text.lstrip(WHITE_SPACE)
        kept = text.rstrip(WHITE_SPACE)
        if kept:
            self._thinking += self._space + kept
            self._space = ""
            self._block_has_text = self._thought_any = True
        self._space += text[len(kept) :]

    def _take(self, count: int) -> str:
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def trim_white_space(text: str) -> str:
    """Return `text` without the white space around it; `strip()` has another list of it."""
    return text.strip(WHITE_SPACE)
