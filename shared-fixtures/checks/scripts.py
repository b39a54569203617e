"""Random scripts for `differential.py`: fixture cases without their expectations.

Texts and values are put together from what the two languages treat differently.
"""

from __future__ import annotations

from contract import Json
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["OWN_SNAPSHOT", "scripts"]

OWN_SNAPSHOT = "$own"
"""In place of a snapshot: the manager's own, with one of the changes in `SPOILT`."""

SPOILT = ["", "", "version", "messages", "system_prompt", "role", "first"]

PIECES = [
    *(
        "a",
        "Hello",
        " ",
        "\n",
        "\t",
        "1",
        "1.0",
        "-0",
        "$&",
        "{}",
        "%s",
        "\\w",
        "\0",
        "\x7f",
        "\r\n",
    ),
    *(
        "é",
        "e\u0301",
        "ß",
        "İ",
        "ſ",
        "\u212a",
        "ﬁ",
        "你好",
        "我的猫叫花花",
        "ひらがな",
        "カナ",
        "한국어",
    ),
    *("مرحبا", "שלום", "हिन्दी", "ไทย", "Ω", "Привет", "👍", "👩‍👩‍👧", "🇩🇪", "𝒳", "𠮷"),
    *("\ud800", "\udc00", "\ud83d", "\udc4d", "\ufffd", "\uffff", "\ufeff", "\u200b", "\u2028"),
    *("\x85", "\xa0", "\u180e", "\u3000", "__proto__", "constructor", "toString", "user: hi"),
]
TAGS = [
    *("<think>", "</think>", "<THINK>", "</Think>", "<", "</", "<thi", "nk>", "think>", ">", "<<"),
    *("<think", "</thin", "<think/>", "<thinK>", "< think>", "<thinking>", "so", "yes", "\n\n"),
]
KEYS = [
    "a",
    "b",
    "10",
    "9",
    "-1",
    "01",
    "__proto__",
    "constructor",
    "",
    "𝒳",
    "\uffff",
    "\ud800",
    "é",
]
NUMBERS = [
    *(0, 1, -1, 7, 0.5, 1.0, -0.0, 0.1, 1e21, 1e20, 123456789012345680.0, 1e-6, 1e-7, 5e-324),
    *(1.7976931348623157e308, 2**53 - 1, 2**53, -(2**53), 1.5e300, 100.0, 4294967296),
]
UNWRITABLE = [{"$number": name} for name in ("NaN", "Infinity", "-Infinity", "-0")]
NAMES = ["weather", "time", "", "__proto__", "天气"]
IDS = ["c1", "c2", "c3", "", "__proto__", "\ud800"]
COUNTERS = ["ones", "code_points", "fields", "estimate"]
BROKEN_COUNTERS = ["half", "negative", "not_a_number", "text", "boolean"]
ARGUMENT_TEXTS = [
    *(
        "",
        "{}",
        '{"a": 1}',
        '{"a": 1.0, "b": -0}',
        "[1]",
        "null",
        "{",
        '{"a": NaN}',
        '{"a": 1e400}',
    ),
    *(
        '{"a": 9007199254740993}',
        '{"__proto__": {"x": 1}}',
        '{"a": 1, "a": 2}',
        ' {"a":\t"\\ud800"} ',
    ),
    *("{'a': 1}", '{"a": 01}', '{"a": "\t"}', '\ufeff{"a": 1}', '{"a": Infinity}', '{"a": -1e-7}'),
]


EMPTY: list[Json] = [None, True, False, [], {}, ""]
BASE64 = ["", "aGk=", "AAAA"]
TURNS: list[Json] = [
    "user: hi",
    "assistant: ho",
    "user: 你好",
    "assistant: <think>a</think>b",
    "user: ",
]
CALL: Json = {"id": "c1", "function": {"name": "weather", "arguments": {"city": "Zürich"}}}


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


def _weighted(*choices: tuple[int, SearchStrategy[Json]]) -> SearchStrategy[Json]:
    """Return one of the strategies, each as often as its number says."""
    each = [strategy for weight, strategy in choices for _ in range(weight)]

    # Not flatmap, whose description of itself, nested as deep as here, takes all memory.
    @st.composite
    def one(draw: st.DrawFn) -> Json:
        return draw(each[draw(st.integers(0, len(each) - 1))])

    return one()


def _mostly(good: SearchStrategy[Json], bad: SearchStrategy[Json]) -> SearchStrategy[Json]:
    return _weighted((30, good), (1, bad))


def _some(required: Json, optional: Json | None = None) -> SearchStrategy[Json]:
    return st.fixed_dictionaries(required, optional=optional or {})


texts = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=6)
tagged = st.lists(st.sampled_from(TAGS + PIECES[:4]), max_size=7).map("".join)
contents = _weighted((3, texts), (1, tagged))
keys = st.sampled_from(KEYS)
numbers = st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
plain: SearchStrategy[Json] = st.sampled_from(EMPTY) | numbers | texts
leaves = _mostly(plain, st.sampled_from(UNWRITABLE))


