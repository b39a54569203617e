"""Runs the shared fixtures: `python fixtures.py FILE…` prints a JSON line for each case.

Twin: typescript/tests/fixtures.ts. It needs no test framework, so that the checks can run it too.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import stores
from chats import ChatSubject, ModelsSubject
from encoding import Json, decode, encode, expand, spoil, write
from storedchats import StoredChatSubject
from tandem_memory.chat.correction import Corrections
from tandem_memory.core import costs, messages, summary, thinking, tokens, values
from tandem_memory.core.errors import TandemError
from tandem_memory.core.manager import MemoryManager
from tandem_memory.core.messages import Message
from tandem_memory.core.thinking import ThinkingSplitter
from tandem_memory.core.window import window
from terminals import TerminalSubject

CASES = Path(__file__).parents[2] / "shared-fixtures" / "cases"

COUNTERS: dict[str, Callable[[Message], Any]] = {
    "ones": lambda _: 1,
    "code_points": lambda message: len(message["content"]),
    "fields": len,
    "roles": lambda message: len(message["role"]),
    "estimate": tokens.estimate_tokens,
    "half": lambda _: 0.5,
    "negative": lambda _: -1,
    "not_a_number": lambda _: math.nan,
    "text": lambda _: "1",
    "boolean": lambda _: True,
}

FUNCTIONS: dict[str, Callable[..., object]] = {
    "canonical_json": values.canonical_json,
    "estimate_text": tokens.estimate_text,
    "estimate_tokens": tokens.estimate_tokens,
    "estimate_tools": tokens.estimate_tools,
    "message_costs": tokens.message_costs,
    "read_message": messages.read_message,
    "read_summary_reply": summary.read_summary_reply,
    "split_thinking": thinking.split_thinking,
    "text_costs": costs.text_costs,
    "well_formed": values.well_formed,
    "window": window,
}


class CaseFailedError(AssertionError):
    """A step whose result or state is not what the fixture says."""


def load_cases(folder: Path = CASES) -> list[Json]:
    """Return the cases of all fixture files in `folder`."""
    return [case for file in sorted(folder.glob("*.json")) for case in read_file(file)]


def read_file(file: Path) -> list[Json]:
    return json.loads(file.read_text("utf-8"))["cases"]


def run_case(case: Json) -> None:
    """Run one case, or raise `CaseFailedError` with what was expected and what came."""
    for given in stores.variants(case["given"]):
        subject = make_subject(given)
        try:
            run_steps(case, given, subject)
        finally:
            if isinstance(subject, StoredChatSubject):
                subject.close()


def run_steps(case: Json, given: Json, subject: CanBeCalled) -> None:
    for number, step in enumerate(case["steps"], 1):
        came = perform(subject, step)
        expected = {key: step[key] for key in ("returns", "throws", "state") if key in step}
        if write(expected) != write(came):
            raise CaseFailedError(
                f"{case['id']}, step {number} ({step['call']}), {given}: "
                f"expected\n{write(expected)}\ncame\n{write(came)}"
            )


def make_subject(given: Json) -> CanBeCalled:
    """Make the one object of a case."""
    (kind, options), *rest = decode(given).items()
    assert not rest, "one object a case"
    return SUBJECTS[kind](options)


def perform(subject: CanBeCalled, step: Json) -> dict[str, Json]:
    """Do a step and return what came of it: what it returns or throws, and the state after it."""
    return {**call(subject, step["call"], decode(step["args"])), "state": encode(subject.state())}


def call(subject: CanBeCalled, name: str, args: Json) -> dict[str, Json]:
    try:
        returned = subject.call(name, args)
    except TandemError as error:
        return {"throws": {"code": error.code, "data": encode(error.data)}}
    came = encode(returned)
    spoil(args)
    spoil(returned)
    return {"returns": came}


class CanBeCalled(Protocol):
    """What a case calls, and how to read its state."""

    def call(self, name: str, args: Json) -> Json: ...

    def state(self) -> Json: ...


class Subject:
    """What a case calls: an object's methods by name, and how to read its state."""

    def __init__(self, target: object, state: Callable[[], Json]) -> None:
        self.target = target
        self.state = state

    def call(self, name: str, args: Json) -> Json:
        if name.startswith("set_"):
            return setattr(self.target, name.removeprefix("set_"), args["value"])
        return getattr(self.target, name)(**args)


class Functions(Subject):
    """The functions of the core, which have no state."""

    def __init__(self) -> None:
        super().__init__(None, lambda: None)

    def call(self, name: str, args: Json) -> Json:
        if "messages" in args:
            args["messages"] = [expand(message) for message in args["messages"]]
        if name == "window":
            args["count_tokens"] = COUNTERS[args.get("count_tokens", "ones")]
        if name == "new_manager":
            return new_manager(args)
        if name == "summary_messages":
            return summary.summary_messages(args.pop("previous"), args.pop("messages"), **args)
        return FUNCTIONS[name](**args)


def new_manager(options: Json) -> Json:
    return manager_state(make_manager(options), options)


def manager_subject(options: Json) -> Subject:
    manager = make_manager(options)
    return Subject(manager, lambda: manager_state(manager, options))


def make_manager(options: Json) -> MemoryManager:
    counter = COUNTERS[options.get("count_tokens", "ones")]
    rest = {key: value for key, value in options.items() if key != "count_tokens"}
    return MemoryManager(**rest, count_tokens=counter)


def manager_state(manager: MemoryManager, options: Json) -> Json:
    state: Json = dict(manager.snapshot())
    del state["version"]
    if "count_tokens" in options:
        state |= {"tokens": manager.tokens, "over_budget": manager.over_budget}
    return state


def splitter_subject(options: Json) -> Subject:
    splitter = ThinkingSplitter(**options)
    seen = {"content": "", "thinking": ""}

    class Collecting(Subject):
        def call(self, name: str, args: Json) -> Json:
            thought = super().call(name, args)
            seen["content"] += thought.content
            seen["thinking"] += thought.thinking
            return thought

    return Collecting(splitter, lambda: dict(seen))


def chat_subject(options: Json) -> ChatSubject:
    counter = COUNTERS[options.pop("count_tokens", "ones")]
    return ChatSubject(options, counter)


def stored_chat_subject(options: Json) -> StoredChatSubject:
    counter = COUNTERS[options.pop("count_tokens", "ones")]
    return StoredChatSubject(options, counter)


def corrections_subject(weights: Json) -> Subject:
    corrections = Corrections(weights)

    class Making(Subject):
        def call(self, name: str, args: Json) -> Json:
            if name == "new_corrections":
                return Corrections(**args).weights
            return super().call(name, args)

    return Making(corrections, lambda: corrections.weights)


SUBJECTS: dict[str, Callable[[Json], CanBeCalled]] = {
    "chat": chat_subject,
    "cli": lambda _: TerminalSubject(),
    "core": lambda _: Functions(),
    "corrections": corrections_subject,
    "manager": manager_subject,
    "models": ModelsSubject,
    "splitter": splitter_subject,
    "stored_chat": stored_chat_subject,
    "store": lambda options: stores.StoreSubject(options),
}


def main(files: list[str]) -> None:
    for file in files:
        for case in read_file(Path(file)):
            result = {"id": case["id"], "passed": True, "why": ""}
            try:
                run_case(case)
            except Exception as error:  # noqa: BLE001 - a case may fail in any way
                result |= {"passed": False, "why": f"{type(error).__name__}: {error}"}
            sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
