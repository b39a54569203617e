"""Sessions that outlive their program, whichever of the two goes on with them: `sessions.py`.

Needs Node. In each scenario one program begins and the other goes on, either way round. They share
a store, and a server that does what the question says.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import tempfile
from contextlib import closing
from itertools import permutations, product

from contract import find_node
from environments import TYPESCRIPT
from fake_ollama import fake_ollama
from pseudoterminal import Program, ScenarioError, Terminal
from scenario import Play, Scenario, contains, expect
from windows import WINDOWS

__all__ = ["SCENARIOS", "play_scenario"]

CTRL_C = "\x03"


def undated(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", text)


# --- in a pipe ----------------------------------------------------------------------------------


def goes_on_after_a_kill(play: Scenario) -> None:
    with play.answering(play.first):
        pass
    expected = """\
You said “next” (3).

[1]  DATE UTC
> My cat is called 花花.
You said “My cat is called 花花.” (1).

[2]  DATE UTC  failed
> talk on

[3]  DATE UTC
> next
You said “next” (3).

"""
    status, out, err = play.run(play.second, ["chat"], "next\n/history\n")
    expect((0, expected, ""), (status, undated(out), err))


def tells_that_a_session_is_busy(play: Scenario) -> None:
    with play.answering(play.first) as chat:
        status, out, err = play.run(play.second, ["chat"], "mine\n/new\nmine\n")
        expect(None, chat.poll())
    expect((1, "You said “mine” (1).\n\n"), (status, out))
    contains("error: another program is in the middle of an answer in this session; /retry", err)


def moves_between_sessions(play: Scenario) -> None:
    play.run(play.first, ["chat"], "/new garden\nRoses or tulips?\n/new 花园\n种什么？\n")
    status, out, err = play.run(
        play.second, ["chat"], "/sessions\n/new garden\nRoses.\n/new\n/new\n/history\n"
    )
    listed = """\
  session   used last (UTC)   begins
* 花园      DATE  种什么？
  garden    DATE  Roses or tulips?