def _values(leaf: SearchStrategy[Json]) -> SearchStrategy[Json]:
    inner = leaf | st.lists(leaf, max_size=2) | st.dictionaries(keys, leaf, max_size=3)
    outer = inner | st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2)
    return _mostly(outer, st.sampled_from([98, 99, 100, 101]).map(_nested))


values = _values(leaves)
objects = st.dictionaries(keys, plain, max_size=3)
arguments = _mostly(objects | st.sampled_from(ARGUMENT_TEXTS), values)
functions = _some({"name": st.sampled_from(NAMES)}, {"arguments": arguments, "strict": plain})
calls = _weighted(
    (15, st.just(CALL)),
    (15, _some({"function": functions}, {"id": st.sampled_from(IDS), "type": st.just("function")})),
    (1, leaves | _some({}, {"function": leaves | _some({}, {"name": leaves}), "id": leaves})),
)
call_lists = _mostly(st.lists(calls, min_size=1, max_size=3), st.sampled_from([None, []]) | values)
messages = _weighted(
    (
        15,
        _some(
            {"role": st.sampled_from(["user", "assistant", "assistant"]), "content": contents},
            {"thinking": texts, "images": st.lists(st.sampled_from(BASE64)), "name": values},
        ),
    ),
    (5, _some({"role": st.just("assistant"), "tool_calls": call_lists}, {"content": contents})),
    (5, _some({"role": st.just("tool"), "content": texts}, {"tool_call_id": st.sampled_from(IDS)})),
    (1, values),
    (
        1,
        _some(
            {"role": st.sampled_from(["system", "user", "assistant", "tool", "", "User"]) | leaves},
            dict.fromkeys(("content", "thinking", "images", "tool_calls", "tool_name"), values),
        ),
    ),
)
conversations = st.lists(_weighted((6, st.sampled_from(TURNS)), (1, messages)), max_size=14)
limits = _mostly(
    st.none() | st.integers(0, 4), st.sampled_from([-1, 0.5, True, "3", [], 2.0, 2**53]) | leaves
)
budgets = _mostly(st.none() | st.integers(2, 9) | st.integers(0, 80), limits)
counters = _mostly(st.sampled_from(COUNTERS), st.sampled_from(BROKEN_COUNTERS))
prompts = _weighted((30, st.sampled_from([None, "", "S", "Be kind."])), (5, texts), (1, leaves))


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
window_options = _weighted((3, _fitting()), (1, _some({}, any_options)))


def _with(options: SearchStrategy[Json], more: SearchStrategy[Json]) -> SearchStrategy[Json]:
    return st.tuples(options, more).map(lambda both: both[0] | both[1])


manager_options = _with(window_options, _some({}, {"system_prompt": prompts}))
summaries = _weighted(
    (1, st.none()),
    (6, _some({"text": texts, "turns": st.integers(0, 3)})),
    (1, values | _some({}, {"text": values, "turns": values, "more": leaves})),
)
snapshots = _weighted(
    (3, st.sampled_from([{OWN_SNAPSHOT: change} for change in SPOILT])),
    (
        3,
        _some({"version": st.just(1), "messages": st.lists(messages)}, {"system_prompt": prompts}),
    ),
    (1, values | _some({}, {"version": leaves, "system_prompt": values, "messages": values})),
)


def _step(call: str, required: Json, optional: Json | None = None) -> SearchStrategy[Json]:
    return _some({"call": st.just(call), "args": _some(required, optional)})


MANAGER = _weighted(
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
    (2, _step("restore", {"snapshot": snapshots})),
    (1, _step("set_system_prompt", {"value": prompts})),
    (1, _step("set_summary", {"value": summaries})),
    (1, _step("leaving", {})),
)
SPLITTER = _weighted((5, _step("feed", {"piece": tagged | contents})), (1, _step("finish", {})))
window_args = _with(_some({"messages": conversations}), window_options)
CORE = _weighted(
    (2, _step("canonical_json", {"value": _values(plain)})),
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
    (1, _some({"call": st.just("new_manager"), "args": manager_options})),
    (6, _some({"call": st.just("window"), "args": window_args})),
)


def _script(given: Json, steps: SearchStrategy[Json], most: int) -> SearchStrategy[Json]:
    # A length drawn by itself: lists of Hypothesis's own choosing are nearly all short.
    listed = st.integers(1, most).flatmap(lambda n: st.lists(steps, min_size=n, max_size=n))
    return _some({"given": _some(given), "steps": listed})


scripts = _weighted(
    (6, _script({"manager": manager_options}, MANAGER, 24)),
    (2, _script({"splitter": _some({}, {"opens_thinking": st.booleans()})}, SPLITTER, 10)),
    (2, _script({"core": _some({})}, CORE, 4)),
)
