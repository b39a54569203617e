"""`Conversation`: all of a chat that waits for nothing, shared by each kind of `Chat`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import EllipsisType
from typing import Any, Generic, Protocol, TypeVar, cast

from ..core.errors import InvalidLimitError
from ..core.manager import MemoryManager
from ..core.tokens import estimate_tokens, estimate_tools
from ..core.turns import CountTokens
from ..core.values import JsonObject, copy_json
from .exchange import Exchange, Question, Reply
from .settings import ModelEntry, half

__all__ = ["Conversation"]


class HasReply(Protocol):
    """A stream, as far as a conversation knows it."""

    reply: Reply | None


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
        self._memory = self._new_memory()
        self._memory.system_prompt = system_prompt
        self._playing: Exchange | None = None
        self._lock = self._make_lock()

    @property
    def memory(self) -> MemoryManager:
        """The window as the last exchange left it; each exchange that ends well makes a new one.

        Read it at will. Change it by the methods of the chat alone, which wait their turn.
        """
        return self._memory

    @property
    def system_prompt(self) -> str | None:
        """The system message's text. Setting it takes effect with the next question."""
        return self._memory.system_prompt

    @system_prompt.setter
    def system_prompt(self, value: str | None) -> None:
        self._memory.system_prompt = value
        if self._playing:
            self._playing.memory.system_prompt = value

    @contextmanager
    def _exchange(self, question: Question, stream: HasReply) -> Generator[Exchange]:
        """Play an exchange for the block, and remember what it made of the question.

        A block that ends well finishes it. One that is left from outside (a closed generator,
        Ctrl-C, a cancelled task) interrupts it; an error fails it, and nothing is remembered.
        """
        memory = self._new_memory()
        memory.restore(self._memory.snapshot())
        exchange = self._playing = Exchange(memory, self.engine.entry, question)
        try:
            yield exchange
            stream.reply = exchange.finish()
        except BaseException as error:
            if not isinstance(error, Exception):
                stream.reply = exchange.interrupt()
            raise
        finally:
            self._playing = None
            if stream.reply:
                self._memory = exchange.memory

    def _new_memory(self) -> MemoryManager:
        return MemoryManager(
            None,
            self._max_turns,
            max_tokens=self._max_tokens,
            trim_to=self._trim_to,
            count_tokens=self._count_tokens,
        )


def token_budget(entry: ModelEntry, tools: Sequence[JsonObject]) -> int:
    """Return what the window may cost: the context less the answer's room and the tools."""
    budget = entry.num_ctx - entry.answer_tokens - estimate_tools(tools)
    if budget < 1:
        allowed = f"so small that num_ctx, {entry.num_ctx}, has room for a question and the tools"
        raise InvalidLimitError("answer_tokens", entry.answer_tokens, allowed)
    return budget
