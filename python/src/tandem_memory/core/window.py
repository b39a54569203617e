"""The window: what a model is sent. Turns and limits in, a cut out; pure functions.

A window is the newest turns, always whole, within a number of turns and a number of tokens. Only
inside the newest turn, where that alone is over the token budget, do single steps leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from .errors import InvalidLimitError
from .messages import Message, read_message
from .tokens import estimate_tokens
from .turns import (
    CountTokens,
    Turn,
    count_message,
    extend_turns,
    is_closed,
    take_steps,
    turn_messages,
)
from .values import whole_number

__all__ = ["Cut", "Limits", "Window", "cut_turns", "foresee_cut", "read_limits", "window"]


class Window(TypedDict):
    """A conversation in two parts, each in its order, and the token cost of the kept one."""

    kept: list[Message]
    dropped: list[Message]
    tokens: int


def window(
    messages: Iterable[object],
    *,
    max_turns: int | None = 20,
    max_tokens: int | None = None,
    trim_to: int | None = None,
    count_tokens: CountTokens = estimate_tokens,
) -> Window:
    """Return which of `messages` a model should see: `MemoryManager`'s rule as a pure function.

    `messages` is a whole conversation; a system message may stand first and is always kept. The
    limits are `MemoryManager`'s. What comes back are copies. Where even the least window is over
    `max_tokens`, it is kept all the same and `tokens` shows it. Raises `InvalidLimitError`,
    `InvalidMessageError`, `ToolCallNotFoundError` and `InvalidTokenCountError`.
    """
    limits = read_limits(max_turns, max_tokens, trim_to)
    rest = [read_message(message, f"messages[{i}]") for i, message in enumerate(messages)]
    system = [rest.pop(0)] if rest and rest[0]["role"] == "system" else []
    turns: list[Turn] = []
    for message in rest:
        extend_turns(turns, message, count_tokens)
    tokens = sum(count_message(message, count_tokens) for message in system)
    tokens += sum(turn.tokens for turn in turns)
    cut = cut_turns(turns, limits, tokens)
    steps = take_steps(turns[-1], cut.steps) if cut.steps else []
    dropped = turn_messages(turns[: cut.turns]) + [m for step in steps for m in step.messages]
    kept = system + turn_messages(turns[cut.turns :])
    return {"kept": kept, "dropped": dropped, "tokens": tokens - cut.tokens}


@dataclass(frozen=True)
class Limits:
    """The limits of a window, as `read_limits` checked them; None is no limit."""

    max_turns: int | None
    max_tokens: int | None
    trim_to: int | None

    @property
    def target_turns(self) -> int | None:
        """How many closed turns a trim leaves."""
        return self.max_turns if self.trim_to is None else self.trim_to

    @property
    def target_tokens(self) -> int | None:
        """How many tokens a trim leaves: under `trim_to`, the same share of `max_tokens`."""
        if self.max_tokens is None or self.trim_to is None or not self.max_turns:
            return self.max_tokens
        return self.max_tokens * self.trim_to // self.max_turns


def read_limits(max_turns: object, max_tokens: object, trim_to: object) -> Limits:
    """Return the limits, checked; raises `InvalidLimitError` naming the first that is wrong."""
    limits = Limits(
        read_limit("max_turns", max_turns),
        read_limit("max_tokens", max_tokens),
        read_limit("trim_to", trim_to),
    )
    if limits.trim_to is not None:
        if limits.max_turns is None:
            raise InvalidLimitError("trim_to", trim_to, "left out where there is no max_turns")
        if limits.trim_to > limits.max_turns:
            raise InvalidLimitError("trim_to", trim_to, f"at most max_turns, {limits.max_turns}")
    return limits


def read_limit(name: str, value: object) -> int | None:
    if value is None:
        return None
    whole = whole_number(value)
    if whole is None:
        raise InvalidLimitError(name, value, "a whole number from 0 up, or None for no limit")
    return whole


@dataclass(frozen=True)
class Cut:
    """What must leave a window: its oldest turns, then the oldest loose steps of its newest turn.

    `by_turns` says how many of the turns leave by `max_turns`; all else leaves by `max_tokens`.
    `tokens` is what leaves in all.
    """

    turns: int = 0
    by_turns: int = 0
    steps: int = 0
    tokens: int = 0


def foresee_cut(turns: Sequence[Turn], limits: Limits, tokens: int) -> int:
    """Return how many of the oldest `turns` the next trim is to drop, once it is near; else 0.

    It is near when there are `max_turns` closed turns, or when three quarters of `max_tokens` are
    used up: then it will leave about as much less than the tokens that a trim leaves.
    """
    if not turns:
        return 0
    closed = len(turns) if is_closed(turns[-1]) else len(turns) - 1
    near_turns = limits.max_turns is not None and closed >= limits.max_turns
    near_tokens = limits.max_tokens is not None and tokens * 4 > limits.max_tokens * 3
    if not near_turns and not near_tokens:
        return 0
    leaving = 0 if limits.target_turns is None else max(closed + 1 - limits.target_turns, 0)
    if limits.target_tokens is not None:
        cost = sum(turn.tokens for turn in turns[:leaving])
        while leaving < closed and (tokens - cost) * 4 > limits.target_tokens * 3:
            cost += turns[leaving].tokens
            leaving += 1
    return min(leaving, closed)


def cut_turns(turns: Sequence[Turn], limits: Limits, tokens: int, start: int = 0) -> Cut:
    """Return what must leave the window `turns[start:]`; `tokens` is its cost, system included.

    Nothing is read but the ends, so the cost is that of what leaves, not of the window.
    """
    count = len(turns) - start
    if count == 0:
        return Cut()
    newest = turns[-1]
    closed = count if is_closed(newest) else count - 1
    past_turns = limits.max_turns is not None and closed > limits.max_turns
    past_tokens = limits.max_tokens is not None and tokens > limits.max_tokens
    if not past_turns and not past_tokens:
        return Cut()
    leaving = 0 if limits.target_turns is None else max(closed - limits.target_turns, 0)
    by_turns = leaving if past_turns else 0
    cost = sum(turns[start + i].tokens for i in range(leaving))
    steps = 0
    if limits.target_tokens is not None and leaving < count:
        excess = tokens - limits.target_tokens
        while cost < excess and leaving < count - 1:
            cost += turns[start + leaving].tokens
            leaving += 1
        first = newest.first_loose_step
        while cost < excess and first + steps < len(newest.steps) - 1:
            cost += newest.steps[first + steps].tokens
            steps += 1
    return Cut(leaving, by_turns, steps, cost)
