"""What an application's own functions, and what it sets, may do to a chat under way.

Twin: typescript/tests/callbacks.test.ts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from loopback import Loopback, whole
from tandem_memory import (
    AsyncChat,
    BudgetExceededError,
    Chat,
    ChatEvent,
    ModelEntry,
    make_entry,
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
def entry(server: Loopback) -> ModelEntry:
    return make_entry("t", {"model": "m:1", "host": server.url})


class Listener:
    """Notes the types of events, and raises at those of one type."""

    def __init__(self, raises_at: str) -> None:
        self.types: list[str] = []
        self._raises_at = raises_at

    def __call__(self, event: ChatEvent) -> None:
        self.types.append(event.type)
        if event.type == self._raises_at:
            raise ZeroDivisionError


def test_listener_that_raises_loses_neither_the_answer_nor_the_other_events(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [whole("a1"), whole("a2"), whole("a3")]
    listener = Listener("recalled")
    chat = Chat(
        entry, max_turns=1, recall={"q2": "A cat."}.get, context="question", on_event=listener
    )
    chat.ask("q1")
    with pytest.raises(ZeroDivisionError):
        chat.ask("q2")
    assert [message["content"] for message in chat.memory.get_messages()][1:] == ["a2"]
    assert listener.types == ["recalled"]
    chat.ask("q3")
    assert listener.types == ["recalled", "trimmed", "trimmed"]


def test_recall_that_raises_takes_the_question_back(server: Loopback, entry: ModelEntry) -> None:
    def recall(question: str) -> str:
        raise ZeroDivisionError(question)

    chat = Chat(entry, recall=recall)
    with pytest.raises(ZeroDivisionError):
        chat.ask("q1")
    assert chat.memory.get_messages() == []
    assert server.requests == []


def test_leaving_in_mid_recall_takes_the_question_back(server: Loopback, entry: ModelEntry) -> None:
    async def run() -> None:
        recalls = asyncio.Event()

        async def recall(question: str) -> str:
            recalls.set()
            await asyncio.sleep(60)
            return question

        chat = AsyncChat(entry, recall=recall)
        task = asyncio.create_task(chat.ask("q1"))
        await recalls.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert chat.memory.get_messages() == []

    asyncio.run(run())
    assert server.requests == []


def test_system_prompt_that_has_no_room_beside_what_was_recalled_changes_nothing(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [whole("a", "1"), whole("a2")]
    chat = Chat(
        entry, system_prompt="Be kind.", max_tokens=60, recall=lambda _: "cat", context="question"
    )
    with chat.stream("q1") as stream:
        next(stream)
        with pytest.raises(BudgetExceededError):
            chat.system_prompt = "word " * 48
        assert chat.system_prompt == "Be kind."
