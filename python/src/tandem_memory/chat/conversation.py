"""`Conversation`: all of a chat that waits for nothing, shared by each kind of `Chat`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from ..core.errors import InvalidLimitError, ReplyNotStoredError, TandemError
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.tokens import estimate_tokens, estimate_tools
from ..core.turns import CountTokens
from ..core.values import JsonObject, JsonValue, copy_json
from .exchange import Exchange, Question, Reply
from .journal import Journal
from .settings import ModelEntry, half
from .summarizer import Coverage, Making, read_summary_tokens

__all__ = ["Conversation", "Outcome"]

Outcome = Literal["finished", "interrupted", "failed"]
"""How the reading of an answer ended; where the reader left from outside, it is interrupted."""


class HasEntry(Protocol):
    """An engine, as far as a conversation knows it."""

    @property
    def entry(self) -> ModelEntry: ...


EngineT = TypeVar("EngineT", bound=HasEntry)


class Conversation(Generic[EngineT]):
    """A memory, and the model that talks, by whose entry the memory's limits are set.

    `model`: an entry, such as `load_models().find("local/chat/small")`, or an engine of one's own.
    `system_prompt`: the one system message's text; None or `""` is none.
    `max_turns`, `trim_to`: as in `MemoryManager`; default `...`, which takes the entry's.
    `max_tokens`: default `...`: the entry's `num_ctx` less its `answer_tokens` and the `tools`.
    `count_tokens`: the tokens of one message as it is sent; default `estimate_tokens`.
    `tools`: JSON schemas in Ollama's form, sent with every question.
    `summarize`: whether turns that are about to leave the window are summarised after an answer, by
        the same model; default False. See `Chat.summarize`.
    `summary_tokens`: what such a summary may cost, by `estimate_text`; default 256.

    Raises `InvalidLimitError` and `BudgetExceededError`.
    """

    _make_engine: Callable[[ModelEntry], Any]
    _make_lock: Callable[[], Any]

    def __init__(
        self,
        model: ModelEntry | EngineT,
        *,
        system_prompt: str | None = None,
        max_turns: int | EllipsisType | None = ...,
        trim_to: int | EllipsisType | None = ...,
        max_tokens: int | EllipsisType | None = ...,
        count_tokens: CountTokens = estimate_tokens,
        tools: Sequence[Mapping[str, object]] = (),
        summarize: bool = False,
        summary_tokens: int = 256,
    ) -> None:
        made = self._make_engine(model) if isinstance(model, ModelEntry) else model
        self.engine = cast("EngineT", made)
        self.tools = copy_json(cast("list[JsonObject]", list(tools)))
        entry = self.engine.entry
        own_trim = entry.trim_to if max_turns is ... else half(max_turns)
        self._trim_to = own_trim if trim_to is ... else trim_to
        self._max_turns = entry.max_turns if max_turns is ... else max_turns
        self._max_tokens = token_budget(entry, self.tools) if max_tokens is ... else max_tokens
        self._count_tokens = count_tokens
        journal = Journal(self._new_memory)
        journal.memory.system_prompt = system_prompt
        self._journal = journal
        self._playing: Exchange | None = None
        self._summarizes = summarize
        self._summary_tokens = read_summary_tokens(summary_tokens)
        self._coverage = Coverage()
        self._covered = journal.memory
        self._making: Making | None = None
        self._lock = self._make_lock()

    @property
    def memory(self) -> MemoryManager:
        """The window as the last exchange left it; each exchange that ends well makes a new one.

        Read it at will. Change it by the methods of the chat alone, which wait their turn.
        """
        return self._journal.memory

    @property
    def session_id(self) -> str | None:
        """The id of the session that the conversation is stored as; None where it is not."""
        return self._journal.session_id

    @property
    def system_prompt(self) -> str | None:
        """The system message's text. Setting it takes effect with the next question.

        A stored conversation saves it with the answer to that.
        """
        return self.memory.system_prompt

    @system_prompt.setter
    def system_prompt(self, value: str | None) -> None:
        self.memory.system_prompt = value
        if self._playing:
            self._playing.memory.system_prompt = value

    def _begin(self, question: Question) -> Exchange:
        """Write the question down, then begin its exchange, on a copy of the memory."""
        self._journal.ask(user_message(question))
        memory, entry = self._journal.copy(), self.engine.entry
        self._playing = Exchange(memory, entry, question, self._known_coverage())
        return self._playing

    def _end(self, outcome: Outcome) -> Reply | None:
        """End the exchange: keep what it made of the question, or leave the memory as it was."""
        exchange, self._playing = self._playing, None
        try:
            return self._conclude(exchange, outcome)
        finally:
            self._journal.release()

    def _add_result(
        self, content: str, tool_name: str | None, tool_call_id: str | None
    ) -> list[Message]:
        memory = self._journal.copy()
        message: JsonObject = {
            "role": "tool",
            "content": content,
            "tool_name": tool_name,
            "tool_call_id": tool_call_id,
        }
        coverage, dropped = self._known_coverage().follow(memory, memory.add(message))
        self._journal.settle(memory=memory, message=message, dropped=dropped, status="complete")
        self._cover(coverage)
        return dropped

    def _clear(self) -> None:
        self._journal.clear()
        self._cover(Coverage())

    def _undo(self) -> list[Message]:
        coverage = self._known_coverage()
        undone = self._journal.undo()
        self._cover(coverage.undone(self.memory))
        return undone

    def _plan(self) -> Making | None:
        """Return the making of the next summary, where it is time for one."""
        coverage, entry = self._known_coverage(), self.engine.entry
        self._making = coverage.plan(self.memory, entry, self._summary_tokens)
        return self._making

    def _keep(self, making: Making) -> None:
        """Keep the summary for the next trim, unless the conversation has gone on meanwhile."""
        coverage = making.finish()
        if self._making is making and self._known_coverage() is making.coverage:
            self._cover(coverage)
            making.kept = True

    def _known_coverage(self) -> Coverage:
        """Return how far the memory is summarised; what was planned for another window is void."""
        if self._covered is not self.memory:
            self._cover(Coverage(self._journal.waiting))
        return self._coverage

    def _cover(self, coverage: Coverage) -> None:
        self._coverage, self._covered, self._making = coverage, self.memory, None

    def _new_memory(self) -> MemoryManager:
        return MemoryManager(
            None,
            self._max_turns,
            max_tokens=self._max_tokens,
            trim_to=self._trim_to,
            count_tokens=self._count_tokens,
        )

    def _conclude(self, exchange: Exchange | None, outcome: Outcome) -> Reply | None:
        reply = None
        try:
            if exchange and outcome == "finished":
                reply = exchange.finish()
            elif exchange and outcome == "interrupted":
                reply = exchange.interrupt()
        finally:
            if reply is None:
                part = exchange.part if exchange else None
                self._journal.settle(memory=None, message=part, dropped=[], status="failed")
        if exchange is None or reply is None:
            return None
        try:
            self._journal.settle(
                memory=exchange.memory,
                message=exchange.answer,
                dropped=reply.dropped,
                status="interrupted" if reply.interrupted else "complete",
            )
        except TandemError as error:
            raise ReplyNotStoredError(reply.content) from error
        self._cover(exchange.coverage)
        return reply


def user_message(question: Question) -> JsonObject | None:
    if question.content is None:
        return None
    images = cast("list[JsonValue]", list(question.images or []))
    return {"role": "user", "content": question.content, "images": images}


def token_budget(entry: ModelEntry, tools: Sequence[JsonObject]) -> int:
    """Return what the window may cost: the context less the answer's room and the tools."""
    budget = entry.num_ctx - entry.answer_tokens - estimate_tools(tools)
    if budget < 1:
        allowed = f"so small that num_ctx, {entry.num_ctx}, has room for a question and the tools"
        raise InvalidLimitError("answer_tokens", entry.answer_tokens, allowed)
    return budget
