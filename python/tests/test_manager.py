"""What holds for every conversation; twin: typescript/tests/manager.test.ts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import Operation, contexts, operations, options, settings
from tandem_memory.core.errors import TandemError
from tandem_memory.core.frame import Context
from tandem_memory.core.manager import MemoryManager
from tandem_memory.core.messages import Message
from tandem_memory.core.tokens import estimate_tokens

scripts = st.lists(operations, max_size=40)
framed_scripts = st.lists(operations | settings, min_size=6, max_size=40)


def played(given_options: dict[str, Any], script: list[Operation]) -> MemoryManager:
    manager = MemoryManager(**given_options)
    for operation in script:
        with suppress(TandemError):
            operation.run(manager)
    return manager


@given(options(), scripts)
def test_the_number_of_closed_turns_is_bounded_after_every_call(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager = MemoryManager(**given_options)
    for operation in script:
        with suppress(TandemError):
            operation.run(manager)
        closed = [part for part in manager.explain()["parts"] if part["kept"] and not part["open"]]
        assert given_options["max_turns"] is None or len(closed) <= given_options["max_turns"]


@given(options(), scripts)
def test_over_the_budget_only_the_least_window_is_left(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager = MemoryManager(**given_options)
    for operation in script:
        with suppress(TandemError):
            operation.run(manager)
        if manager.over_budget:
            parts = [part for part in manager.explain()["parts"] if part["kept"]]
            assert len(parts) <= 1


@given(options(), scripts)
def test_every_tool_result_follows_its_call(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager = MemoryManager(**given_options)
    for operation in script:
        with suppress(TandemError):
            operation.run(manager)
        unanswered = 0
        for message in manager.get_messages():
            unanswered += len(message.get("tool_calls", [])) - (message["role"] == "tool")
            assert unanswered >= 0
            assert message["role"] != "user" or unanswered == 0


@given(options(), scripts)
def test_the_system_message_stands_first_exactly_once(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    sent = played(given_options, script).get_messages()
    expected = [] if given_options["system_prompt"] is None else [0]
    assert expected == [i for i, message in enumerate(sent) if message["role"] == "system"]


@given(options(), framed_scripts, operations | settings)
def test_an_error_changes_nothing(
    given_options: dict[str, Any], script: list[Operation], operation: Operation
) -> None:
    manager = played(given_options, script)
    before = manager.snapshot(), manager.explain()
    try:
        operation.run(manager)
    except TandemError:
        assert before == (manager.snapshot(), manager.explain())


@given(options(), scripts, operations)
def test_nothing_is_lost_what_an_add_drops_it_returns(
    given_options: dict[str, Any], script: list[Operation], operation: Operation
) -> None:
    manager = played(given_options, script)
    before = manager.snapshot()["messages"]
    try:
        dropped = operation.run(manager)
    except TandemError:
        return
    if operation.method.startswith("add_"):
        after = manager.snapshot()["messages"]
        added = len(dropped) + len(after) - len(before)
        assert added >= 1
        assert all(message in before or message in after[-added:] for message in after)
        kept = [message for message in before if message in after or message in dropped]
        assert before == kept


@given(options(), scripts)
def test_a_snapshot_restores_the_same_window(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager = played(given_options, script)
    twin = MemoryManager(**given_options)
    assert twin.restore(manager.snapshot()) == []
    assert manager.snapshot() == twin.snapshot()
    assert manager.tokens == twin.tokens


@given(options(), framed_scripts)
def test_an_untrimmed_snapshot_restores_even_what_is_over_the_limits(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager = played(given_options, script)
    twin = MemoryManager(max_turns=0, max_tokens=0, count_tokens=given_options["count_tokens"])
    assert twin.restore(manager.snapshot(), trim=False) == []
    assert manager.snapshot() == twin.snapshot()
    assert manager.get_messages() == twin.get_messages()
    assert manager.tokens == twin.tokens


@given(options(), framed_scripts)
def test_the_turns_that_left_and_those_in_the_window_are_all_that_were_opened(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager, opened = MemoryManager(**given_options), 0
    for operation in script:
        if operation.method in ("undo", "clear"):
            continue
        kept = turns_in(manager)
        with suppress(TandemError):
            operation.run(manager)
            # With no turn in the window a message of any role opens one.
            opens = operation.method.startswith("add_") and kept == 0
            opened += opens or operation.method == "add_user_message"
        assert opened == manager.dropped_turns + turns_in(manager)
        assert manager.dropped_turns == manager.snapshot().get("dropped_turns", 0)


def turns_in(manager: MemoryManager) -> int:
    return sum(part["kept"] for part in manager.explain()["parts"])


@given(options(), framed_scripts, settings)
def test_what_is_set_and_set_back_leaves_no_trace(
    given_options: dict[str, Any], script: list[Operation], setting: Operation
) -> None:
    manager = played(given_options, script)
    before = manager.snapshot(), manager.explain(), manager.get_messages()
    name = setting.method.removeprefix("set_")
    held = getattr(manager, name)
    with suppress(TandemError):
        setting.run(manager)
    setattr(manager, name, held)
    assert before == (manager.snapshot(), manager.explain(), manager.get_messages())


@given(options(), framed_scripts, contexts)
def test_the_tokens_are_the_sum_of_the_frame_and_the_parts(
    given_options: dict[str, Any], script: list[Operation], context: Context
) -> None:
    manager, count = played(given_options, script), given_options["count_tokens"]
    with suppress(TandemError):
        manager.context = context
    told, sent = manager.explain(), manager.get_messages()
    parts = [part["tokens"] for part in told["parts"] if part["kept"]]
    asked = told["context"] and told["context"]["place"] == "question"
    apart = told["context_tokens"] if asked else 0
    assert told["system_tokens"] + apart + sum(parts) == manager.tokens == told["tokens"]
    assert told["system_tokens"] == sum(count(m) for m in sent if m["role"] == "system")
    assert parts == [sum(map(count, part["messages"])) for part in told["parts"] if part["kept"]]


@given(options(), framed_scripts, contexts, st.integers(10, 40))
def test_after_an_accepted_question_what_is_sent_is_within_the_budget(
    given_options: dict[str, Any], script: list[Operation], context: Context, max_tokens: int
) -> None:
    given_options |= {"max_tokens": max_tokens, "count_tokens": estimate_tokens}
    manager = MemoryManager(**given_options)
    for operation in script:
        asks = operation.method == "add_user_message"
        with suppress(TandemError):
            if asks:
                manager.context = context
            operation.run(manager)
            if asks:
                assert manager.tokens <= max_tokens
                assert sum(map(estimate_tokens, manager.get_messages())) <= manager.tokens


@given(options(), scripts)
def test_the_tokens_are_the_sum_of_what_is_sent(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    manager = played(given_options, script)
    assert sum(map(given_options["count_tokens"], manager.get_messages())) == manager.tokens


def test_a_counter_gets_a_copy() -> None:
    def meddle(message: Message) -> int:
        message["content"] = "changed"
        return 1

    manager = MemoryManager("S", count_tokens=meddle)
    manager.add_user_message("hi")
    expected = [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}]
    assert expected == manager.get_messages()


def test_a_counter_that_raises_changes_nothing() -> None:
    def refuse(message: Message) -> int:
        raise LookupError(message["content"])

    manager = MemoryManager(count_tokens=refuse)
    with pytest.raises(LookupError):
        manager.add_user_message("hi")
    assert manager.get_messages() == []
