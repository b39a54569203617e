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
from .backlog import MOST_TURNS
from .settings import ModelEntry
from .wire import Delta

__all__ = ["Coverage", "Making", "read_summary_tokens"]

MOST_INPUT_TOKENS = 2048
"""What of a conversation is sent to be summarised at most; less where the context is small."""

LEAST_INPUT_TOKENS = 64

REQUEST_TOKENS = 128
"""What the request itself costs, and the template around it."""


class Coverage:
    """How far a conversation is summarised; it is never changed, but replaced.

    The memory's summary tells of the conversation's first turns, up to its number of `turns`. What
    waits for the next one are the turns behind these: those that have left, then those that are
    about to leave.

    `backlog`: the newest of the turns that left and are not told, oldest first.
    `loose`: the steps that have left the window's oldest turn while it was its only one.
    `text`: the next summary, None where there is none. `until`: the number of the last turn that
        it tells of, counted from the conversation's first.
    """

    def __init__(
        self,
        backlog: Sequence[Sequence[Message]] = (),
        loose: Sequence[Message] = (),
        text: str | None = None,
        until: int = 0,
    ) -> None:
        self.backlog = backlog
        self.loose = loose
        self.text = text
        self.until = until

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
        before, left_before = memory.snapshot(), memory.dropped_turns
        left = put_in(memory, {"text": after.text, "turns": after.until})
        if left is None:
            memory.restore(before, trim=False)
            return after, dropped
        told = max(after.until - left_before + len(after.backlog), 0)
        covering = Coverage(after.backlog[told:], after.loose)
        return covering._without(memory.explain()["parts"] if left else []), dropped + left

    def undone(self, memory: MemoryManager) -> Coverage:
        """Go on after an undo, which left `memory`: the next summary may tell of what is undone."""
        return Coverage(self.backlog, self.loose if memory.snapshot()["messages"] else ())

    def plan(self, memory: MemoryManager, entry: ModelEntry, max_tokens: int) -> Making | None:
        """Return the making of the next summary, or None while there is one, or no need of one."""
        summary, dropped_turns = memory.summary, memory.dropped_turns
        told = max((summary["turns"] if summary else 0) - dropped_turns, 0)
        leaving = [
            with_steps(turn, () if i else self.loose) for i, turn in enumerate(memory.leaving())
        ]
        ahead = leaving[told:]
        turns = [*self.backlog, *ahead]
        if self.text is not None or not turns:
            return None
        until = dropped_turns + (len(leaving) if ahead else 0)
        return Making(self, summary, turns, until, entry, max_tokens)

    def _without(self, parts: Sequence[ExplainedPart]) -> Coverage:
        """Go on without the turns, and the steps, that `parts` says have left."""
        loose, backlog = self.loose, list(self.backlog)
        for part in parts:
            if part["part"] == "steps":
                loose = [*loose, *part["messages"]]
            elif not part["kept"]:
                if not part["summarised"]:
                    backlog.append(with_steps(part["messages"], loose))
                loose = ()
        return Coverage(backlog[-MOST_TURNS:], loose, self.text, self.until)


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


def with_steps(turn: Sequence[Message], steps: Sequence[Message]) -> list[Message]:
    """Return a turn with the steps that had left it back behind its question."""
    first = 1 if turn[0]["role"] == "user" else 0
    return [*turn[:first], *steps, *turn[first:]]


def has_steps(parts: Sequence[ExplainedPart]) -> bool:
    return any(part["part"] == "steps" for part in parts)
