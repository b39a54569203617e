"""Coverage: which turns are to be summarised next, and when a summary is put in.

A summary is made beforehand, of the turns that the next trim is to drop, and put in together with
that trim: so nobody waits for it, and the prompt's front changes once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.explanation import ExplainedPart
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.summary import Summary
from .backlog import MOST_TURNS
from .room import has_steps, make_room

__all__ = ["Coverage"]


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

    def without(self, parts: Sequence[ExplainedPart]) -> Coverage:
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

    def follow(
        self, memory: MemoryManager, dropped: list[Message]
    ) -> tuple[Coverage, list[Message]]:
        """Go on after an add to `memory` that `dropped` these; returns all that left by it.

        Once a turn of the next summary has left, that is put in. More turns leave where it needs
        their room; the newest one stays whole, or the summary waits.
        """
        parts = memory.explain()["parts"] if dropped else []
        after = self.without(parts)
        if after.text is None or not after.backlog or has_steps(parts):
            return after, dropped
        summary: Summary = {"text": after.text, "turns": after.until}
        left_before = memory.dropped_turns

        def put_in() -> None:
            memory.summary = summary

        left = make_room(memory, put_in)
        if left is None:
            return after, dropped
        told = max(after.until - left_before + len(after.backlog), 0)
        covering = Coverage(after.backlog[told:], after.loose)
        return covering.without(memory.explain()["parts"] if left else []), dropped + left

    def undone(self, memory: MemoryManager) -> Coverage:
        """Go on after an undo, which left `memory`: the next summary may tell of what is undone."""
        return Coverage(self.backlog, self.loose if memory.snapshot()["messages"] else ())

    def waiting(self, memory: MemoryManager) -> tuple[list[Sequence[Message]], int]:
        """Return the turns that the next summary is to tell of, and the number of the last.

        There are none while there is a next summary.
        """
        summary, dropped_turns = memory.summary, memory.dropped_turns
        told = max((summary["turns"] if summary else 0) - dropped_turns, 0)
        leaving = [
            with_steps(turn, () if i else self.loose) for i, turn in enumerate(memory.leaving())
        ]
        ahead = leaving[told:]
        turns = [*self.backlog, *ahead]
        until = dropped_turns + (len(leaving) if ahead else 0)
        return ([] if self.text is not None else turns), until


def with_steps(turn: Sequence[Message], steps: Sequence[Message]) -> list[Message]:
    """Return a turn with the steps that had left it back behind its question."""
    first = 1 if turn[0]["role"] == "user" else 0
    return [*turn[:first], *steps, *turn[first:]]
