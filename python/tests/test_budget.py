"""The room that a chat's options leave, and when a model is asked what it is.

How the budget holds is in the fixtures; twin: typescript/tests/budget.test.ts.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from typing import Any

import pytest

from loopback import Answer, Loopback, whole
from tandem_memory import (
    AsyncChat,
    Chat,
    InvalidLimitError,
    ModelEntry,
    ModelNotFoundError,
    make_entry,
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    server = Loopback(shows=True)
    yield server
    server.close()


@pytest.fixture
def entry(server: Loopback) -> ModelEntry:
    return make_entry("t", {"model": "m:1", "host": server.url})


def test_answer_without_room_for_a_question_is_refused_at_once() -> None:
    entry = make_entry("t", {"model": "m:1", "num_ctx": 100, "answer_tokens": 100})
    with pytest.raises(InvalidLimitError) as caught:
        Chat(entry)
    assert caught.value.data == {"limit": "answer_tokens", "value": 100}


def test_tools_take_their_room_from_the_window(entry: ModelEntry) -> None:
    tool = {"type": "function", "function": {"name": "look", "description": "word " * 100}}
    plain, with_tools = (Chat(entry, tools=tools).memory.explain() for tools in ([], [tool]))
    budgets = plain["max_tokens"], with_tools["max_tokens"]
    assert budgets[0] == 8192 - 2048
    assert budgets[1] is not None
    assert 100 <= budgets[0] - budgets[1] <= 250


@pytest.mark.parametrize("wrong", [-1, 10_000.5, math.inf, math.nan, "50", True])
def test_wrong_budget_is_refused_though_the_context_leaves_less(
    entry: ModelEntry, wrong: Any
) -> None:
    with pytest.raises(InvalidLimitError) as caught:
        Chat(entry, max_tokens=wrong)
    assert caught.value.data["limit"] == "max_tokens"


MISSING = Answer([{"error": "model 'm:1' not found"}], status=404)
SHOWN = Answer(
    [{"model_info": {"general.architecture": "a", "a.context_length": 2048}, "capabilities": []}]
)


def test_model_that_was_missing_is_looked_at_once_it_is_there(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [MISSING, MISSING, SHOWN, whole("Hello")]
    chat = Chat(entry)
    with pytest.raises(ModelNotFoundError):
        chat.ask("Hi")
    chat.ask("Hi")
    assert server.requests[-1][1]["options"] == {"num_ctx": 2048}


def test_async_chat_looks_at_a_model_once_it_is_there(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [MISSING, MISSING, SHOWN, whole("Hello")]

    async def run() -> None:
        chat = AsyncChat(entry)
        with pytest.raises(ModelNotFoundError):
            await chat.ask("Hi")
        await chat.ask("Hi")

    asyncio.run(run())
    assert server.requests[-1][1]["options"] == {"num_ctx": 2048}
