"""Tokens: an estimate of what a message costs a model, by the costs of its texts.

A sum of costs is rounded up once. The costs by group of scripts let a chat learn in what another
tokenizer differs from Qwen3's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .costs import GROUPS, text_costs
from .messages import Message
from .values import JsonObject, canonical_json

__all__ = [
    "IMAGE_TOKENS",
    "estimate_text",
    "estimate_tokens",
    "estimate_tools",
    "message_costs",
    "tools_costs",
]

IMAGE_TOKENS = 576
"""Tokens of an image, whose size in bytes says nothing: the 24 x 24 patches of LLaVA-1.5 (arXiv
2310.03744). Gemma 3 takes 256; a model that scales with the picture may take thousands.
"""

MESSAGE_TOKENS = 5
"""`<|im_start|>role\\n` and `<|im_end|>\\n`, by Qwen3's chat template, as are the three below."""

CALL_TOKENS = 4
"""`\\n<tool_call>\\n` and `</tool_call>` around the JSON of a call, which ends the line."""

RESULT_TOKENS = 4
"""`<tool_response>\\n` and `\\n</tool_response>` around a tool's result."""

TOOLS_TOKENS = 82
"""The instructions around the tools' schemas, in a system message of their own."""


def estimate_text(text: str) -> int:
    """Return about how many tokens `text` is, within a few percent of Qwen3's own count.

    It is never less for a longer text, and what two texts cost apart and joined differs by a few
    tokens at most. A lone surrogate counts as U+FFFD.
    """
    return round_up(text_costs(text))


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens `message` takes in the prompt, as it is sent.

    Counted are the template, content, images, and the calls' names and arguments; not `thinking`,
    which isn't sent back, nor any field that no template shows. The three tokens that open the
    answer belong to no message.
    """
    return round_up(message_costs(message))


def estimate_tools(tools: Sequence[JsonObject]) -> int:
    """Return about how many tokens the tools' schemas take in the prompt (none take 0)."""
    return round_up(tools_costs(tools))


def message_costs(message: Message) -> list[int]:
    """Return what `estimate_tokens` rounds up: the template counts as Latin, as do images."""
    whole, texts = MESSAGE_TOKENS, [message["content"]]
    whole += IMAGE_TOKENS * len(message.get("images", ()))
    if message["role"] == "tool":
        whole += RESULT_TOKENS
    for call in message.get("tool_calls", ()):
        called = call["function"]
        texts.append(canonical_json({"name": called["name"], "arguments": called["arguments"]}))
        whole += CALL_TOKENS
    return add_up(whole, texts)


def tools_costs(tools: Sequence[JsonObject]) -> list[int]:
    """Return what `estimate_tools` rounds up."""
    return add_up(TOOLS_TOKENS if tools else 0, map(canonical_json, tools))


def add_up(whole: int, texts: Iterable[str]) -> list[int]:
    costs = [100 * whole, *[0] * (len(GROUPS) - 1)]
    for text in texts:
        costs = [a + b for a, b in zip(costs, text_costs(text), strict=True)]
    return costs


def round_up(costs: Sequence[int]) -> int:
    """Return costs in hundredths as whole tokens."""
    return -(-sum(costs) // 100)
