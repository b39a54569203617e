"""Random scripts for `differential.py`: fixture cases without their expectations."""

from __future__ import annotations

from contract import Json
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from samples import (
    BROKEN_COUNTERS,
    COUNTERS,
    IDS,
    NAMES,
    TURNS,
    call_lists,
    contents,
    leaves,
    messages,
    mostly,
    plain,
    some,
    tagged,
    texts,
    values,
    values_of,
    weighted,
)

__all__ = ["OWN_SNAPSHOT", "scripts"]

OWN_SNAPSHOT = "$own"
"""In place of a snapshot: the manager's own, with one of the changes in `SPOILT`."""

SPOILT = ["", "", "version", "messages", "system_prompt", "role", "first", "context"]

MODELS = ["m", "m", "m", "n", "10", "__proto__", "\ud800"]


def _message(text: str) -> Json:
    role, content = text.split(": ", 1)
    return {"role": role, "content": content}


# Of texts the runners read only those with a role in front.
readable = messages.filter(lambda message: not isinstance(message, str))
conversations = st.lists(weighted((6, st.sampled_from(TURNS)), (1, readable)), max_size=14)
windows = st.lists(weighted((6, st.sampled_from(TURNS).map(_message)), (1, messages)), max_size=14)
limits = mostly(
    st.none() | st.integers(0, 4), st.sampled_from([-1, 0.5, True, "3", [], 2.0, 2**53]) | leaves
)
budgets = mostly(st.none() | st.integers(2, 9) | st.integers(0, 80), limits)
counters = mostly(st.sampled_from(COUNTERS), st.sampled_from(BROKEN_COUNTERS))
prompts = weighted((30, st.sampled_from([None, "", "S", "Be kind."])), (5, texts), (1, leaves))


@st.composite
def _fitting(draw: st.DrawFn) -> Json:
    """Limits that go together and are soon passed."""
    most = draw(st.integers(0, 4))
    options: Json = {"max_turns": most, "count_tokens": draw(st.sampled_from(COUNTERS))}
    if draw(st.booleans()):
        options["trim_to"] = draw(st.integers(0, most))
    if draw(st.booleans()):
        options["max_tokens"] = draw(st.integers(3, 9) | st.integers(3, 80))
    return options


any_options = {
    "max_turns": limits,
    "max_tokens": budgets,
    "trim_to": limits,
    "count_tokens": counters,
}
window_options = weighted((3, _fitting()), (1, some({}, any_options)))


def _with(options: SearchStrategy[Json], more: SearchStrategy[Json]) -> SearchStrategy[Json]:
    return st.tuples(options, more).map(lambda both: both[0] | both[1])


manager_options = _with(window_options, some({}, {"system_prompt": prompts}))
summaries = weighted(
    (1, st.none()),
    (6, some({"text": texts, "turns": st.integers(0, 3)})),
    (1, values | some({}, {"text": values, "turns": values, "more": leaves})),
)
places = st.sampled_from(["system", "question"])
recalled = weighted(
    (1, st.none()),
    (6, some({"text": texts, "place": places})),
    (1, values | some({}, {"text": values, "place": places | leaves, "10": leaves})),
)
frames = {
    "system_prompt": prompts,
    "summary": summaries,
    "context": recalled,
    "dropped_turns": mostly(st.integers(0, 4), leaves),
}
snapshots = weighted(
    (3, st.sampled_from([{OWN_SNAPSHOT: change} for change in SPOILT])),
    (3, some({"version": st.just(1), "messages": windows}, frames)),
    (1, values | some({}, dict.fromkeys(["version", "messages", *frames], values))),
)


def _step(call: str, required: Json, optional: Json | None = None) -> SearchStrategy[Json]:
    return some({"call": st.just(call), "args": some(required, optional)})


