"""Summaries over real HTTP: what ends one that is being made.

When one is made, and what of it is kept, is in the fixtures; twin:
typescript/tests/summarizer.test.ts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from loopback import Answer, Loopback, said, whole
from tandem_memory import AsyncChat, Chat, InvalidLimitError, ModelEntry, make_entry


@pytest.fixture
def server() -> Iterator[Loopback]:
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
def entry(server: Loopback) -> ModelEntry:
    return make_entry("t", {"model": "m:1", "host": server.url})


def test_question_ends_the_summary(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [
        whole("a1"),
        Answer(said("They"), end="stall"),
        whole("a2"),
        whole("They met."),
    ]
    chat = Chat(entry, max_turns=1, summarize=True)
    chat.ask("q1")
    while len(server.requests) < 2:
        time.sleep(0.01)
    assert chat.ask("q2").content == "a2"
    assert chat.settle()
    request = server.requests[-1][1]["messages"][0]["content"]
    assert request.endswith("User: q1\nAssistant: a1\nUser: q2\nAssistant: a2")
    assert chat.memory.summary is None


def test_async_question_ends_the_summary(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [
        whole("a1"),
        Answer(said("They"), end="stall"),
        whole("a2"),
        whole("They met."),
    ]

    async def run() -> None:
        chat = AsyncChat(entry, max_turns=1, summarize=True)
        await chat.ask("q1")
        while len(server.requests) < 2:  # noqa: ASYNC110 - the server is in a thread
            await asyncio.sleep(0.01)
        assert (await chat.ask("q2")).content == "a2"
        assert await chat.settle()
        assert chat.memory.summary is None

    asyncio.run(run())
    assert server.hung_up.wait(5)


def test_question_ends_what_there_is_to_settle(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("a1"), whole("They met."), whole("a2")] * 2
    chat = Chat(entry, max_turns=1)
    chat.ask("q1")
    assert chat.summarize()
    chat.ask("q2")
    assert not chat.settle()

    async def run() -> None:
        chat = AsyncChat(entry, max_turns=1)
        await chat.ask("q1")
        assert await chat.summarize()
        await chat.ask("q2")
        assert not await chat.settle()

    asyncio.run(run())


def test_clear_ends_the_summary(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("a1"), Answer(said("They"), end="stall")]
    chat = Chat(entry, max_turns=1, summarize=True)
    chat.ask("q1")
    chat.clear()
    assert not chat.settle()
    assert chat.memory.summary is None


def test_close_ends_the_summary(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("a1"), Answer(said("They"), end="stall"), whole("a2")]
    chat = Chat(entry, max_turns=1, summarize=True)
    chat.ask("q1")
    while len(server.requests) < 2:
        time.sleep(0.01)
    chat.close()
    assert not chat.settle()
    assert chat.ask("q2").content == "a2"


def test_async_close_ends_the_summary(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("a1"), Answer(said("They"), end="stall")]

    async def run() -> None:
        chat = AsyncChat(entry, max_turns=1, summarize=True)
        await chat.ask("q1")
        while len(server.requests) < 2:  # noqa: ASYNC110 - the server is in a thread
            await asyncio.sleep(0.01)
        await chat.close()
        assert not await chat.settle()
        assert await asyncio.to_thread(server.hung_up.wait, 5)

    asyncio.run(run())


def test_summary_has_a_limit(entry: ModelEntry) -> None:
    with pytest.raises(InvalidLimitError):
        Chat(entry, summary_tokens=0)
