"""Scenarios of what a session's next question finds, whichever program asks it."""

from __future__ import annotations

import json
import re

from scenario import Play, Scenario, contains, expect

__all__ = ["WINDOWS"]

ONE_TURN = ["--max-turns", "1"]


def shows_what_the_next_question_finds(play: Scenario) -> None:
    words = ["--max-turns", "4", "--system", "Be kind."]
    _, out, _ = play.run(play.first, ["chat", *words], "My cat is called 花花.\nhello\n/context\n")
    before = (play.folder / "memory.db").read_bytes()
    table = out[out.index("part ") :]
    status, out, err = play.run(play.second, ["context", *words])
    expect((0, table, ""), (status, out + "\n", err))
    # The system prompt is the session's own.
    status, out, err = play.run(play.second, ["context", *words[:2], "--json"])
    window = json.loads(out)["explanation"]
    asked = [part["messages"][0]["content"] for part in window["parts"]]
    expect((0, "", "Be kind.", 4), (status, err, window["system_prompt"], window["max_turns"]))
    expect(["My cat is called 花花.", "hello"], asked)
    nothing = (0, "", "Nothing is stored.\n")
    expect(nothing, play.run(play.second, ["context", "--user", "nobody"]))
    status, _, _ = play.run(play.second, ["context", "--store", "none.db"])
    expect((1, False), (status, (play.folder / "none.db").exists()))
    expect(before, (play.folder / "memory.db").read_bytes())


def summarises_what_left_before(play: Scenario) -> None:
    play.run(play.first, ["chat", *ONE_TURN], "a\nb\nc\n")
    expect([], play.server.summaries)
    # In a run of a single line, what is summarised before that line is sent with it.
    for line, left in (("d", ["a", "b", "c"]), ("e", ["d"])):
        play.server.summaries.clear()
        status, _, err = play.run(play.second, ["chat", "--summarize", *ONE_TURN], f"{line}\n")
        expect((0, ""), (status, err))
        expect(left, re.findall("User: (.)", play.server.summaries[0]))
        contains("They have met.", play.server.asked[-1][0]["content"])
    table = """\
part     messages  tokens  state             begins
summary         1      16  kept, of 4 turns  They have met.
turn            2      21  kept              e

[------------------------] 0 %  37 of 6144 tokens
1 of 1 closed turn
4 turns left the window earlier; the summary tells of all of them.
"""
    expect((0, table, ""), play.run(play.first, ["context", *ONE_TURN]))


WINDOWS: list[Play] = [shows_what_the_next_question_finds, summarises_what_left_before]
