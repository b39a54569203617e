"""`MemoryManager`: the controller between the messages and the model.

A language model is stateless: the application keeps the messages and decides what the model sees.
This class holds the window and nothing else; its rules are the pure functions of `turns` and
`window`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import BudgetExceededError
from .explanation import ExplainedPart, Explanation, explain_cut, explain_window
from .frame import Context, count_context, make_frame, place_context, read_context
from .messages import Message, ToolCall, read_message, sent_message
from .snapshot import Snapshot, read_snapshot, read_system_prompt, write_snapshot
from .summary import Summary, read_summary
from .tokens import estimate_tokens
from .turns import (
    CountTokens,
    Turn,
    append_message,
    arriving_messages,
    count_message,
    take_steps,
    turn_messages,
)
from .values import copy_json
from .window import cut_turns, foresee_cut, read_limits

__all__ = ["MemoryManager"]


class MemoryManager:
    """Keeps a conversation's window: the system message, then the newest turns, always whole.

    `system_prompt`: the one system message's text; None or `""` is none.
    `max_turns`: how many closed turns are kept beside the open one; default 20, None is no limit.
    `max_tokens`: the window's token budget, the system message included; None is no limit.
    `trim_to`: how many closed turns a trim leaves, once a limit is passed; default `max_turns`.
        A smaller number lets the front of the prompt stand still for many turns, so that a model
        server's prompt cache keeps serving; the token budget is then trimmed by the same share.
    `count_tokens`: the tokens of one message as it is sent; default `estimate_tokens`.

    Messages are copied on their way in and out. Trimming happens on every add, and an add returns
    what it dropped. After an error the manager is as it was before the call. Raises
    `InvalidLimitError`, and `BudgetExceededError` for a system prompt that can't fit alone.
    """

    def __init__(
        self,
        system_prompt: str | None = None,
        max_turns: int | None = 20,
        *,
        max_tokens: int | None = None,
        trim_to: int | None = None,
        count_tokens: CountTokens = estimate_tokens,
    ) -> None:
        self._limits = read_limits(max_turns, max_tokens, trim_to)
        self._count_tokens = count_tokens
        self._frame = make_frame(None, None, None, count_tokens)
        # The window is _turns[_start:]. What left stays in front until it is as long as the window:
        # so dropping a turn costs the same however long the window is.
        self._turns: list[Turn] = []
        self._start = 0
        self._tokens = 0
        self._dropped_turns = 0
        self._dropped: list[ExplainedPart] = []
        self.system_prompt = system_prompt

    @property
    def system_prompt(self) -> str | None:
        """The system message's text. Setting it takes effect at once, but trims nothing."""
        return self._frame.system_prompt

    @system_prompt.setter
    def system_prompt(self, value: str | None) -> None:
        self._set_frame(read_system_prompt(value), self._frame.summary, self._frame.context)

    @property
    def summary(self) -> Summary | None:
        """What stands for turns that have left, sent in the system message behind its prompt.

        Setting it takes effect at once, but trims nothing; `clear` drops it. It tells of the first
        `turns` turns of the conversation: `explain` says which of them have left.
        """
        return copy_json(self._frame.summary)

    @summary.setter
    def summary(self, value: Summary | None) -> None:
        self._set_frame(self._frame.system_prompt, read_summary(value), self._frame.context)

    @property
    def context(self) -> Context | None:
        """What was recalled from elsewhere, sent as it is, in its place.

        Setting it takes effect at once, but trims nothing; `clear` drops it. Before the question it
        counts as a message of its own.
        """
        return copy_json(self._frame.context)

    @context.setter
    def context(self, value: Context | None) -> None:
        self._set_frame(self._frame.system_prompt, self._frame.summary, read_context(value))

    @property
    def tokens(self) -> int:
        """The tokens of the window, by `count_tokens`."""
        return self._frame.tokens + self._tokens

    @property
    def dropped_turns(self) -> int:
        """How many turns have left the window since the conversation began."""
        return self._dropped_turns

    @property
    def over_budget(self) -> bool:
        """Whether the window is over `max_tokens`: a reply or a tool result is never refused."""
        return self._limits.max_tokens is not None and self.tokens > self._limits.max_tokens

    def add_user_message(
        self, content: str, *, images: Sequence[str] | None = None
    ) -> list[Message]:
        """Open a new turn; `images` are base64 texts. Returns the messages that left the window.

        Tool calls still unanswered first get a result that says there is none. Raises
        `BudgetExceededError` where the message can't fit with the system prompt.
        """
        return self.add({"role": "user", "content": content, "images": images})

    def add_assistant_message(
        self,
        content: str,
        *,
        thinking: str | None = None,
        tool_calls: Sequence[ToolCall] | None = None,
    ) -> list[Message]:
        """Add the model's reply. Returns the messages that left the window.

        Where `thinking` is not given, a leading `<think>` block of `content` becomes it.
        """
        fields = {"thinking": thinking, "tool_calls": tool_calls}
        return self.add({"role": "assistant", "content": content, **fields})

    def add_tool_message(
        self, content: str, *, tool_name: str | None = None, tool_call_id: str | None = None
    ) -> list[Message]:
        """Add a tool's result. Returns the messages that left the window.

        It answers the call of that id; without an id, the first unanswered call of that name.
        Raises `ToolCallNotFoundError` where there is none.
        """
        fields = {"tool_name": tool_name, "tool_call_id": tool_call_id}
        return self.add({"role": "tool", "content": content, **fields})

    def add(self, message: object) -> list[Message]:
        """Add a message in Ollama's chat form, unknown fields and all. Returns what left."""
        read = read_message(message)
        arriving = arriving_messages(self._newest(), read)
        costs = [count_message(each, self._count_tokens) for each in arriving]
        if read["role"] == "user":
            self._require(self._frame.tokens + costs[-1])
        for each, cost in zip(arriving, costs, strict=True):
            append_message(self._turns, each, cost)
        self._tokens += sum(costs)
        return self._trim()

    def get_messages(self, *, include_thinking: bool = False) -> list[Message]:
        """Return what a model is to be sent, as copies; `thinking` only where asked for."""
        system = [self._frame.system] if self._frame.system else []
        kept = place_context(system + turn_messages(self._window()), self._frame.context)
        return [sent_message(message, include_thinking=include_thinking) for message in kept]

    def leaving(self) -> list[list[Message]]:
        """Return the turns that the next trim is to drop, oldest first, once it is near; else [].

        It is near when there are `max_turns` closed turns, or when three quarters of `max_tokens`
        are used up. What is returned can be summarised before it leaves.
        """
        turns = self._window()
        leaving = turns[: foresee_cut(turns, self._limits, self.tokens)]
        return copy_json([turn_messages([turn]) for turn in leaving])

    def clear(self) -> None:
        """Empty the conversation, drop its summary and its context; the system prompt stays."""
        self._set_frame(self._frame.system_prompt, None, None)
        self._replace([], 0)

    def undo(self) -> list[Message]:
        """Drop the window's last turn and return its messages; none that left comes back."""
        turns = self._window()
        # One that the summary tells of counts as one that left: the next turn is not told yet.
        told = min(self._told(), len(turns))
        self._replace(turns[:-1], self._dropped_turns + max(told - len(turns[:-1]), 0))
        return turn_messages(turns[-1:])

    def snapshot(self) -> Snapshot:
        """Return all that the manager holds, thinking too, as a JSON document of its own."""
        messages = turn_messages(self._window())
        return copy_json(write_snapshot(self._frame, self._dropped_turns, messages))

    def restore(self, snapshot: object, *, trim: bool = True) -> list[Message]:
        """Take a snapshot's place, trimmed by this manager's own limits. Returns what left by them.

        `trim`: False leaves the trimming to the next add. Raises `InvalidSnapshotError`.
        """
        read = read_snapshot(snapshot, self._count_tokens)
        self._frame = read.frame
        self._replace(read.turns, read.dropped_turns)
        return self._trim() if trim else []

    def explain(self) -> Explanation:
        """Tell for each turn whether it is kept, by which rule it left, and at what token cost.

        It covers the window and what the last add dropped.
        """
        return {
            "tokens": self.tokens,
            "max_tokens": self._limits.max_tokens,
            "max_turns": self._limits.max_turns,
            "trim_to": self._limits.trim_to,
            "over_budget": self.over_budget,
            "system_prompt": self._frame.system_prompt,
            "summary": self.summary,
            "context": self.context,
            "system_tokens": self._frame.system_tokens,
            "context_tokens": count_context(self._frame, self._count_tokens),
            "dropped_turns": self._dropped_turns,
            "parts": copy_json(explain_window(self._window(), self._dropped, self._told())),
        }

    def _window(self) -> list[Turn]:
        return self._turns[self._start :]

    def _newest(self) -> Turn | None:
        return self._turns[-1] if self._start < len(self._turns) else None

    def _told(self) -> int:
        """Return how many of the window's turns the summary tells of, below 0 as they are short."""
        summary = self._frame.summary
        return (summary["turns"] if summary else 0) - self._dropped_turns

    def _set_frame(
        self, system_prompt: str | None, summary: Summary | None, context: Context | None
    ) -> None:
        frame = make_frame(system_prompt, summary, context, self._count_tokens)
        if frame.tokens > self._frame.tokens:  # else it may be over the budget, and gets no worse
            self._require(frame.tokens)
        self._frame = frame

    def _require(self, tokens: int) -> None:
        allowed = self._limits.max_tokens
        if allowed is not None and tokens > allowed:
            raise BudgetExceededError(tokens, allowed)

    def _replace(self, turns: list[Turn], dropped_turns: int) -> None:
        self._turns, self._start = turns, 0
        self._dropped_turns = dropped_turns
        self._tokens = sum(turn.tokens for turn in turns)
        self._dropped = []

    def _trim(self) -> list[Message]:
        cut = cut_turns(self._turns, self._limits, self.tokens, self._start)
        end = self._start + cut.turns
        left = self._turns[self._start : end]
        steps = take_steps(self._turns[-1], cut.steps) if cut.steps else []
        self._dropped = explain_cut(left, steps, cut)
        self._start = end
        self._tokens -= cut.tokens
        self._dropped_turns += cut.turns
        if self._start * 2 >= len(self._turns):
            del self._turns[: self._start]
            self._start = 0
        return copy_json([m for part in self._dropped for m in part["messages"]])
