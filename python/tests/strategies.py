"""What the property tests draw from; twin: typescript/tests/strategies.ts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tandem_memory.core.manager import MemoryManager
from tandem_memory.core.messages import Message

texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=20),
    st.sampled_from(["", "<think>", "</think>", "我的猫叫花花", "🐈‍⬛", "é", "\x00", "__proto__"]),
)
"""Texts of every script, lone surrogates and the tags included."""

names = st.sampled_from(["f", "g", "__proto__"])
ids = st.sampled_from([None, "c1", "c2"])


def call_of(name: str, call_id: str | None) -> dict[str, Any]:
    call: dict[str, Any] = {"function": {"name": name, "arguments": {}}}
    return call if call_id is None else {"id": call_id, **call}


calls = st.lists(st.builds(call_of, names, ids), max_size=3)


@dataclass(frozen=True)
class Operation:
    """One call of a `MemoryManager`, or `set_` before what is set."""

    method: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    def run(self, manager: MemoryManager) -> Any:
        if self.method.startswith("set_"):
            return setattr(manager, self.method.removeprefix("set_"), *self.args)
        return getattr(manager, self.method)(*self.args, **dict(self.kwargs))


def question_of(text: str) -> Operation:
    return Operation("add_user_message", (text,))


def reply_of(text: str, tool_calls: list[Any]) -> Operation:
    return Operation("add_assistant_message", (text,), (("tool_calls", tool_calls),))


def result_of(text: str, name: str | None, call_id: str | None) -> Operation:
    names = (("tool_name", name), ("tool_call_id", call_id))
    return Operation("add_tool_message", (text,), names)


operations = st.one_of(
    st.builds(question_of, texts),
    st.builds(reply_of, texts, calls),
    st.builds(result_of, texts, st.none() | names, ids),
    st.sampled_from([Operation("undo"), Operation("clear")]),
)

prompts = st.sampled_from([None, "", "S", "Be kind."])
summaries = st.fixed_dictionaries({"text": texts, "turns": st.integers(0, 4)})
contexts = st.fixed_dictionaries({"text": texts, "place": st.sampled_from(["system", "question"])})


def setting_of(name: str, value: Any) -> Operation:
    return Operation(f"set_{name}", (value,))


settings = st.one_of(
    st.builds(setting_of, st.just("system_prompt"), prompts),
    st.builds(setting_of, st.just("summary"), st.none() | summaries),
    st.builds(setting_of, st.just("context"), st.none() | contexts),
)
"""What changes the frame; an empty text is refused."""

limits = st.one_of(st.none(), st.integers(0, 4))


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Options of a `MemoryManager` that it accepts; a code point costs one token."""
    max_turns = draw(limits)
    trim_to = None if max_turns is None else draw(st.none() | st.integers(0, max_turns))
    return {
        "system_prompt": draw(st.none() | st.just("S")),
        "max_turns": max_turns,
        "max_tokens": draw(st.none() | st.integers(1, 60)),
        "trim_to": trim_to,
        "count_tokens": count_code_points,
    }


def count_code_points(message: Message) -> int:
    return len(message["content"])
