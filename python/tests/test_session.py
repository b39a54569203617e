"""Chats over real HTTP: what is kept when a reader stops, a server fails, or two ask at once.

What a chat makes of an answer is in the fixtures; twin: typescript/tests/session.test.ts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from loopback import Answer, Loopback, said, whole
from tandem_memory import (
    AsyncChat,
    BudgetExceededError,
    Chat,
    InvalidMessageError,
    ModelEntry,
    NoAnswerError,
    ReplyBrokenOffError,
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


def talk(chat: Chat | AsyncChat) -> list[str]:
    """Return what is remembered, one text a message."""
    messages = chat.memory.get_messages()
    marks = ["!" if message.get("interrupted") else "" for message in messages]
    pairs = zip(messages, marks, strict=True)
    return [f"{message['role']}: {message['content']}{mark}" for message, mark in pairs]


def test_chat_remembers(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("Hello", " Flora"), whole("Flora")]
    chat = Chat(entry, system_prompt="Be kind.")
    assert chat.ask("My cat is Flora").content == "Hello Flora"
    assert chat.ask("Who is my cat?").prompt_tokens == 7
    assert server.requests[1][1]["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "My cat is Flora"},
        {"role": "assistant", "content": "Hello Flora"},
        {"role": "user", "content": "Who is my cat?"},
    ]


def test_async_chat_remembers(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("Hello"), whole("Flora")]

    async def run() -> AsyncChat:
        chat = AsyncChat(entry)
        await chat.ask("My cat is Flora")
        async with chat.stream("Who is my cat?") as stream:
            assert [piece async for piece in stream] == ["Flora"]
        assert stream.reply is not None
        return chat

    expected = ["user: My cat is Flora", "assistant: Hello"]
    assert talk(asyncio.run(run())) == [*expected, "user: Who is my cat?", "assistant: Flora"]


def test_leaving_the_block_keeps_the_part_and_hangs_up(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [Answer(said("Once ", "upon"), end="stall")]
    chat = Chat(entry)
    with chat.stream("A story?") as stream:
        assert [next(stream), next(stream)] == ["Once ", "upon"]
        assert talk(chat) == []
    assert server.hung_up.wait(5)
    assert stream.reply is not None
    assert stream.reply.interrupted
    assert talk(chat) == ["user: A story?", "assistant: Once upon!"]
    assert list(stream) == []


def test_error_of_the_reader_keeps_the_part(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [Answer(said("Once"), end="stall")]
    chat = Chat(entry)

    def read() -> None:
        with chat.stream("A story?") as stream:
            raise ZeroDivisionError(next(stream))

    with pytest.raises(ZeroDivisionError):
        read()
    assert talk(chat) == ["user: A story?", "assistant: Once!"]


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C waits for the socket")
def test_ctrl_c_keeps_the_part_and_hangs_up(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [Answer(said("Once"), end="stall")]
    chat = Chat(entry)
    stream = chat.stream("A story?")
    assert next(stream) == "Once"
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert talk(chat) == ["user: A story?", "assistant: Once!"]
    assert server.hung_up.wait(5)


def test_cancelled_task_keeps_the_part_and_hangs_up(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [Answer(said("Once"), end="stall"), Answer(end="stall")]

    async def run() -> AsyncChat:
        chat = AsyncChat(entry)
        for question in ("A story?", "Another?"):
            seen = asyncio.Event()

            async def read(question: str, seen: asyncio.Event) -> None:
                async for _ in chat.stream(question):
                    seen.set()

            task = asyncio.create_task(read(question, seen))
            if question == "A story?":
                await seen.wait()
            else:
                while len(server.requests) < 2:  # noqa: ASYNC110 - the server is in a thread
                    await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return chat

    assert talk(asyncio.run(run())) == ["user: A story?", "assistant: Once!"]
    assert server.hung_up.wait(5)


def test_stream_that_is_left_is_interrupted_by_the_next_question(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [Answer(said("Once"), end="stall"), whole("Yes")]
    chat = Chat(entry)
    left = chat.stream("A story?")
    for _ in left:
        break
    chat.ask("Are you there?")
    assert server.hung_up.wait(5)
    assert talk(chat) == [
        "user: A story?",
        "assistant: Once!",
        "user: Are you there?",
        "assistant: Yes",
    ]
    assert list(left) == []


def test_async_stream_that_is_left_is_interrupted_by_the_next_question(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [Answer(said("Once"), end="stall"), whole("Yes")]

    async def run() -> AsyncChat:
        chat = AsyncChat(entry)
        left = chat.stream("A story?")
        assert await anext(left) == "Once"
        await chat.ask("Are you there?")
        return chat

    expected = ["user: A story?", "assistant: Once!", "user: Are you there?", "assistant: Yes"]
    assert talk(asyncio.run(run())) == expected


def test_questions_of_several_threads_wait_their_turn(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("Yes") for _ in range(8)]
    chat = Chat(entry)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(chat.ask, map(str, range(8))))
    assert all(not reply.interrupted for reply in replies)
    said = talk(chat)
    assert sorted(said[::2]) == [f"user: {i}" for i in range(8)]
    assert said[1::2] == ["assistant: Yes"] * 8


def test_questions_of_several_tasks_wait_their_turn(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("Yes") for _ in range(3)]

    async def run() -> AsyncChat:
        chat = AsyncChat(entry)
        await asyncio.gather(*(chat.ask(question) for question in "abc"))
        return chat

    expected = [text for question in "abc" for text in (f"user: {question}", "assistant: Yes")]
    assert talk(asyncio.run(run())) == expected


def test_failure_leaves_all_as_it_was(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("a"), whole("b"), Answer(said("Once"), end="cut"), whole("c")]
    chat = Chat(entry, max_turns=1, trim_to=1)
    chat.ask("1")
    chat.ask("2")
    before = chat.memory.explain(), chat.memory.snapshot()
    with pytest.raises(ReplyBrokenOffError):
        chat.ask("3")
    assert (chat.memory.explain(), chat.memory.snapshot()) == before
    assert chat.ask("3").content == "c"
    assert [m["content"] for m in server.requests[3][1]["messages"]] == ["2", "b", "3"]


def test_stream_that_fails_has_no_reply(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [Answer(said("Once"), end="cut")]
    chat = Chat(entry)
    stream = chat.stream("A story?")
    with pytest.raises(ReplyBrokenOffError):
        list(stream)
    assert stream.reply is None
    assert talk(chat) == []


def test_stream_is_asked_with_its_first_piece(server: Loopback, entry: ModelEntry) -> None:
    chat = Chat(entry)
    with chat.stream("hi") as stream:
        pass
    assert server.requests == []
    with pytest.raises(NoAnswerError):
        stream.read()


def test_reading_on_after_some_pieces_gives_the_whole_answer(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [whole("Once ", "upon")]
    stream = Chat(entry).stream("A story?")
    assert next(stream) == "Once "
    assert stream.read().content == "Once upon"


def test_error_of_the_listener_fails_the_question(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [Answer([{"message": {"thinking": "hm"}}], end="stall")]
    chat = Chat(entry)

    def fail(_: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        chat.stream("hi", on_thinking=fail).read()
    assert talk(chat) == []
    assert server.hung_up.wait(5)


@pytest.mark.parametrize("name", ["clear", "undo"])
def test_clear_and_undo_end_the_stream_that_is_open(
    server: Loopback, entry: ModelEntry, name: str
) -> None:
    server.answers = [Answer(said("Once"), end="stall")]
    chat = Chat(entry)
    stream = chat.stream("A story?")
    next(stream)
    getattr(chat, name)()
    assert talk(chat) == []
    assert list(stream) == []


def test_system_prompt_set_in_mid_answer_holds(server: Loopback, entry: ModelEntry) -> None:
    server.answers = [whole("Once ", "upon")]
    chat = Chat(entry, system_prompt="Be kind.")
    with chat.stream("A story?") as stream:
        next(stream)
        chat.system_prompt = "Be brief."
        stream.read()
    assert chat.system_prompt == "Be brief."
    assert talk(chat)[0] == "system: Be brief."


def test_copies_are_handed_out(server: Loopback, entry: ModelEntry) -> None:
    call = {"function": {"name": "look", "arguments": {"at": 1}}}
    last = {"message": {"tool_calls": [call]}, "done": True, "done_reason": "stop"}
    server.answers = [Answer([last])]
    chat = Chat(entry)
    reply = chat.ask("look")
    reply.tool_calls[0]["function"]["arguments"]["at"] = 2
    assert chat.memory.get_messages()[1].get("tool_calls") == [call]


def test_system_prompt_without_room_is_refused_at_once(entry: ModelEntry) -> None:
    with pytest.raises(BudgetExceededError):
        Chat(entry, system_prompt="word " * 20_000)


def test_another_threads_wait_does_not_let_a_clear_between(
    server: Loopback, entry: ModelEntry
) -> None:
    server.answers = [whole("Yes")]
    chat = Chat(entry)
    asked, cleared = threading.Event(), threading.Event()

    def tell(_: str) -> None:
        asked.set()
        assert not cleared.wait(0.2)

    server.answers = [Answer([{"message": {"thinking": "hm"}}, *whole("Yes").parts])]

    def clear() -> None:
        asked.wait(5)
        chat.clear()
        cleared.set()

    thread = threading.Thread(target=clear)
    thread.start()
    reply = chat.ask("hi", on_thinking=tell)
    thread.join(5)
    assert reply.content == "Yes"
    assert talk(chat) == []


def test_place_of_context_is_checked(entry: ModelEntry) -> None:
    with pytest.raises(InvalidMessageError):
        Chat(entry, context=cast("Any", "top"))
