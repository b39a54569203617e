"""Splitting is the same at any chunking; twin: typescript/tests/thinking.test.ts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem_memory.core.thinking import ThinkingSplitter, Thought, split_thinking

pieces = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<THINK>", "<th", "ink>", "</", "<", ">", " ", "\n", "a", "🦊", ""]
    ),
    max_size=14,
)


def streamed(parts: list[str], *, opens_thinking: bool) -> Thought:
    splitter = ThinkingSplitter(opens_thinking=opens_thinking)
    came = [splitter.feed(part) for part in parts] + [splitter.finish()]
    content = "".join(thought.content for thought in came)
    return Thought(content, "".join(thought.thinking for thought in came), came[-1].finished)


@given(pieces, st.booleans())
def test_a_stream_gives_what_the_whole_text_gives(parts: list[str], opens_thinking: bool) -> None:
    expected = split_thinking("".join(parts), opens_thinking=opens_thinking)
    assert expected == streamed(parts, opens_thinking=opens_thinking)


@given(pieces, st.booleans())
def test_one_character_at_a_time_gives_the_same(parts: list[str], opens_thinking: bool) -> None:
    text = "".join(parts)
    expected = split_thinking(text, opens_thinking=opens_thinking)
    assert expected == streamed(list(text), opens_thinking=opens_thinking)


@given(pieces)
def test_what_was_split_once_is_not_split_again(parts: list[str]) -> None:
    content = split_thinking("".join(parts)).content
    assert Thought(content, "") == split_thinking(content)


@given(st.text(max_size=40))
def test_text_that_opens_with_no_tag_is_content_as_it_is(text: str) -> None:
    assert Thought(f"x{text}", "") == split_thinking(f"x{text}")


@given(pieces)
def test_no_letter_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    thought = split_thinking(text)
    letters = thought.content.count("a") + thought.thinking.count("a")
    assert text.count("a") == letters
