"""Rolling summaries of a chat: which turns are to be summarised next, and when a summary is put in.

A summary is made beforehand, of the turns that the next trim is to drop, and put in together with
that trim: so nobody waits for it, and the prompt's front changes once. Nothing here waits for
anything, so plain and async chats share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.errors import BudgetExceededError, InvalidLimitError
from ..core.explanation import ExplainedPart
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.summary import Summary, read_summary_reply, summary_messages
from ..core.thinking import ThinkingSplitter
from ..core.values import whole_number
from .settings import ModelEntry
from .wire import Delta

__all__ = ["Coverage", "Making", "read_summary_tokens"]

MOST_TURNS = 64
"""How many turns may wait for a summary; the oldest go first, and stay in the store alone."""

MOST_INPUT_TOKENS = 2048
"""What of a conversation is sent to be summarised at most; less where the context is small."""

LEAST_INPUT_TOKENS = 64

REQUEST_TOKENS = 128
"""What the request itself costs, and the template around it."""


class Coverage:
    """How far a conversation is summarised; it is never changed, but replaced.

    What waits for a summary is `backlog`, then the window without its first `ahead` turns.

    `backlog`: turns that left before a summary told of them, oldest first.
    `ahead`: how many turns in front of the window the memory's summary tells of already.
    `text`, `turns`: the next summary, and how many of what waits it tells of; None and 0 is none.
    """

    def __init__(
        self,
        backlog: Sequence[Sequence[Message]] = (),
        ahead: int = 0,
        text: str | None = None,
        turns: int = 0,
    ) -> None:
        self.backlog = backlog
        self.ahead = ahead
        self.text = text
        self.turns = turns

    def follow(
        self, memory: MemoryManager, dropped: list[Message]
    ) -> tuple[Coverage, list[Message]]:
        """Go on after an add to `memory` that `dropped` these; returns all that left by it.

        Once a turn of the next summary has left, that is put in. More turns leave where it needs
        their room; the newest one stays whole, or the summary waits.
        """
        parts = memory.explain()["parts"] if dropped else []
        after = self._without(parts)
        if after.text is None or not after.backlog or has_steps(parts):
            return after, dropped
        before, previous = memory.snapshot(), memory.summary
        told = previous["turns"] if previous else 0
        left = put_in(memory, {"text": after.text, "turns": told + after.turns})
        if left is None:
            memory.restore(before)
            return after, dropped
        rest = after.backlog[after.turns :]
        covering = Coverage(rest, max(after.turns - len(after.backlog), 0))
        return covering._without(memory.explain()["parts"] if left else []), dropped + left

    def undone(self, memory: MemoryManager) -> Coverage:
        """Go on after an undo, which left `memory`: the next summary may tell of what is undone."""
        turns = sum(part["part"] == "turn" and part["kept"] for part in memory.explain()["parts"])
        return Coverage(self.backlog, min(self.ahead, turns))

    def plan(self, memory: MemoryManager, entry: ModelEntry, max_tokens: int) -> Making | None:
        """Return the making of the next summary, or None while there is one, or no need of one."""
        turns = [*self.backlog, *memory.leaving()[self.ahead :]]
        if self.text is not None or not turns:
            return None
        return Making(self, memory.summary, turns, entry, max_tokens)

    def _without(self, parts: Sequence[ExplainedPart]) -> Coverage:
        """Go on without the turns that `parts` says have left."""
        left = [part["messages"] for part in parts if not part["kept"] and part["part"] == "turn"]
        backlog = [*self.backlog, *left[self.ahead :]]
        ahead = max(self.ahead - len(left), 0)
        if len(backlog) <= MOST_TURNS:
            return Coverage(backlog, ahead, self.text, self.turns)
        return Coverage(backlog[-MOST_TURNS:], ahead)


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
        entry: ModelEntry,
        max_tokens: int,
    ) -> None:
        self.coverage = coverage
        self.kept = False
        used, room = summarizing(entry, max_tokens)
        self.entry = used
        self.messages = summary_messages(
            previous,
            [message for turn in turns for message in turn],
            max_tokens=max_tokens,
            max_input_tokens=room,
        )
        self._turns = len(turns)
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
        return Coverage(self.coverage.backlog, self.coverage.ahead, text, self._turns)


def read_summary_tokens(value: object) -> int:
    """Return the limit of a summary, checked, or raise `InvalidLimitError`."""
    whole = whole_number(value)
    if whole is None or whole < 1:
        raise InvalidLimitError("summary_tokens", value, "a whole number from 1 up")
    return whole


def summarizing(entry: ModelEntry, max_tokens: int) -> tuple[ModelEntry, int]:
    """Return the settings under which `entry` summarises, and the room for the conversation."""
    # A model that always thinks does so before the summary, and needs room for it.
    always_thinks = entry.opens_thinking or isinstance(entry.think, str)
    # Twice the limit: one that is passed is told apart from an answer that was cut off.
    most = max_tokens * 2 + (entry.answer_tokens if always_thinks else 0)
    room = entry.num_ctx - most - max_tokens - REQUEST_TOKENS
    options = {**entry.options, "num_predict": most}
    think = "low" if isinstance(entry.think, str) else False
    used = replace(entry, think=think, options=options)
    return used, min(max(room, LEAST_INPUT_TOKENS), MOST_INPUT_TOKENS)


def put_in(memory: MemoryManager, summary: Summary) -> list[Message] | None:
    """Set the summary and make room for it; returns what left, None where there is no room."""
    try:
        memory.summary = summary
    except BudgetExceededError:
        return None
    if not memory.over_budget:
        return []
    left = memory.restore(memory.snapshot())
    no_room = memory.over_budget or has_steps(memory.explain()["parts"])
    return None if no_room else left


def has_steps(parts: Sequence[ExplainedPart]) -> bool:
    return any(part["part"] == "steps" for part in parts)
