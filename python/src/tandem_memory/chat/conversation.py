"""`Conversation`: all of a chat that waits for nothing, shared by each kind of `Chat`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from ..core.errors import ContextTruncatedError, ReplyNotStoredError, TandemError
from ..core.frame import Context, Place, read_place
from ..core.manager import MemoryManager
from ..core.messages import Message
from ..core.tokens import estimate_tokens
from ..core.turns import CountTokens
from ..core.values import JsonObject, copy_json
from .budget import Budget
from .correction import Corrections
from .coverage import Coverage
from .engine import ModelInfo
from .events import ChatEvent, Recalled, SummaryFailed, Teller, Truncated
from .exchange import Exchange, Question, Reply
from .journal import Journal
from .settings import ModelEntry, half
from .summarizer import Making, Summarizer

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
    `max_tokens`: default `...`: the entry's `num_ctx`, or what the model has where that is less,
        without its `answer_tokens` and the `tools`. A number is this or less.
    `count_tokens`: the tokens of one message as it is sent; default `estimate_tokens`, corrected by
        the server's own counts as they come in. An exact counter is taken as it is.
    `corrections`: what is learnt of the models so, for chats that share it; default one of its own.
    `tools`: JSON schemas in Ollama's form, sent with every question.
    `summarize`: whether turns that are about to leave the window are summarised after an answer, by
        the same model; default False. See `Chat.summarize`.
    `summary_tokens`: what such a summary may cost, by `estimate_text`; default 256.
    `recall`: called with a question, returns what is known from elsewhere and worth telling with
        it, such as facts of other sessions, as text that is sent as it is; None is nothing. It may
        take a quarter of the budget; lines that are more are left out, the last ones first.
    `context`: where that is sent. `system` (the default) is the system message: once something was
        recalled, that is done again only when a trim changes the prompt anyway, so that the
        server's prompt cache keeps serving. `question` is before the question, anew for each.
    `on_event`: called with what the chat did; what it raises goes to the caller. It must not call
        the chat, which is busy until it returns. A summary that failed is told by the thread or
        task that made it.

    Raises `InvalidLimitError`, `InvalidMessageError` and `BudgetExceededError`.
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
        corrections: Corrections | None = None,
        summarize: bool = False,
        summary_tokens: int = 256,
        recall: Callable[[str], Any] | None = None,
        context: Place = "system",
        on_event: Callable[[ChatEvent], object] | None = None,
    ) -> None:
        made = self._make_engine(model) if isinstance(model, ModelEntry) else model
        self.engine = cast("EngineT", made)
        self.tools = copy_json(cast("list[JsonObject]", list(tools)))
        entry = self.engine.entry
        own_trim = entry.trim_to if max_turns is ... else half(max_turns)
        self._trim_to = own_trim if trim_to is ... else trim_to
        self._max_turns = entry.max_turns if max_turns is ... else max_turns
        self._budget = Budget(self.tools, max_tokens, count_tokens, corrections or Corrections())
        journal = Journal(self._new_memory)
        journal.memory.system_prompt = system_prompt
        self._journal = journal
        self._playing: Exchange | None = None
        self._summarizes = summarize
        self._summarizer = Summarizer(summary_tokens)
        self._recall = recall
        self._place: Place = read_place(context)
        self._recalled_at = 0
        self._teller = Teller(on_event)
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
        before, self.memory.system_prompt = self.memory.system_prompt, value
        if self._playing:
            try:
                self._playing.memory.system_prompt = value
            except TandemError:
                self.memory.system_prompt = before
                raise

    def _ask(self, question: Question) -> None:
        """Write the question down."""
        self._journal.ask(question.message)

    def _is_unseen(self) -> bool:
        """Return whether the model is still to be looked at."""
        return not self._budget.knows(self.engine.entry)

    def _see(self, info: ModelInfo | None) -> None:
        """Take note of what the model is; None where its server does not say it."""
        self._budget.see(self.engine.entry, info.context_length if info else None)

    def _begin(self, question: Question) -> Exchange:
        """Begin the question's exchange, on a copy of the memory."""
        entry, memory = self._budget.fit(self.engine.entry), self._journal.copy()
        self._playing = Exchange(memory, entry, question, self._coverage())
        return self._playing

    def _asks_recall(self, exchange: Exchange) -> bool:
        """Return whether it is time to recall something for the exchange's question."""
        if self._recall is None or exchange.question.content is None or exchange.recalled:
            return False
        trimmed = exchange.memory.dropped_turns != self._recalled_at
        return self._place == "question" or trimmed or exchange.memory.context is None

    def _put_context(self, exchange: Exchange, text: str | None) -> None:
        """Send what was recalled along with the question."""
        context: Context = {"text": text or "", "place": self._place}
        fitted = exchange.recall(context, self._budget.counter(exchange.entry))
        if fitted:
            self._teller.note(Recalled(context=fitted))

    def _again(self, refused: Exchange, error: ContextTruncatedError) -> Exchange:
        """Begin a refused exchange again, shorter by the count that refused it.

        Raises the `error` where it was begun again before, had an answer, or can't be shorter.
        """
        if refused.begun_again or refused.part:
            raise error
        self._budget.tighten(refused.entry, refused.messages, error.prompt_tokens)
        try:
            exchange = self._begin(refused.question)
        except TandemError:
            raise error from None
        if refused.recalled:
            exchange.recall(refused.recalled, self._budget.counter(exchange.entry))
        if exchange.messages == refused.messages:
            raise error
        exchange.begun_again = True
        self._teller.note(Truncated(error=error, asked_again=True))
        return exchange

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
        before = memory.summary
        coverage, dropped = self._coverage().follow(memory, memory.add(message))
        self._journal.settle(memory=memory, message=message, dropped=dropped, status="complete")
        self._summarizer.cover(self.memory, coverage)
        self._teller.note_window(dropped, before, memory.summary)
        return dropped

    def _clear(self) -> None:
        self._journal.clear()
        self._summarizer.cover(self.memory, Coverage())

    def _undo(self) -> list[Message]:
        coverage = self._coverage()
        undone = self._journal.undo()
        self._summarizer.cover(self.memory, coverage.undone(self.memory))
        return undone

    def _plan(self) -> Making | None:
        """Return the making of the next summary, where it is time for one."""
        entry = self._budget.fit(self.engine.entry)
        self._coverage()
        return self._summarizer.plan(self.memory, entry, self._budget.worst(entry))

    def _keep(self, making: Making) -> None:
        """Keep the summary for the next trim, unless the conversation has gone on meanwhile."""
        self._summarizer.keep(self.memory, making)

    def _failed(self, making: Making, error: Exception) -> None:
        """Tell why there is no summary, unless the conversation has gone on meanwhile."""
        if self._summarizer.making is making:
            self._summarizer.fail()
            self._teller.note(SummaryFailed(error=error))
            self._teller.tell()

    def _coverage(self) -> Coverage:
        return self._summarizer.coverage(self.memory, self._journal.waiting)

    def _new_memory(self) -> MemoryManager:
        entry = self._budget.fit(self.engine.entry)
        return MemoryManager(
            None,
            self._max_turns,
            max_tokens=self._budget.limit(entry),
            trim_to=self._trim_to,
            count_tokens=self._budget.counter(entry),
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
        before = self.memory.summary
        try:
            self._journal.settle(
                memory=exchange.memory,
                message=exchange.answer,
                dropped=reply.dropped,
                status="interrupted" if reply.interrupted else "complete",
            )
        except TandemError as error:
            raise ReplyNotStoredError(reply.content) from error
        self._summarizer.cover(self.memory, exchange.coverage)
        if exchange.recalled:
            self._recalled_at = exchange.recalled_at
        self._teller.note_window(reply.dropped, before, self.memory.summary)
        self._learn(exchange, reply)
        return reply

    def _learn(self, exchange: Exchange, reply: Reply) -> None:
        """Learn the server's own count of the prompt."""
        if reply.truncation:
            self._teller.note(Truncated(error=reply.truncation, asked_again=False))
            seen = reply.truncation.prompt_tokens
            self._budget.tighten(exchange.entry, exchange.messages, seen)
        elif reply.prompt_tokens:
            self._budget.learn(exchange.entry, exchange.messages, reply.prompt_tokens)
