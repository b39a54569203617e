"""Chats with a real model; `nox -s live` says which, and on which engine.

A small model is weak, so nothing here looks at its wording: what is recalled is compared with a
chat that was not told. Twin: typescript/tests/live.test.ts.
"""

from __future__ import annotations

import itertools
import os

import pytest

from tandem_memory import (
    Chat,
    ContextTruncatedError,
    ModelEntry,
    NoAnswerError,
    OllamaEngine,
    UnsupportedCapabilityError,
    make_entry,
)

pytestmark = pytest.mark.live

SYSTEM = "You are a helpful assistant."
FACTS = [
    ("My cat is called Flora.", "What is my cat called?", "flora"),
    ("My sister is called Martha.", "What is the name of my sister?", "martha"),
]


def live_entry(**settings: object) -> ModelEntry:
    """Return the model to test with: equal answers on reruns, and short ones."""
    options = {"temperature": 0, "seed": 1, "num_predict": settings.pop("num_predict", 24)}
    given = {
        "model": os.environ.get("TANDEM_LIVE_MODEL", "qwen3:0.6b"),
        "host": os.environ["TANDEM_LIVE_URL"],
        "num_ctx": 2048,
        "think": False,
        "options": options,
    }
    return make_entry("live", {**given, **settings})


def test_answer_comes_in_pieces_and_is_counted() -> None:
    chat = Chat(live_entry(), system_prompt=SYSTEM)
    with chat.stream("Name three colours.") as stream:
        pieces = list(stream)
    reply = stream.reply
    assert reply is not None
    assert len(pieces) > 1
    assert "".join(pieces) == reply.content
    assert chat.memory.get_messages()[-1]["content"] == reply.content
    assert reply.prompt_tokens is not None
    assert reply.prompt_tokens > 10
    assert reply.reply_tokens is not None
    assert 0 < reply.reply_tokens <= 24
    assert reply.durations.total
    assert reply.truncation is None


def test_thinking_is_kept_apart_or_refused() -> None:
    chat = Chat(live_entry(think=True, num_predict=200))
    if "thinking" not in OllamaEngine(chat.engine.entry).show().capabilities:
        with pytest.raises(UnsupportedCapabilityError):
            chat.ask("How much is 6 times 7?")
        assert chat.memory.get_messages() == []
        return
    thoughts: list[str] = []
    reply, reason = None, None
    try:
        reply = chat.stream("How much is 6 times 7?", on_thinking=thoughts.append).read()
    except NoAnswerError as error:
        reason = error.done_reason
    assert "".join(thoughts).strip()
    if reply is None:
        assert reason == "length"  # all of it went into thinking
    else:
        assert reply.thinking == "".join(thoughts)
        assert "<think>" not in reply.content
    assert all("thinking" not in message for message in chat.memory.get_messages())


def test_window_stops_growing_as_the_server_counts_it() -> None:
    def counts(chat: Chat) -> list[int]:
        return [chat.ask(f"Say the number {i}.").prompt_tokens or 0 for i in range(10, 16)]

    entry = live_entry(num_predict=4)
    bounded = counts(Chat(entry, system_prompt=SYSTEM, max_turns=2, trim_to=1))
    unbounded = counts(Chat(entry, system_prompt=SYSTEM, max_turns=None))
    assert unbounded == sorted(set(unbounded))
    turn = max(b - a for a, b in itertools.pairwise(unbounded))
    assert max(bounded) <= bounded[0] + 2 * turn
    assert unbounded[-1] > max(bounded)


def test_what_was_said_is_recalled() -> None:
    recalled = 0
    for fact, question, name in FACTS:
        chat = Chat(live_entry(), system_prompt=SYSTEM)
        chat.ask(fact)
        recalled += name in chat.ask(question).content.lower()
        control = Chat(live_entry(), system_prompt=SYSTEM)
        assert name not in control.ask(question).content.lower()
    assert recalled > 0


def test_what_was_said_is_forgotten_after_clear() -> None:
    fact, question, name = FACTS[0]
    chat = Chat(live_entry(), system_prompt=SYSTEM)
    before = chat.ask(fact).prompt_tokens
    chat.clear()
    reply = chat.ask(question)
    assert name not in reply.content.lower()
    assert before is not None
    assert reply.prompt_tokens is not None
    assert abs(reply.prompt_tokens - before) <= 5


def test_follow_up_after_an_interrupted_answer() -> None:
    chat = Chat(live_entry(num_predict=60), system_prompt=SYSTEM)
    with chat.stream("Count from one to fifty in words.") as stream:
        pieces = list(itertools.islice(stream, 4))
    assert stream.reply is not None
    assert stream.reply.interrupted
    assert stream.reply.content == "".join(pieces)
    assert chat.memory.get_messages()[-1].get("interrupted") is True
    reply = chat.ask("Thank you. Say hello.")
    roles = [message["role"] for message in chat.memory.get_messages()]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
    assert reply.content
    assert not reply.interrupted


def test_prompt_that_is_too_long_is_reported() -> None:
    chat = Chat(live_entry(num_ctx=512), max_tokens=None)
    question = "word " * 1200
    try:
        truncation = chat.ask(question).truncation
    except ContextTruncatedError as error:
        truncation = error
    assert truncation is not None
    assert truncation.num_ctx == 512
