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
from ..core.manager import MemoryManager
from ..core.messages import Message, ToolCall
from ..core.thinking import ThinkingSplitter
from ..core.values import JsonObject, JsonValue, copy_json
from .settings import ModelEntry
from .summarizer import Coverage
from .wire import Delta, Durations, Ending

__all__ = ["Exchange", "Question", "Reply"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, and who is told the thinking; None as `content` is after tool results."""

    content: str | None
    images: Sequence[str] | None = None
    format: Mapping[str, object] | str | None = None
    on_thinking: Callable[[str], object] | None = None


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
    """The life of one exchange on `memory`, a copy that is its own.

    `take` each delta; then `finish`, or `interrupt` where the reader stopped. Raises
    `BudgetExceededError` where what must be sent is over the window's budget. `coverage` says how
    far the memory is summarised, and is kept up with it.
    """

    def __init__(
        self, memory: MemoryManager, entry: ModelEntry, question: Question, coverage: Coverage
    ) -> None:
        self.memory = memory
        self.coverage = coverage
        # The answer as it was added to the memory.
        self.answer: JsonObject | None = None
        self._entry = entry
        self._splitter = ThinkingSplitter(opens_thinking=entry.opens_thinking)
        self._field_thinks = False
        self._content = ""
        self._thinking = ""
        self._tool_calls: list[ToolCall] = []
        self._ending: Ending | None = None
        content, images = question.content, question.images
        dropped = [] if content is None else memory.add_user_message(content, images=images)
        self.coverage, self._dropped = coverage.follow(memory, dropped)
        budget = memory.explain()["max_tokens"]
        if budget is not None and memory.tokens > budget:
            raise BudgetExceededError(memory.tokens, budget)
        self._prompt_estimate = memory.tokens

    @property
    def messages(self) -> list[Message]:
        """What the model is to be sent."""
        return self.memory.get_messages(include_thinking=self._entry.send_thinking)

    @property
    def part(self) -> JsonObject | None:
        """What has come of the answer, for the record of one that failed; None is nothing."""
        if not self._content and not self._thinking:
            return None
        return {"role": "assistant", "content": self._content, "thinking": self._thinking}

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

    def _remember(self, tool_calls: list[ToolCall], fields: JsonObject) -> Reply:
        self.answer = {
            "role": "assistant",
            "content": self._content,
            "thinking": self._thinking,
            "tool_calls": cast("list[JsonValue]", tool_calls),
            **fields,
        }
        dropped = self.memory.add(self.answer)
        self.coverage, dropped = self.coverage.follow(self.memory, dropped)
        ending = self._ending or Ending()
        return Reply(
            content=self._content,
            thinking=self._thinking,
            tool_calls=copy_json(tool_calls),
            dropped=self._dropped + dropped,
            done_reason=ending.done_reason,
            prompt_tokens=ending.prompt_tokens,
            reply_tokens=ending.reply_tokens,
            durations=ending.durations,
            interrupted="interrupted" in fields,
            truncation=self._find_truncation(ending.prompt_tokens),
        )

    def _find_truncation(self, seen: int | None) -> ContextTruncatedError | None:
        """Tell whether the server cut the prompt: it keeps what fills the context, or half of it.

        A count far below the estimate says so only where the estimate is near the context's size.
        """
        estimate, num_ctx = self._prompt_estimate, self._entry.num_ctx
        if seen is None:
            return None
        far_below = estimate * 2 > num_ctx and seen * 5 < estimate * 3
        if seen < num_ctx and not far_below:
            return None
        return ContextTruncatedError(max(seen, estimate), num_ctx)


def is_blank(text: str) -> bool:
    return not text.strip(" \t\r\n")
