"""Explanations: which turn is kept, which left, by which rule, and at what token cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from .frame import Context
from .messages import Message
from .summary import Summary
from .turns import Step, Turn, is_closed, turn_messages
from .window import Cut

__all__ = ["ExplainedPart", "Explanation", "explain_cut", "explain_window"]

Rule = Literal["max_turns", "max_tokens"]


class ExplainedPart(TypedDict):
    """A turn, or the steps that left the newest turn.

    `rule` is null for what is kept. `open` is true for a turn that still waits for its answer.
    `summarised`: whether the summary tells of it.
    """

    part: Literal["turn", "steps"]
    kept: bool
    rule: Rule | None
    open: bool
    summarised: bool
    tokens: int
    messages: list[Message]


class Explanation(TypedDict):
    """A window as `MemoryManager.explain` tells it, oldest part first.

    `tokens` is the cost of all that is kept, `system_tokens` of the system message alone,
    `context_tokens` of what was recalled, wherever that stands. `dropped_turns`: how many turns
    have left the window, those among the parts included.
    """

    tokens: int
    max_tokens: int | None
    max_turns: int | None
    trim_to: int | None
    over_budget: bool
    system_prompt: str | None
    summary: Summary | None
    context: Context | None
    system_tokens: int
    context_tokens: int
    dropped_turns: int
    parts: list[ExplainedPart]


def explain_cut(turns: Sequence[Turn], steps: Sequence[Step], cut: Cut) -> list[ExplainedPart]:
    """Return the parts that left by `cut`: whole turns, then steps of the newest turn."""
    parts = [
        dropped("turn", "max_turns" if i < cut.by_turns else "max_tokens", turn.steps)
        for i, turn in enumerate(turns)
    ]
    return [*parts, dropped("steps", "max_tokens", steps)] if steps else parts


def explain_window(
    turns: Sequence[Turn], dropped_parts: Sequence[ExplainedPart], told: int
) -> list[ExplainedPart]:
    """Return the parts of a window with those that left, in the conversation's order.

    `told`: how many of the window's turns the summary tells of; below 0, how many of the newest
    that left it does not tell of.
    """
    # Steps that left stand just before the newest turn, from which they came.
    left = [part for part in dropped_parts if part["part"] == "turn"]
    steps = [part for part in dropped_parts if part["part"] == "steps"]
    kept = [kept_turn(turn, is_open=turn is turns[-1] and not is_closed(turn)) for turn in turns]
    whole = [*left, *kept]
    for part in whole[: max(len(left) + told, 0)]:
        part["summarised"] = True
    return [*whole[:-1], *steps, whole[-1]] if kept else [*whole, *steps]


def kept_turn(turn: Turn, *, is_open: bool) -> ExplainedPart:
    return {
        "part": "turn",
        "kept": True,
        "rule": None,
        "open": is_open,
        "summarised": False,
        "tokens": turn.tokens,
        "messages": turn_messages([turn]),
    }


def dropped(part: Literal["turn", "steps"], rule: Rule, steps: Sequence[Step]) -> ExplainedPart:
    return {
        "part": part,
        "kept": False,
        "rule": rule,
        "open": False,
        "summarised": False,
        "tokens": sum(step.tokens for step in steps),
        "messages": [message for step in steps for message in step.messages],
    }