"""
    expect(0, status)
    contains(listed, undated(out))
    contains("You said “Roses.” (3).", out)
    contains("Session garden goes on (“Roses or tulips?”); it is kept in memory.db.\n", err)
    contains("begins; it is kept in memory.db.\nThis session is still empty.\n", err)
    contains("Nothing is stored.\n", err)
    status, out, _ = play.run(play.first, ["chat", "--session", "garden"], "And now?\n")
    expect((0, "You said “And now?” (5).\n\n"), (status, out))


def exports_the_same_bytes(play: Scenario) -> None:
    play.run(play.first, ["chat"], "/new s\nhello\nbreak off\n/clear\nagain\n")
    play.run(play.second, ["chat"], "/undo\nlast\n/export\n/export all.json\n/export all.json\n")
    names = ("session-s.json", "all.json")
    one, same = ((play.folder / name).read_text("utf-8") for name in names)
    expect(one, same)
    for number, program in enumerate([play.first, play.second]):
        expect((0, one, ""), play.run(program, ["export", "--session", "s"]))
        folder = ["--store", f"folder{number}/"]
        words = ["import", "all.json", "--user", "you", *folder]
        expect((0, "", 'Added 1 session of "you".\n'), play.run(program, words))
        other = play.run(play.second, ["export", "--user", "you", *folder])
        expect((0, one.replace('"me"', '"you"'), ""), other)


def forgets_when_told_so(play: Scenario) -> None:
    play.run(play.first, ["chat"], "/new a\nSECRET-one\n/new b\nSECRET-two\n")
    status, _, err = play.run(play.second, ["chat"], "/forget\n")
    expect(
        (1, "error: nobody is there to ask; /forget yes removes 3 sessions for good\n"),
        (status, err),
    )
    expect(
        (0, "", "Removed 1 session, 1 turn, 2 messages.\n"),
        play.run(play.second, ["forget", "--session", "a", "--yes"]),
    )
    status, _, err = play.run(play.second, ["chat"], "/forget yes\n/sessions\n")
    contains("Removed 2 sessions, 1 turn, 2 messages.\nSession ", err)
    expect(0, status)
    for file in play.folder.glob("memory.db*"):
        expect(False, b"SECRET" in file.read_bytes())


def keeps_users_apart(play: Scenario) -> None:
    play.run(play.first, ["chat", "--user", "ada"], "/new s\nmine\n")
    status, out, err = play.run(
        play.second, ["chat", "--user", "bob", "--session", "s"], "whose?\n"
    )
    expect((1, "", 'error: no session "s" of "bob"; there are: none\n'), (status, out, err))
    expect((0, "", "Nothing is stored.\n"), play.run(play.second, ["sessions", "--user", "bob"]))


def says_what_is_wrong_with_a_store(play: Scenario) -> None:
    play.run(play.first, ["chat"], "hello\n")
    sound = (play.folder / "memory.db").read_bytes()
    (play.folder / "cut.db").write_bytes(sound[:5000])
    (play.folder / "other.db").write_bytes(b"no store at all, but long enough to be one" * 20)
    with closing(sqlite3.connect(play.folder / "foreign.db")) as foreign:
        foreign.execute("CREATE TABLE t (x)")
    (play.folder / "new.db").write_bytes(sound)
    with closing(sqlite3.connect(play.folder / "new.db")) as newer:
        newer.execute("PRAGMA user_version = 99")
    for name, says in {
        "cut.db": "is damaged",
        "other.db": "is damaged",
        "foreign.db": "is no store of Tandem Memory",
        "new.db": "has version 99",
    }.items():
        before = (play.folder / name).read_bytes()
        for words in (["chat"], ["forget", "--yes"]):
            status, out, err = play.run(play.second, [*words, "--store", name], "hello\n")
            expect((1, "", 1), (status, out, err.count("\n")))
            contains(says, err)
        expect(before, (play.folder / name).read_bytes())
    missing = "error: there is no store at none.db; a chat makes one\n"
    expect((1, "", missing), play.run(play.second, ["sessions", "--store", "none.db"]))


def prints_the_same(play: Scenario) -> None:
    """Both programs print the same of one store, byte for byte, and of every problem."""
    lines = "My cat is called 花花.\nbreak off\n/retry\nthink\n/new ../x\nhello\n"
    play.run(play.first, ["chat", "--session", "new"], lines)
    (play.folder / "bad.json").write_text("{", "utf-8")
    (play.folder / "list.json").write_text("[]", "utf-8")
    for words in PIPED:
        before = (play.folder / "memory.db").read_bytes()
        first = play.run(play.first, words)
        (play.folder / "memory.db").write_bytes(before)
        (play.folder / "written.json").unlink(missing_ok=True)
        expect(first, play.run(play.second, words))


PIPED: list[list[str]] = [
    ["sessions"],
    ["show"],
    ["show", "--session", "../x", "--turns", "0"],
    ["show", "--session", "nope"],
    ["context"],
    ["context", "--json"],
    ["context", "--session", "../x", "--max-turns", "0"],
    ["context", "--session", "nope", "--json"],
    ["context", "--model", "nope"],
    ["export"],
    ["export", "written.json", "--session", "../x"],
    ["export", "bad.json"],
    ["export", "no/such/folder.json"],
    ["import", "nothing.json"],
    ["import", "."],
    ["import", "bad.json"],
    ["import", "list.json"],
    ["forget"],
    ["forget", "--session", "nope", "--yes"],
    ["forget", "--session", "../x", "--yes"],
    ["forget", "--user", "nobody", "--yes"],
]

# --- in a terminal ------------------------------------------------------------------------------


def asks_again_after_a_kill(play: Scenario) -> None:
    with play.answering(play.first):
        pass
    place = str(play.folder / "memory.db")
    terminal = Terminal(play.second, ["chat", "--store", place], play.server.port)
    try:
        terminal.see("goes on (“My cat is called 花花.”); it is kept in ")
        terminal.see("The last question has no answer yet; /retry asks it again")
        terminal.prompt()
        terminal.type("/retry\r")
        terminal.see("0 1 2 ")
        terminal.type(CTRL_C)
        terminal.see("Stopped; what came is kept.")
        terminal.prompt()
        terminal.type("/history 1\r")
        terminal.see("UTC  interrupted\n> talk on\n0 1 2 ")
        terminal.prompt()
        terminal.type("/forget\r")
        terminal.see('Remove 1 session of "me" for good? [y/N]')
        terminal.type("\r")
        terminal.see("Nothing was removed.")
        terminal.prompt()
        terminal.type("/forget\r")
        terminal.see("[y/N]")
        terminal.type("y\r")
        terminal.see("Removed 1 session, 2 turns, 4 messages.")
        terminal.see(" begins; it is kept in ")
        terminal.prompt()
        terminal.type("/bye\r")
        expect(0, terminal.end())
    finally:
        terminal.kill()


SCENARIOS: list[Play] = [
    goes_on_after_a_kill,
    tells_that_a_session_is_busy,
    moves_between_sessions,
    exports_the_same_bytes,
    forgets_when_told_so,
    keeps_users_apart,
    says_what_is_wrong_with_a_store,
    *WINDOWS,
    *([asks_again_after_a_kill] if os.name == "posix" else []),
]


def play_scenario(play: Play, first: Program, second: Program) -> None:
    """Play a scenario in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, fake_ollama() as server:
        play(Scenario(first, second, folder, server))


def main() -> int:
    """Play all scenarios with both programs; returns how many went another way."""
    programs: dict[str, Program] = {
        "python": [sys.executable, "-m", "tandem_memory"],
        "typescript": [find_node(), str(TYPESCRIPT / "src" / "cli.ts")],
    }
    problems = 0
    plays = [*SCENARIOS, prints_the_same]
    for play, (one, other) in product(plays, permutations(programs)):
        try:
            play_scenario(play, programs[one], programs[other])
        except ScenarioError as error:
            problems += 1
            print(f"{one}, then {other}: {play.__name__}: {error}")
    print(f"{len(plays)} scenarios of sessions, either way round, {problems} went wrong")
    return problems


if __name__ == "__main__":
    sys.exit(main())
