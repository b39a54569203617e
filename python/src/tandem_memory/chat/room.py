"""Room: what else is sent makes room for the question, and turns leave for what is put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.errors import BudgetExceededError
from ..core.explanation import ExplainedPart
from ..core.frame import Context
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.turns import CountTokens

__all__ = ["fit_context", "has_steps", "make_room"]

CONTEXT_SHARE = 4
"""Recalled context takes this part of the budget at most: a quarter, so that the turns go on."""


def make_room(memory: MemoryManager, change: Callable[[], object]) -> list[Message] | None:
    """Make a change of what stands beside the turns, and let the oldest turns leave for it.

    Returns what left. Where the newest turn would not stay whole, returns None, and all is as it
    was.
    """
    before = memory.snapshot()
    try:
        change()
    except BudgetExceededError:
        return None
    if not memory.over_budget:
        return []
    left = memory.restore(memory.snapshot())
    if memory.over_budget or has_steps(memory.explain()["parts"]):
        memory.restore(before, trim=False)
        return None
    return left


def fit_context(
    memory: MemoryManager, context: Context, count_tokens: CountTokens
) -> Context | None:
    """Return what of `context` there is room for beside the newest turn: its first lines."""
    told = memory.explain()
    allowed = told["max_tokens"]
    if allowed is None:
        return context if context["text"] else None
    newest = told["parts"][-1]["tokens"] if told["parts"] else 0
    frame = told["tokens"] - sum(part["tokens"] for part in told["parts"] if part["kept"])
    room = min(allowed - frame - newest, allowed // CONTEXT_SHARE)
    lines = context["text"].split("\n")
    while lines:
        text = "\n".join(lines)
        if text and count_tokens({"role": "user", "content": text}) <= room:
            return {**context, "text": text}
        lines.pop()
    return None


def has_steps(parts: Sequence[ExplainedPart]) -> bool:
    """Return whether steps of the newest turn are among what left."""
    return any(part["part"] == "steps" for part in parts)
