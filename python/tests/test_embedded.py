"""What the stand-in for Ollama does without an engine: its prompt, its options, its error texts."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest

from tandem_memory.embedded.format import read_format
from tandem_memory.embedded.options import Options, read_options
from tandem_memory.embedded.prompt import Message, cut_to_context, render, render_within, shift
from tandem_memory.embedded.weights import WeightsError, find_model, normalize_name
from tandem_memory.embedded.wire import ApiError, Fields, parse_duration

CHAT = [
    Message("system", "Be brief."),
    Message("user", "one"),
    Message("assistant", "two"),
    Message("system", "Be kind."),
    Message("user", "three"),
]


def test_renders_chatml_and_joins_neighbours_but_tools() -> None:
    messages = [
        Message("user", "a"),
        Message("user", "b"),
        Message("tool", "c"),
        Message("tool", "d"),
    ]
    expected = (
        "<|im_start|>user\na\n\nb<|im_end|>\n"
        "<|im_start|>tool\nc<|im_end|>\n"
        "<|im_start|>tool\nd<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert expected == render(messages)


async def _length(text: str) -> int:
    return len(text)


@pytest.mark.parametrize("limit", range(0, len(render(CHAT)) + 2, 7))
def test_drops_the_front_that_trying_each_start_would_drop(limit: int) -> None:
    def from_start(start: int) -> str:
        return render([m for m in CHAT[:start] if m.role == "system"] + CHAT[start:])

    last = len(CHAT) - 1
    starts = [n for n in range(last + 1) if len(from_start(n)) <= limit]
    expected = from_start(starts[0] if starts else last)
    assert expected == asyncio.run(render_within(CHAT, limit, _length))


def test_cuts_a_long_prompt_behind_its_first_tokens() -> None:
    assert cut_to_context(range(10), 5, 2) == [0, 1, 7, 8, 9]
    assert cut_to_context(range(3), 5, 2) == [0, 1, 2]


def test_shifts_out_the_older_half_behind_the_first_tokens() -> None:
    assert shift(range(11), 10, 2) == [0, 1, 6, 7, 8, 9, 10]


def test_options_have_the_defaults_of_ollama() -> None:
    assert Options() == read_options({"unknown": 1, "num_gpu": 1, "seed": None})
    assert Options(num_ctx=512, stop=("x",)) == read_options({"num_ctx": 512.9, "stop": ["x"]})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_ctx": True}, 'option "num_ctx" must be of type integer'),
        ({"temperature": "1"}, 'option "temperature" must be of type float32'),
        ({"use_mmap": 1}, 'option "use_mmap" must be of type boolean'),
        ({"stop": [1]}, 'option "stop" must be of an array of strings'),
    ],
)
def test_wrong_options_are_told_as_by_ollama(options: dict[str, object], text: str) -> None:
    with pytest.raises(ApiError) as caught:
        read_options(options)
    assert (500, text) == (caught.value.status, caught.value.message)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nope"},
        {"type": ["string", "nope"]},
        {"$ref": "#/$defs/none"},
        {"properties": 5},
        {"items": {"anyOf": [{"type": 5}]}},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_a_schema_that_binds_nothing_is_refused(schema: object) -> None:
    with pytest.raises(ApiError, match="invalid JSON schema in format"):
        read_format(schema)


def test_a_schema_admits_only_the_properties_that_it_lists() -> None:
    child: dict[str, object] = {
        "type": "object",
        "properties": {"b": {"enum": [{"properties": {}}]}},
    }
    schema: dict[str, object] = {"properties": {"a": child}, "allOf": [{"properties": {"c": True}}]}
    told = read_format(schema)["json_schema"]
    assert isinstance(told, dict)
    assert schema | {"properties": {"a": child | {"additionalProperties": False}}} == {
        key: told[key] for key in schema
    }


@pytest.mark.parametrize(
    ("text", "seconds"), [("300ms", 0.3), ("1h30m", 5400), ("-1.5s", -1.5), ("0", 0), ("1µs", 1e-6)]
)
def test_reads_durations(text: str, seconds: float) -> None:
    assert seconds == pytest.approx(parse_duration(text))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("x", 'time: invalid duration "x"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5y", 'time: unknown unit "y" in duration "5y"'),
        ("1m x", 'time: invalid duration "1m x"'),
    ],
)
def test_wrong_durations_are_told_as_by_go(text: str, error: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_duration(text)
    assert error == caught.value.message


def test_a_lone_surrogate_in_a_request_becomes_a_replacement_character() -> None:
    fields = Fields.parse(rb'{"content": "a\ud83d", "role": "\ud83d\ude00"} trailing', "Message")
    assert (fields.text("content"), fields.text("role")) == ("a�", "😀")


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("SmolLM2:135M", "smollm2:135m"),
        ("registry.ollama.ai/library/smollm2:135m", "smollm2:135m"),
        ("smollm2", "smollm2:latest"),
        ("", None),
        ("a b", None),
    ],
)
def test_names_are_read_as_by_ollama(name: str, normal: str | None) -> None:
    assert normal == normalize_name(name)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "does not begin with the letters GGUF"),
        (b"GGUF\x03\x00", "is damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + _text("key") + struct.pack("<I", 99), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "not a chat model with the ChatML template"),
    ],
)
def test_a_file_that_cannot_serve_is_named_with_what_is_wrong(
    tmp_path: Path, content: bytes, text: str
) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=text) as caught:
        find_model(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"none\.gguf"):
        find_model(tmp_path / "none.gguf")
