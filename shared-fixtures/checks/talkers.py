"""Lets chats of both languages talk in one stored session: `talkers.py`.

They are killed in the middle of an answer, run out of disk, ask at the same time, and go on with
what the other began. A model server of a few lines answers them over HTTP.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import IO, Any, cast

from contract import LANGUAGES, TOP, find_node, report
from fake_ollama import fake_ollama

from tandem_memory.storage import SqliteStore, StoredTurn

__all__ = ["main"]

LIMIT = """
import os, resource, signal, sys
size, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.execv(command[0], command)
"""
"""Becomes a program that can write no file beyond a size."""

QUESTIONS = [f"question {number}" for number in range(5)]


Talker = subprocess.Popen[str]


class Talkers:
    """A store, and programs of both languages that ask in its one session."""

    def __init__(self, folder: str, host: str) -> None:
        self.place = str(Path(folder) / "store.sqlite3")
        self._host = host
        self._programs = {
            "python": [sys.executable, str(TOP / "python/tests/talker.py")],
            "typescript": [find_node(), str(TOP / "typescript/tests/talker.ts")],
        }

    def start(self, language: str, *questions: str, room: int | None = None) -> Talker:
        """Start a program; `room` is how long a file may get under its hands."""
        limit = [] if room is None else [sys.executable, "-c", LIMIT, str(room)]
        return subprocess.Popen(
            [*limit, *self._programs[language], self.place, self._host, *questions],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def finish(self, talker: Talker) -> dict[str, Any]:
        """Return what a program told, once it has ended; the pieces as one text."""
        out, errors = talker.communicate()
        if talker.returncode or errors:
            raise AssertionError(f"it ended with {talker.returncode}: {errors}")
        told: dict[str, Any] = {"answers": ""}
        for line in out.splitlines():
            for key, value in json.loads(line).items():
                if key == "piece":
                    told["answers"] += value
                else:
                    told[key] = value
        return told

    def talk(self, language: str, *questions: str) -> dict[str, Any]:
        return self.finish(self.start(language, *questions))

    def turns(self) -> list[StoredTurn]:
        with SqliteStore(self.place) as store:
            return store.history("ann", "s", None)


def killed(talkers: Talkers, one: str, other: str) -> Iterator[str]:
    """Kill a chat in mid-answer; another goes on. Yields what is wrong with that."""
    talkers.talk(one, "before")
    talker = talkers.start(one, "talk on")
    for _ in range(3):
        cast("IO[str]", talker.stdout).readline()
    if statuses(talkers) != ["complete before", "pending talk on"]:
        yield f"in mid-answer the store has {statuses(talkers)}"
    talker.kill()
    talker.communicate()
    told = talkers.talk(other, "after")
    if statuses(talkers) != ["complete before", "failed talk on", "complete after"]:
        yield f"after the kill the store has {statuses(talkers)}"
    if contents(told["snapshot"])[::2] != ["before", "after"]:
        yield f"after the kill the window is {contents(told['snapshot'])}"


def filled(talkers: Talkers, one: str, other: str) -> Iterator[str]:
    """Ask until the disk is full; another goes on. Yields what is wrong with that."""
    before = talkers.talk(one, *QUESTIONS[:2])["snapshot"]
    size = max(file.stat().st_size for file in Path(talkers.place).parent.iterdir())
    long = [f"{number} " + "long " * 500 for number in range(40)]
    told = talkers.finish(talkers.start(one, *long, room=size + 40_000))
    if told.get("error") not in ("store_full", "reply_not_stored"):
        yield f"a full disk gives {told.get('error')}"
    after = talkers.talk(other)["snapshot"]
    if after != told["snapshot"] or after == before:
        yield f"after a full disk {one} remembers {told['snapshot']}, {other} {after}"
    talkers.talk(other, "after")
    if statuses(talkers)[-1] != "complete after":
        yield f"with room again the store has {statuses(talkers)[-2:]}"


def together(talkers: Talkers, one: str, other: str) -> Iterator[str]:
    """Ask in both at once. Yields where turns are lost, mixed or out of order."""
    asked = {language: [f"{language} {q}" for q in QUESTIONS] for language in (one, other)}
    for talker in [talkers.start(language, *asked[language]) for language in asked]:
        talkers.finish(talker)
    turns = talkers.turns()
    questions = [turn["messages"][0]["message"]["content"] for turn in turns]
    for language, own in asked.items():
        if [question for question in questions if question.startswith(language)] != own:
            yield f"{language}'s questions are stored as {questions}"
    for turn, question in zip(turns, questions, strict=True):
        _, *rest = [each["message"]["content"] for each in turn["messages"]]
        if turn["status"] != "complete" or len(rest) != 1 or f"“{question}”" not in rest[0]:
            yield f"“{question}” is {turn['status']} and has the answers {rest}"
    if [each["seq"] for turn in turns for each in turn["messages"]] != list(range(1, 21)):
        yield "the sequence has a gap"


def opened(told: dict[str, Any]) -> dict[str, Any]:
    """Return what opening the session again tells: without a summary not how many turns left."""
    kept = told["snapshot"].items()
    snapshot = {name: value for name, value in kept if name != "dropped_turns"}
    return {**told, "answers": "", "snapshot": snapshot}


def continued(talkers: Talkers, one: str, other: str) -> Iterator[str]:
    """Begin in one and go on in the other. Yields where both don't have the same."""
    began = talkers.talk(one, *QUESTIONS)
    if talkers.talk(other) != opened(began):
        yield f"{other} opens something else than {one} left"
    ended = talkers.talk(other, *QUESTIONS)
    if "(7)" not in ended["answers"]:  # three turns and the question
        yield f"{other} has not sent what {one} said"
    if talkers.talk(one) != opened(ended):
        yield f"{one} opens something else than {other} left"


def statuses(talkers: Talkers) -> list[str]:
    return [
        f"{turn['status']} {turn['messages'][0]['message']['content']}" for turn in talkers.turns()
    ]


def contents(snapshot: Any) -> list[str]:
    return [message["content"] for message in snapshot["messages"]]


def main() -> int:
    """Let them talk; returns the exit status."""
    scenes = [killed, together, continued] + ([filled] if os.name == "posix" else [])
    problems: list[str] = []
    with fake_ollama() as server:
        for scene in scenes:
            for one, other in permutations(LANGUAGES):
                with tempfile.TemporaryDirectory() as folder:
                    talkers = Talkers(folder, f"http://127.0.0.1:{server.port}")
                    where = f"{scene.__name__}, {one} then {other}"
                    try:
                        problems += [f"{where}: {what}" for what in scene(talkers, one, other)]
                    except AssertionError as error:
                        problems.append(f"{where}: {error}")
    return report(problems, f"{2 * len(scenes)} scenes: nothing lost, nothing mixed")


if __name__ == "__main__":
    sys.exit(main())
