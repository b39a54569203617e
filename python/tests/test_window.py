"""`window` is `MemoryManager`'s rule as a pure function; twin: typescript/tests/window.test.ts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from strategies import Operation, operations, options
from tandem_memory.core.errors import TandemError
from tandem_memory.core.manager import MemoryManager
from tandem_memory.core.window import window


@given(options(), st.lists(operations, max_size=30))
def test_a_whole_conversation_trimmed_at_once_is_what_restore_trims(
    given_options: dict[str, Any], script: list[Operation]
) -> None:
    unlimited = MemoryManager(max_turns=None)
    for operation in script:
        with suppress(TandemError):
            operation.run(unlimited)
    limits = {key: value for key, value in given_options.items() if key != "system_prompt"}
    messages = unlimited.get_messages()
    manager = MemoryManager(**limits)
    dropped = manager.restore({"version": 1, "messages": messages})

    came = window(messages, **limits)

    assert {"kept": manager.get_messages(), "dropped": dropped, "tokens": manager.tokens} == came


@given(st.lists(operations, max_size=30), st.integers(1, 4))
def test_without_a_budget_the_newest_closed_turns_are_those_of_the_running_manager(
    script: list[Operation], max_turns: int
) -> None:
    limited, unlimited = MemoryManager(max_turns=max_turns), MemoryManager(max_turns=None)
    for operation in script:
        # What left can't be undone or answered, so only adds that both take are compared.
        if operation.method.startswith("add_"):
            with suppress(TandemError):
                operation.run(limited)
                operation.run(unlimited)
    # A turn that a reply closed and a tool call opened again has cost an older one its place.
    for manager in (limited, unlimited):
        manager.add_user_message("close")
        manager.add_assistant_message("closed")
    expected = window(unlimited.get_messages(), max_turns=max_turns)["kept"]
    assert expected == limited.get_messages()
