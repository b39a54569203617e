"""The budget of a chat's window: what the model's context leaves, by its server's own count.

Tokens are counted by the estimate, corrected as the server's counts come in. The context is the one
that the entry asks for, or what the model has where that is less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import EllipsisType

from ..core.errors import InvalidLimitError
from ..core.messages import Message
from ..core.tokens import estimate_tokens, message_costs, tools_costs
from ..core.turns import CountTokens, count_message
from ..core.values import JsonObject
from ..core.window import read_limits
from .correction import Corrections
from .settings import ModelEntry, answer_room

__all__ = ["Budget", "has_images"]


class Budget:
    """What the window may cost under an entry; each of several models has counts of its own.

    `max_tokens`: `...` is all that the context leaves beside the answer and the `tools`; a number
        is that or less, None is no limit.
    `count_tokens`: one that is not `estimate_tokens` is taken as it is, and corrected only where
        the server refuses a prompt that it took for short enough; no other chat shares that.

    Raises `InvalidLimitError`.
    """

    def __init__(
        self,
        tools: Sequence[JsonObject],
        max_tokens: int | EllipsisType | None,
        count_tokens: CountTokens,
        corrections: Corrections,
    ) -> None:
        self._tools = tools_costs(tools)
        if max_tokens is not ...:
            max_tokens = read_limits(None, max_tokens, None).max_tokens
        self._max_tokens = max_tokens
        self._learns = count_tokens is estimate_tokens
        self._costs = message_costs if self._learns else plain(count_tokens)
        self._corrections = corrections if self._learns else Corrections()
        self._lengths: dict[tuple[str, str], int | None] = {}

    def knows(self, entry: ModelEntry) -> bool:
        """Return whether the entry's model was seen."""
        return (entry.host, entry.model) in self._lengths

    def see(self, entry: ModelEntry, context_length: int | None) -> None:
        """Take note of the model's whole context; None where its server does not say it."""
        self._lengths[entry.host, entry.model] = context_length

    def fit(self, entry: ModelEntry) -> ModelEntry:
        """Return the entry with no more context than its model has, and room for the answer."""
        length = self._lengths.get((entry.host, entry.model))
        if length is None or length >= entry.num_ctx:
            return entry
        room = min(entry.answer_tokens, answer_room(length))
        return replace(entry, num_ctx=length, answer_tokens=room)

    def limit(self, entry: ModelEntry) -> int | None:
        """Return what the window may cost, or raise `InvalidLimitError` where that is nothing."""
        if self._max_tokens is None:
            return None
        tools = self._corrections.apply(entry.model, self._tools)
        left = entry.num_ctx - entry.answer_tokens - tools
        if left < 1:
            allowed = f"so small that num_ctx, {entry.num_ctx}, has room for a question and tools"
            raise InvalidLimitError("answer_tokens", entry.answer_tokens, allowed)
        return left if self._max_tokens is ... else min(self._max_tokens, left)

    def counter(self, entry: ModelEntry) -> CountTokens:
        """Return what counts a message's tokens for the entry's model."""
        return partial(self._count, entry.model)

    def worst(self, entry: ModelEntry) -> int:
        """Return how many times its estimate a text may cost the entry's model, in thousandths."""
        return self._corrections.worst(entry.model)

    def learn(self, entry: ModelEntry, sent: Sequence[Message], tokens: int) -> None:
        """Learn the server's own count of what was sent.

        Images would teach of words what is true of images alone.
        """
        if self._learns and not has_images(sent):
            self._corrections.learn(entry.model, self._whole(sent), tokens)

    def tighten(self, entry: ModelEntry, sent: Sequence[Message], tokens: int) -> None:
        """Count what was sent as so many tokens at least from now on."""
        self._corrections.tighten(entry.model, self._whole(sent), tokens)

    def _count(self, model: str, message: Message) -> int:
        return self._corrections.apply(model, self._costs(message))

    def _whole(self, sent: Sequence[Message]) -> list[int]:
        return [sum(each) for each in zip(self._tools, *map(self._costs, sent), strict=True)]


def has_images(sent: Sequence[Message]) -> bool:
    """Return whether images are among what was sent: their real costs differ most by model."""
    return any(message.get("images") for message in sent)


def plain(count_tokens: CountTokens) -> Callable[[Message], list[int]]:
    """Return a counter's tokens as costs of one group."""
    return lambda message: [100 * count_message(message, count_tokens), 0, 0, 0]
