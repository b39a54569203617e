"""The token estimate: what holds for every text and message, and how close its figures are."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem_memory.core.messages import Message
from tandem_memory.core.tokens import IMAGE_TOKENS, estimate_text, estimate_tokens, estimate_tools
from tandem_memory.core.values import JsonObject

TEXTS = st.text(st.characters(codec=None), max_size=60)
"""Of all code points, lone surrogates included."""

JOIN = 5
"""The most tokens by which two texts apart and joined differ: a code point's cost, rounded."""

TOOL: JsonObject = {
    "type": "function",
    "function": {"name": "now", "parameters": {"type": "object", "properties": {}}},
}


@given(TEXTS)
def test_a_text_costs_at_most_four_tokens_a_code_point_and_none_less_than_zero(text: str) -> None:
    assert 0 <= estimate_text(text) <= 4 * len(text)


@given(TEXTS, TEXTS)
def test_a_longer_text_never_costs_less(text: str, more: str) -> None:
    assert estimate_text(text) <= estimate_text(text + more)


@given(TEXTS, TEXTS)
def test_two_texts_joined_cost_their_sum_within_rounding(text: str, more: str) -> None:
    apart = estimate_text(text) + estimate_text(more)
    assert abs(estimate_text(text + more) - apart) <= JOIN


@given(st.text(st.characters(categories=["Cs"]), max_size=20), TEXTS)
def test_a_lone_surrogate_costs_what_its_replacement_costs(lone: str, text: str) -> None:
    assert estimate_text(text + lone) == estimate_text(text + "\ufffd" * len(lone))


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("The cat sat by the window and watched the rain come down on the quiet street.", 17),
        ("我想了解明天去杭州的火车时刻和票价", 12),
        ("3.14159265358979", 16),
    ],
)
def test_an_everyday_text_is_within_a_quarter_of_the_tokenizers_count(
    text: str, exact: int
) -> None:
    assert exact * 0.75 <= estimate_text(text) <= exact * 1.25


def test_a_message_costs_its_content_and_five_tokens_of_template() -> None:
    assert estimate_tokens({"role": "user", "content": "hello"}) == 5 + estimate_text("hello")


def test_thinking_and_unknown_fields_cost_nothing() -> None:
    plain: Message = {"role": "assistant", "content": "yes"}
    full = cast("Message", plain | {"thinking": "hm " * 999, "mood": "good", "tool_call_id": "7"})
    assert estimate_tokens(full) == estimate_tokens(plain)


def test_an_image_costs_the_same_at_any_size() -> None:
    message: Message = {"role": "user", "content": "look", "images": ["A" * 400_000, ""]}
    plain: Message = {"role": "user", "content": "look"}
    assert estimate_tokens(message) == estimate_tokens(plain) + 2 * IMAGE_TOKENS


def test_a_calls_arguments_cost_the_same_in_any_order() -> None:
    orders = ({"b": 1, "10": 2, "9": 3}, {"9": 3, "10": 2, "b": 1})
    messages: list[Message] = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "add", "arguments": {**order}}}],
        }
        for order in orders
    ]
    first, second = map(estimate_tokens, messages)
    assert first == second > estimate_tokens({"role": "assistant", "content": ""}) + 5


def test_no_tools_cost_nothing_and_each_adds_its_schema() -> None:
    costs = [estimate_tools([TOOL] * count) for count in range(4)]
    assert costs[0] == 0
    assert costs[2] - costs[1] == costs[3] - costs[2] > 10
