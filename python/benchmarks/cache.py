"""The prompt cache: what each way of keeping a window makes the engine read again.

A model server keeps the state of the last prompt and reads the next one from where the two part.
Dropping a turn at every turn parts them right after the system message, so all that follows is
read again. Here one chat is held again for each policy, with replies that the model generates, on
the server at TANDEM_LIVE_URL with the model TANDEM_LIVE_MODEL: `nox -s bench -- cache`.

The embedded engine tells how many tokens its llama.cpp read. Ollama's API has durations alone, so
there the tokens read are an estimate: the duration over that of a token in a prompt read cold.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import ollama
from rivals import naive

from tandem_memory.core.manager import MemoryManager

SYSTEM = "You are a friendly companion. Answer in one short sentence."
OPTIONS = {"num_ctx": 8192, "num_predict": 40, "temperature": 0, "seed": 1}
FACTS = 10  # how many the system message holds, where it holds any

THINGS = (
    "my cat Huahua",
    "my sister in Lisbon",
    "the garden",
    "my old piano",
    "the morning run",
    "the chess club",
    "the sourdough starter",
    "our trip to Norway",
    "the night shift",
    "my grandmother's recipes",
    "the blue bicycle",
    "my thesis",
)
ASKS = (  # of another number than THINGS, with no divisor in common: 60 different questions
    "Let me tell you about {}. What would you ask me first?",
    "What could go wrong with {} this week?",
    "Write two sentences about {}.",
    "How would you explain {} to a child?",
    "What should I not forget about {}?",
)


@dataclass
class Policy:
    """A way of keeping the window, and of telling facts with it: where, and when anew."""

    name: str
    memory: MemoryManager | naive.MemoryManager
    facts: Literal["never", "at every turn", "at a trim", "before the question"] = "never"


@dataclass
class Turn:
    """One answer: tokens of the prompt and of those read, seconds to the first token."""

    sent: int
    read: int
    first_token: float
    remembered: int
    """Earlier turns that the prompt held."""


@dataclass
class Engine:
    """A model behind Ollama's API."""

    url: str
    model: str
    client: ollama.Client = field(init=False)
    cold: float | None = field(init=False, default=None)
    """Nanoseconds to read a token, where the server does not count the tokens that it reads."""

    def __post_init__(self) -> None:
        self.client = ollama.Client(self.url, trust_env=False)
        if self._stats() is None:
            self.restart()
            prompt = [{"role": "user", "content": " ".join(map(questions, range(60)))}]
            _, _, last = self._chat(prompt)
            self.cold = last.prompt_eval_duration / last.prompt_eval_count

    def restart(self) -> None:
        """Load the model anew, so that nothing is cached."""
        self.client.chat(self.model, [], keep_alive=0)
        self.client.chat(self.model, [])

    def ask(self, messages: list[Any]) -> tuple[str, Turn]:
        """Return the model's reply and what it took."""
        reply, first_token, last = self._chat(messages)
        remembered = sum(message["role"] == "user" for message in messages) - 1
        return reply, Turn(last.prompt_eval_count, self._read(last), first_token, remembered)

    def cache_bytes(self) -> int:
        """Return what a token takes in the engine's cache: a key and a value a layer, 16 bits."""
        info = self.client.show(self.model).modelinfo or {}
        of = {name.partition(".")[2]: value for name, value in info.items()}
        width = of["embedding_length"] // of["attention.head_count"]
        width = of.get("attention.key_length", width)
        return 2 * 2 * of["block_count"] * of["attention.head_count_kv"] * width

    def _chat(self, messages: list[Any]) -> tuple[str, float, ollama.ChatResponse]:
        started = time.perf_counter()
        first_token = 0.0
        reply = ""
        stream = self.client.chat(self.model, messages, stream=True, think=False, options=OPTIONS)
        for part in stream:
            first_token = first_token or time.perf_counter() - started
            reply += part.message.content or ""
        return reply, first_token, part

    def _read(self, last: ollama.ChatResponse) -> int:
        if self.cold is not None:
            return min(last.prompt_eval_count, round(last.prompt_eval_duration / self.cold))
        stats = self._stats()
        assert stats is not None
        return stats["last"]["evaluated_tokens"]

    def _stats(self) -> dict[str, Any] | None:
        response = httpx.get(f"{self.url}/tandem/stats", trust_env=False)
        return response.json() if response.status_code == 200 else None


def questions(turn: int) -> str:
    """Return the user's words at a turn."""
    return ASKS[turn % len(ASKS)].format(THINGS[turn % len(THINGS)])


