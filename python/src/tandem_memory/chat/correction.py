"""Corrections: in what a tokenizer differs from the estimate, learnt from its server's counts.

The estimate is fitted to Qwen3. Each group of scripts has a weight, in thousandths, by which it is
multiplied for a model; a count of a whole prompt says what the weighted groups should add up to,
and its difference to the count before says it of what was new. The weights move by the least that
satisfies each (Kaczmarz 1937), damped as in normalized least mean squares (Nagumo and Noda 1967),
so that short texts teach little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..core.costs import GROUPS
from ..core.errors import InvalidLimitError
from ..core.values import whole_number

__all__ = ["Corrections"]

LEAST, MOST = 500, 8000
"""Bounds of a weight: a vocabulary without a script's characters spells them byte by byte."""

STEADY = 16
"""A text of so many tokens moves the weights half of the way."""

EASE = 16
"""What was counted too high is taken back by this part: it costs a little of the window, while what
was counted too low costs the answer its room.
"""


class Corrections:
    """What was learnt of each model, by its name; chats of one process may share it.

    `weights`: what `weights` said before, to go on with it: thousandths for Latin letters, digits
        and signs, Chinese, Japanese and Korean, and the other scripts. Raises `InvalidLimitError`.
    """

    def __init__(self, weights: Mapping[str, Sequence[int]] | None = None) -> None:
        self._weights: dict[str, list[int]] = {}
        given = weights or {}
        # In JavaScript's order of names, so that of several faults both languages tell the same.
        for model in sorted(given, key=lambda name: name.encode("utf-16-be", "surrogatepass")):
            self._weights[model] = read_weights(given[model])
        self._last: dict[str, tuple[list[int], int]] = {}

    @property
    def weights(self) -> dict[str, list[int]]:
        """The weights by model, a copy that can be kept as JSON."""
        return {model: list(each) for model, each in self._weights.items()}

    def apply(self, model: str, costs: Sequence[int]) -> int:
        """Return the tokens that `costs` are to the model: hundredths by group, rounded up."""
        weights = self._weights.get(model)
        if weights is None:
            return -(-sum(costs) // 100)
        return -(-sum(w * c for w, c in zip(weights, costs, strict=True)) // 100_000)

    def worst(self, model: str) -> int:
        """Return the most, in thousandths, by which a text may be more than its estimate."""
        return max([1000, *self._weights.get(model, [])])

    def learn(self, model: str, costs: Sequence[int], tokens: int) -> None:
        """Learn that a whole prompt of `costs` was `tokens` to the model's server."""
        weights = self._weights.get(model, [1000] * len(GROUPS))
        last = self._last.get(model)
        if last:
            # What left teaches as much as what came, so it is taken the other way round.
            sign = 1 if sum(costs) >= sum(last[0]) else -1
            changed = [sign * (a - b) for a, b in zip(costs, last[0], strict=True)]
            weights = fit(weights, changed, sign * (tokens - last[1]))
        self._weights[model] = fit(weights, costs, tokens)
        self._last[model] = list(costs), tokens

    def tighten(self, model: str, costs: Sequence[int], tokens: int) -> None:
        """Take `costs` for `tokens` at least, where all that is known is that they are as many."""
        known = self.apply(model, costs)
        if 0 < known < tokens:
            weights = self._weights.get(model, [1000] * len(GROUPS))
            self._weights[model] = [min(-(-w * tokens // known), MOST) for w in weights]


def fit(weights: Sequence[int], costs: Sequence[int], tokens: int) -> list[int]:
    """Return the weights moved so that `costs` come nearer to `tokens`."""
    sizes = [cost / 100 for cost in costs]
    missing, reach = float(tokens), float(STEADY * STEADY)
    for weight, size in zip(weights, sizes, strict=True):
        missing -= weight * size / 1000
        reach += size * size
    if missing < 0:
        missing /= EASE
    moved = [w + 1000 * missing * s / reach for w, s in zip(weights, sizes, strict=True)]
    return [min(max(math.floor(each + 0.5), LEAST), MOST) for each in moved]


def read_weights(value: Sequence[object]) -> list[int]:
    items = list(value) if isinstance(value, list | tuple) else []
    weights = [whole for whole in map(whole_number, items) if whole is not None]
    if len(weights) != len(GROUPS) or not all(LEAST <= each <= MOST for each in weights):
        allowed = f"{len(GROUPS)} whole numbers from {LEAST} to {MOST} for each model"
        raise InvalidLimitError("corrections", value, allowed)
    return weights