MANAGER = weighted(
    (8, _step("add_user_message", {"content": contents})),
    (6, _step("add_assistant_message", {"content": contents})),
    (5, _step("add_assistant_message", {"content": texts, "tool_calls": call_lists})),
    (4, _step("add_tool_message", {"content": texts, "tool_call_id": st.just("c1")})),
    (
        2,
        _step(
            "add_tool_message",
            {"content": contents},
            {"tool_call_id": st.sampled_from(IDS) | leaves, "tool_name": st.sampled_from(NAMES)},
        ),
    ),
    (1, _step("add_user_message", {"content": contents | values}, {"images": values})),
    (
        1,
        _step(
            "add_assistant_message",
            {"content": contents | values},
            {"thinking": texts | values, "tool_calls": call_lists},
        ),
    ),
    (5, _step("add", {"message": messages})),
    (1, _step("get_messages", {}, {"include_thinking": st.booleans()})),
    (3, _step("explain", {})),
    (1, _step("snapshot", {})),
    (1, _step("clear", {})),
    (2, _step("undo", {})),
    (2, _step("restore", {"snapshot": snapshots}, {"trim": st.booleans()})),
    (1, _step("set_system_prompt", {"value": prompts})),
    (2, _step("set_summary", {"value": summaries})),
    (3, _step("set_context", {"value": recalled})),
    (1, _step("leaving", {})),
)
SPLITTER = weighted((5, _step("feed", {"piece": tagged | contents})), (1, _step("finish", {})))
window_args = _with(some({"messages": conversations}), window_options)
CORE = weighted(
    (2, _step("canonical_json", {"value": values_of(plain)})),
    (2, _step("text_costs", {"text": texts})),
    (2, _step("estimate_text", {"text": texts})),
    (2, _step("read_message", {"value": messages})),
    (2, _step("split_thinking", {"text": tagged}, {"opens_thinking": st.booleans()})),
    (1, _step("well_formed", {"text": texts})),
    (
        1,
        _step(
            "read_summary_reply",
            {"text": contents, "done_reason": st.sampled_from(["stop", "length", None])},
            {"max_tokens": st.integers(0, 9)},
        ),
    ),
    (1, some({"call": st.just("new_manager"), "args": manager_options})),
    (6, some({"call": st.just("window"), "args": window_args})),
)


models = st.sampled_from(MODELS)


@st.composite
def _counted(draw: st.DrawFn, call: str) -> Json:
    """A prompt's costs with a server's count: one near to them, or any."""
    most = draw(st.sampled_from([400, 20_000, 10**8]))
    costs = draw(st.lists(st.just(0) | st.integers(0, most), min_size=4, max_size=4))
    near = draw(st.integers(0, 9000)) * sum(costs) // 100_000
    tokens = draw(st.just(near) | st.integers(0, 10**6))
    return {"call": call, "args": {"model": draw(models), "costs": costs, "tokens": tokens}}


def _uncounted(step: Json) -> Json:
    return {"call": "apply", "args": {key: step["args"][key] for key in ("model", "costs")}}


weights = st.lists(st.integers(500, 8000) | st.just(1000.0), min_size=4, max_size=4)
odd_weights = st.lists(st.integers(499, 8001) | leaves, min_size=3, max_size=5) | values
CORRECTIONS = weighted(
    (5, _counted("learn")),
    (2, _counted("tighten")),
    (3, _counted("apply").map(_uncounted)),
    (1, _step("worst", {"model": models})),
    (
        1,
        _step(
            "new_corrections",
            {"weights": st.dictionaries(models, weights | odd_weights, max_size=3)},
        ),
    ),
)


def _script(given: Json, steps: SearchStrategy[Json], most: int) -> SearchStrategy[Json]:
    # A length drawn by itself: lists of Hypothesis's own choosing are nearly all short.
    listed = st.integers(1, most).flatmap(lambda n: st.lists(steps, min_size=n, max_size=n))
    return some({"given": some(given), "steps": listed})


scripts = weighted(
    (6, _script({"manager": manager_options}, MANAGER, 24)),
    (2, _script({"splitter": some({}, {"opens_thinking": st.booleans()})}, SPLITTER, 10)),
    (2, _script({"core": some({})}, CORE, 4)),
    (
        2,
        _script(
            {"corrections": st.dictionaries(models, mostly(weights, odd_weights))}, CORRECTIONS, 16
        ),
    ),
)