def tell_facts(memory: MemoryManager, policy: Policy, turn: int, *, trimmed: bool) -> None:
    """Put what the user spoke of lately, newest first, where and when the policy wants it."""
    told = range(turn, max(turn - FACTS, -1), -1)
    facts = [f"- The user spoke of {THINGS[i % len(THINGS)]} (turn {i + 1})." for i in told]
    text = "\n".join(["What is known of the user:", *facts])
    if policy.facts == "before the question":
        memory.context = {"text": text, "place": "question"}
    elif policy.facts == "at every turn" or trimmed or turn == 0:
        memory.context = {"text": text, "place": "system"}


def hold(engine: Engine, policy: Policy, turns: int) -> list[Turn]:
    """Hold the chat under a policy."""
    engine.restart()
    memory, held = policy.memory, list[Turn]()
    dropped = None
    for turn in range(turns):
        if policy.facts != "never" and isinstance(memory, MemoryManager):
            tell_facts(memory, policy, turn, trimmed=bool(dropped))
        memory.add_user_message(questions(turn))
        reply, taken = engine.ask(memory.get_messages())
        dropped = memory.add_assistant_message(reply)
        held.append(taken)
        show_progress(policy.name, turn + 1, turns)
    return held


def show_progress(name: str, turn: int, turns: int) -> None:
    """Show a line of progress on standard error: in place of the last one, or by ten turns."""
    terminal = sys.stderr.isatty()
    if terminal or turn % 10 == 0 or turn == turns:
        end = "\r" if terminal and turn < turns else "\n"
        print(f"{name}: turn {turn} of {turns}", end=end, file=sys.stderr, flush=True)


def table(
    policies: Iterable[Policy], held: list[list[Turn]], full: int, cache_bytes: int
) -> Iterable[str]:
    """Return the lines of the table; times are of the turns after the first `full`."""
    yield "| policy | tokens read | share of the prompts | to the plain window | to no limit |"
    yield "|---|--:|--:|--:|--:|"
    read = [sum(turn.read for turn in turns) for turns in held]
    for policy, turns, own in zip(policies, held, read, strict=True):
        share = own / sum(turn.sent for turn in turns)
        yield (
            f"| {policy.name} | {own:,} | {share:.1%} | {own / read[0]:.2f} | {own / read[1]:.2f} |"
        )
    yield ""
    yield "| policy | first token, median | mean | slowest | turns remembered | cache at most |"
    yield "|---|--:|--:|--:|--:|--:|"
    for policy, turns in zip(policies, held, strict=True):
        late = turns[full:]
        times = [turn.first_token for turn in late]
        least, most = (end(turn.remembered for turn in late) for end in (min, max))
        cache = max(turn.sent for turn in turns) * cache_bytes / 2**20
        yield (
            f"| {policy.name} | {statistics.median(times):.2f} s | {statistics.mean(times):.2f} s "
            f"| {max(times):.2f} s | {least} to {most} | {cache:.0f} MiB |"
        )


def main() -> None:
    """Hold the chat under each policy and print the tables."""
    parser = argparse.ArgumentParser(prog="cache", description=__doc__)
    parser.add_argument("--turns", type=int, default=60, help="of each chat (default 60)")
    parser.add_argument("--max-turns", type=int, default=20, help="of the window (default 20)")
    options = parser.parse_args()
    most = options.max_turns
    if options.turns < most + 2:
        parser.error(f"--turns {options.turns} never fills a window of {most}; give {most + 2}")
    try:
        engine = Engine(os.environ["TANDEM_LIVE_URL"], os.environ["TANDEM_LIVE_MODEL"])
    except KeyError as missing:
        parser.error(f"{missing} is not set; run `nox -s bench -- cache`, which serves a model")
    half = most // 2
    policies = [
        Policy(f"plain window of {most} turns", naive.MemoryManager(SYSTEM, most)),
        Policy("no limit", MemoryManager(SYSTEM, None)),
        Policy(f"`trim_to={half}`", MemoryManager(SYSTEM, most, trim_to=half)),
        Policy(
            f"`trim_to={half}`, facts in the system message written anew at a trim",
            MemoryManager(SYSTEM, most, trim_to=half),
            "at a trim",
        ),
        Policy(
            f"`trim_to={half}`, facts before the question written anew at every turn",
            MemoryManager(SYSTEM, most, trim_to=half),
            "before the question",
        ),
        Policy(
            "plain window, facts in the system message written anew at every turn",
            MemoryManager(SYSTEM, most),
            "at every turn",
        ),
    ]
    started = time.monotonic()
    held = [hold(engine, policy, options.turns) for policy in policies]
    minutes = (time.monotonic() - started) / 60
    print(f"{engine.model}, {options.turns} turns under each policy, {minutes:.0f} minutes.")
    if engine.cold is not None:
        print("This server does not count what it reads: the tokens read are an estimate.")
    print(f"Times and memory are of the turns from {most + 2} on.\n")
    print("\n".join(table(policies, held, most + 1, engine.cache_bytes())))


if __name__ == "__main__":
    main()
