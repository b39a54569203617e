"""One exchange: a question, the answer as it comes, and what of it is remembered.

It is played on a copy of the memory. An exchange that ends well gives the copy to the conversation;
one that fails throws it away, and all is as it was before the question. Nothing here waits for
anything, so plain and async conversations share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ..core.errors import BudgetExceededError, ContextTruncatedError, NoAnswerError
from ..core.frame import Context
from ..core.manager import MemoryManager
from ..core.messages import Message, ToolCall
from ..core.summary import Summary
from ..core.thinking import ThinkingSplitter
from ..core.turns import CountTokens
from ..core.values import JsonObject, JsonValue, copy_json
from .budget import has_images
from .coverage import Coverage
from .room import fit_context, make_room
from .settings import ModelEntry
from .wire import Delta, Durations, Ending

__all__ = ["Exchange", "Question", "Reply"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, and who is told the thinking; None as `content` is after tool results."""

    content: str | None
    images: Sequence[str] | None = None
    format: Mapping[str, object] | str | None = None
    on_thinking: Callable[[str], object] | None = None

    @property
    def message(self) -> JsonObject | None:
        """The user's message that it is; None after tool results."""
        if self.content is None:
            return None
        images = cast("list[JsonValue]", list(self.images or []))
        return {"role": "user", "content": self.content, "images": images}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer.

    `content`, `thinking` and `tool_calls` are the model's; where it calls tools, add each result
    with `add_tool_message` and ask on with None.
    `dropped`: the messages that left the window by this exchange.
    `done_reason`: why the model stopped; `length` is an answer that was cut off.
    `prompt_tokens`, `reply_tokens`: the server's own count, None where it gave none.
    `durations`: how long the server took.
    `interrupted`: whether the reader stopped before the end; then `content` is the part that came.
    `truncation`: the error that tells of a prompt whose front the server cut off unseen, or None.
    """

    content: str
    thinking: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list[ToolCall])
    dropped: list[Message] = field(default_factory=list[Message])
    done_reason: str | None = None
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    durations: Durations = field(default_factory=Durations)
    interrupted: bool = False
    truncation: ContextTruncatedError | None = None


class Exchange:
    """The life of one exchange on `memory`, a copy that is its own, under `entry`.

    `take` each delta; then `finish`, or `interrupt` where the reader stopped. Recalled context and
    the summary stay behind where the question needs their room; raises `BudgetExceededError` where
    what must be sent is over the window's budget all the same. `coverage` says how far the memory
    is summarised, and is kept up with it.
    """

    def __init__(
        self, memory: MemoryManager, entry: ModelEntry, question: Question, coverage: Coverage
    ) -> None:
        self.memory = memory
        self.entry = entry
        self.question = question
        # What was recalled for this question, whole; None where nothing was looked for.
        self.recalled: Context | None = None
        # How many turns had left the window by then.
        self.recalled_at = 0
        # Whether a server had refused a longer prompt of this question.
        self.begun_again = False
        # The answer as it was added to the memory.
        self.answer: JsonObject | None = None
        self._splitter = ThinkingSplitter(opens_thinking=entry.opens_thinking)
        self._field_thinks = False
        self._content = ""
        self._thinking = ""
        self._tool_calls: list[ToolCall] = []
        self._ending: Ending | None = None
        self._held: Summary | None = None
        context = memory.context
        if context and context["place"] == "question" and question.content is not None:
            memory.context = None  # it was another question's
        self.coverage = coverage
        self._dropped: list[Message] = []
        if question.content is None and memory.over_budget:  # the budget has become smaller
            self._follow(memory.restore(memory.snapshot()))
        self._follow(self._add_question())
        self._sent: list[Message] | None = None
        self._estimate = 0

    @property
    def messages(self) -> list[Message]:
        """What the model is to be sent."""
        if self._sent is None:
            self._sent = self.memory.get_messages(include_thinking=self.entry.send_thinking)
            self._estimate = self.memory.tokens
        return self._sent

    @property
    def part(self) -> JsonObject | None:
        """What has come of the answer, for the record of one that failed; None is nothing."""
        if not self._content and not self._thinking:
            return None
        return {"role": "assistant", "content": self._content, "thinking": self._thinking}

    def recall(self, context: Context, count_tokens: CountTokens) -> Context | None:
        """Put recalled context in its place; returns what of it there was room for, maybe none."""
        self.recalled = context
        self.memory.context = None
        fitted = fit_context(self.memory, context, count_tokens)

        def put_in() -> None:
            self.memory.context = fitted

        left = make_room(self.memory, put_in) if fitted else None
        if left:
            self._follow(left)
        self.recalled_at = self.memory.dropped_turns
        self._sent = None
        return self.memory.context

    def take(self, delta: Delta) -> Delta:
        """Take the next piece of the answer and return what it shows, maybe nothing.

        Where the engine's `thinking` field has text, `content` is not searched for thinking.
        """
        self._tool_calls += copy_json(delta.tool_calls)
        self._field_thinks = self._field_thinks or bool(delta.thinking)
        content, thinking = delta.content, delta.thinking
        if not self._field_thinks:
            split = self._splitter.feed(delta.content)
            content, thinking = split.content, split.thinking
        if delta.ending:
            self._ending = delta.ending
            held = self._splitter.finish()
            content, thinking = content + held.content, thinking + held.thinking
        self._content += content
        self._thinking += thinking
        return Delta(content=content, thinking=thinking)

    def finish(self) -> Reply:
        """Remember the answer and return it; raises `NoAnswerError` where there is none."""
        reason = self._ending.done_reason if self._ending else None
        if is_blank(self._content) and not self._tool_calls:
            raise NoAnswerError(reason)
        fields: JsonObject = {} if reason in (None, "stop") else {"done_reason": reason}
        return self._remember(self._tool_calls, fields)

    def interrupt(self) -> Reply | None:
        """Remember the part that came, or return None where no text did.

        Tool calls are left out: nobody is to run what may be half a request. A reader who stopped
        at the very last piece has the whole answer.
        """
        if is_blank(self._content):
            return None
        if self._ending:
            return self.finish()
        return self._remember([], {"interrupted": True})

    def _add_question(self) -> list[Message]:
        """Add the question and return what left; what else is sent gives way to it."""
        content = self.question.content
        try:
            if content is not None:
                return self.memory.add_user_message(content, images=self.question.images)
            require_room(self.memory)
        except BudgetExceededError:
            if self.memory.context:
                self.memory.context = None
            elif self.memory.summary:
                self._held, self.memory.summary = self.memory.summary, None
            else:
                raise
            return self._add_question()
        return []

    def _follow(self, left: list[Message]) -> None:
        self.coverage, left = self.coverage.follow(self.memory, left)
        self._dropped += left

    def _remember(self, tool_calls: list[ToolCall], fields: JsonObject) -> Reply:
        self.answer = {
            "role": "assistant",
            "content": self._content,
            "thinking": self._thinking,
            "tool_calls": cast("list[JsonValue]", tool_calls),
            **fields,
        }
        if self._held and not self.memory.summary:
            self.memory.restore({**self.memory.snapshot(), "summary": self._held}, trim=False)
        self._follow(self.memory.add(self.answer))
        ending = self._ending or Ending()
        return Reply(
            content=self._content,
            thinking=self._thinking,
            tool_calls=copy_json(tool_calls),
            dropped=self._dropped,
            done_reason=ending.done_reason,
            prompt_tokens=ending.prompt_tokens,
            reply_tokens=ending.reply_tokens,
            durations=ending.durations,
            interrupted="interrupted" in fields,
            truncation=self._find_truncation(ending.prompt_tokens),
        )

    def _find_truncation(self, seen: int | None) -> ContextTruncatedError | None:
        """Tell whether the server cut the prompt: it keeps what fills the context, or half of it.

        A count far below the estimate says so only where the estimate is near the context's size,
        and made of words.
        """
        estimate, num_ctx = self._estimate, self.entry.num_ctx
        if seen is None:
            return None
        far_below = estimate * 2 > num_ctx and seen * 5 < estimate * 3
        if seen < num_ctx and (not far_below or has_images(self.messages)):
            return None
        return ContextTruncatedError(max(seen, estimate), num_ctx)


def require_room(memory: MemoryManager) -> None:
    budget = memory.explain()["max_tokens"]
    if budget is not None and memory.tokens > budget:
        raise BudgetExceededError(memory.tokens, budget)


def is_blank(text: str) -> bool:
    return not text.strip(" \t\r\n")
