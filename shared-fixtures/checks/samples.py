"""Random values for `scripts.py`, put together from what the two languages treat differently."""

from __future__ import annotations

from contract import Json
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = [
    "BROKEN_COUNTERS",
    "COUNTERS",
    "IDS",
    "NAMES",
    "TURNS",
    "call_lists",
    "contents",
    "leaves",
    "messages",
    "mostly",
    "plain",
    "some",
    "tagged",
    "texts",
    "values",
    "values_of",
    "weighted",
]

WORDS = """
a Hello 1 1.0 -0 $& {} %s \\w user:hi __proto__ constructor toString
é e\u0301 ß İ ſ \u212a ﬁ Ω Привет 你好 我的猫叫花花 ひらがな カナ 한국어 مرحبا שלום हिन्दी ไทย
👍 👩\u200d👩\u200d👧 🇩🇪 𝒳 𠮷 \ud800 \udc00 \ud83d \udc4d \ufffd \uffff \ufeff \u200b
"""
SPACES = [" ", "\n", "\t", "\r\n", "\0", "\x7f", "\x85", "\xa0", "\u180e", "\u2028", "\u3000"]
PIECES = [*WORDS.split(), *SPACES, "user: hi"]
TAG_WORDS = """
<think> </think> <THINK> </Think> < </ <thi nk> think> > << <think </thin <think/> <thin\u212a>
<thinking> so yes
"""
TAGS = [*TAG_WORDS.split(), "< think>", "\n\n", " "]
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
COUNTERS = ["ones", "code_points", "fields", "roles", "estimate"]
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


def weighted(*choices: tuple[int, SearchStrategy[Json]]) -> SearchStrategy[Json]:
    """Return one of the strategies, each as often as its number says."""
    each = [strategy for weight, strategy in choices for _ in range(weight)]

    # Not flatmap, whose description of itself, nested as deep as here, takes all memory.
    @st.composite
    def one(draw: st.DrawFn) -> Json:
        return draw(each[draw(st.integers(0, len(each) - 1))])

    return one()


def mostly(good: SearchStrategy[Json], bad: SearchStrategy[Json]) -> SearchStrategy[Json]:
    """Return the good one, and the bad one now and then."""
    return weighted((30, good), (1, bad))


def some(required: Json, optional: Json | None = None) -> SearchStrategy[Json]:
    """Return objects that have the required fields, and each optional one or not."""
    return st.fixed_dictionaries(required, optional=optional or {})


texts = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=6)
tagged = st.lists(st.sampled_from(TAGS + PIECES[:4]), max_size=7).map("".join)
contents = weighted((3, texts), (1, tagged))
keys = st.sampled_from(KEYS)
numbers = st.sampled_from(NUMBERS) | st.floats(allow_nan=False, allow_infinity=False)
plain: SearchStrategy[Json] = st.sampled_from(EMPTY) | numbers | texts
leaves = mostly(plain, st.sampled_from(UNWRITABLE))


def values_of(leaf: SearchStrategy[Json]) -> SearchStrategy[Json]:
    """Return JSON values with these leaves, now and then as deep as may be."""
    inner = leaf | st.lists(leaf, max_size=2) | st.dictionaries(keys, leaf, max_size=3)
    outer = inner | st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2)
    return mostly(outer, st.sampled_from([98, 99, 100, 101]).map(_nested))


values = values_of(leaves)
objects = st.dictionaries(keys, plain, max_size=3)
arguments = mostly(objects | st.sampled_from(ARGUMENT_TEXTS), values)
functions = some({"name": st.sampled_from(NAMES)}, {"arguments": arguments, "strict": plain})
calls = weighted(
    (15, st.just(CALL)),
    (15, some({"function": functions}, {"id": st.sampled_from(IDS), "type": st.just("function")})),
    (1, leaves | some({}, {"function": leaves | some({}, {"name": leaves}), "id": leaves})),
)
call_lists = mostly(st.lists(calls, min_size=1, max_size=3), st.sampled_from([None, []]) | values)
messages = weighted(
    (
        15,
        some(
            {"role": st.sampled_from(["user", "assistant", "assistant"]), "content": contents},
            {"thinking": texts, "images": st.lists(st.sampled_from(BASE64)), "name": values},
        ),
    ),
    (5, some({"role": st.just("assistant"), "tool_calls": call_lists}, {"content": contents})),
    (5, some({"role": st.just("tool"), "content": texts}, {"tool_call_id": st.sampled_from(IDS)})),
    (1, values),
    (
        1,
        some(
            {"role": st.sampled_from(["system", "user", "assistant", "tool", "", "User"]) | leaves},
            dict.fromkeys(("content", "thinking", "images", "tool_calls", "tool_name"), values),
        ),
    ),
)
