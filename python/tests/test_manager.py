"""What holds for every conversation; twin: typescript/tests/manager.test.ts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import Operation, operations, options
from tandem_memory.core.errors import TandemError
from tandem_memory.core.manager import MemoryManager
from tandem_memory.core.messages import Message

scripts = st.lists(operations, max_size=40)


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


@given(options(), scripts, operations)
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
