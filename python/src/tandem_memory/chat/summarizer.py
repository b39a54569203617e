"""The summarizer of a chat: the making of a summary, and what the conversation keeps of it.

Nothing here waits for anything, so plain and async chats share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.errors import InvalidLimitError
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.summary import Summary, read_summary_reply, summary_messages
from ..core.thinking import ThinkingSplitter
from ..core.values import whole_number
from .coverage import Coverage
from .settings import ModelEntry
from .wire import Delta

__all__ = ["Making", "Summarizer"]

MOST_INPUT_TOKENS = 2048
"""What of a conversation is sent to be summarised at most; less where the context is small."""

LEAST_INPUT_TOKENS = 64

MOST_PAUSE = 15
"""How many answers are not followed by a try at most, after tries that failed in a row."""

REQUEST_TOKENS = 128
"""What the request itself costs, and the template around it."""


class Summarizer:
    """How far a conversation is summarised, by summaries of at most `max_tokens`.

    `making`: the summary that is being made, None where none is, or where the conversation has gone
    on since. Raises `InvalidLimitError`.
    """

    def __init__(self, max_tokens: int) -> None:
        self.making: Making | None = None
        self._max_tokens = read_summary_tokens(max_tokens)
        self._coverage = Coverage()
        self._memory: MemoryManager | None = None
        self._failures = 0
        self._pause = 0

    def count_answer(self) -> bool:
        """Count an answer, and return whether a summary is to be tried after it.

        Each try costs the server its prompt cache, so after tries that failed in a row more and
        more answers go without one: none, one, three, seven, and fifteen from then on.
        """
        if self._pause == 0:
            return True
        self._pause -= 1
        return False

    def fail(self) -> None:
        """Take note that the summary could not be made."""
        self.making = None
        self._pause = min(2**self._failures - 1, MOST_PAUSE)
        self._failures += 1

    def coverage(self, memory: MemoryManager, waiting: Sequence[Sequence[Message]]) -> Coverage:
        """Return how far `memory` is summarised.

        What was planned for another window is void; then `waiting` are the turns that had left it
        before it was restored, and more may have left by that.
        """
        if self._memory is not memory:
            self.cover(memory, Coverage(waiting).without(memory.explain()["parts"]))
        return self._coverage

    def cover(self, memory: MemoryManager, coverage: Coverage) -> None:
        """Take over how far `memory` is summarised."""
        self._coverage, self._memory, self.making = coverage, memory, None

    def plan(self, memory: MemoryManager, entry: ModelEntry, worst: int) -> Making | None:
        """Return the making of the next summary, where it is time for one.

        `worst`: in thousandths, how many times its estimate a text may cost the model.
        """
        turns, until = self._coverage.waiting(memory)
        coverage, summary, limit = self._coverage, memory.summary, self._max_tokens
        making = Making(coverage, summary, turns, until, entry, limit, worst) if turns else None
        self.making = making
        return making

    def keep(self, memory: MemoryManager, making: Making) -> None:
        """Keep the summary for the next trim, unless the conversation has gone on meanwhile."""
        coverage = making.finish()
        if self.making is making and self._memory is memory:
            self.cover(memory, coverage)
            making.kept = True
            self._failures = 0


class Making:
    """The making of a summary: send `messages` under `entry`, `take` each delta, then `finish`.

    `entry` is the conversation's own, without thinking where the model can do without, and with a
    bound on the answer. `coverage` is what the plan was made on. `kept` says whether the summary
    was made, and the conversation has it.
    """

    def __init__(
        self,
        coverage: Coverage,
        previous: Summary | None,
        turns: Sequence[Sequence[Message]],
        until: int,
        entry: ModelEntry,
        max_tokens: int,
        worst: int,
    ) -> None:
        self.coverage = coverage
        self.kept = False
        used, room = summarizing(entry, max_tokens, worst)
        self.entry = used
        self.messages = summary_messages(
            previous,
            [message for turn in turns for message in turn],
            max_tokens=max_tokens,
            max_input_tokens=room,
        )
        self._until = until
        self._max_tokens = max_tokens
        self._text = ""
        self._field_thinks = False
        self._done_reason: str | None = None

    def take(self, delta: Delta) -> None:
        """Take the next piece of the summary."""
        self._text += delta.content
        self._field_thinks = self._field_thinks or bool(delta.thinking)
        if delta.ending:
            self._done_reason = delta.ending.done_reason

    def finish(self) -> Coverage:
        """Return the coverage with the summary, or raise `SummaryFailedError`."""
        opens_thinking = self.entry.opens_thinking and not self._field_thinks
        splitter = ThinkingSplitter(opens_thinking=opens_thinking)
        text = splitter.feed(self._text).content + splitter.finish().content
        text = read_summary_reply(text, self._done_reason, max_tokens=self._max_tokens)
        return Coverage(self.coverage.backlog, self.coverage.loose, text, self._until)


def read_summary_tokens(value: object) -> int:
    """Return the limit of a summary, checked, or raise `InvalidLimitError`."""
    whole = whole_number(value)
    if whole is None or whole < 1:
        raise InvalidLimitError("summary_tokens", value, "a whole number from 1 up")
    return whole


def summarizing(entry: ModelEntry, max_tokens: int, worst: int) -> tuple[ModelEntry, int]:
    """Return the settings under which `entry` summarises, and the room for the conversation."""
    # A model that always thinks does so before the summary, and needs room for it.
    always_thinks = entry.opens_thinking or isinstance(entry.think, str)
    # Twice the limit: one that is passed is told apart from an answer that was cut off.
    most = max_tokens * 2 + (entry.answer_tokens if always_thinks else 0)
    room = (entry.num_ctx - most - max_tokens - REQUEST_TOKENS) * 1000 // worst
    options = {**entry.options, "num_predict": most}
    think = "low" if isinstance(entry.think, str) else False
    used = replace(entry, think=think, options=options)
    return used, min(max(room, LEAST_INPUT_TOKENS), MOST_INPUT_TOKENS)
