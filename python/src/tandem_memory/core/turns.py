"""Turns: from one user message up to the next; the unit in which a window keeps or drops.

A turn is a list of steps. The user message is a step of its own, and each assistant message opens
the next one, which holds all its tool results: so a step can leave without parting a tool call from
its result. Messages before the first user message form the opening turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .errors import InvalidMessageError, InvalidTokenCountError, ToolCallNotFoundError
from .messages import Message, ToolCall, sent_message
from .values import whole_number

__all__ = [
    "CountTokens",
    "Step",
    "Turn",
    "append_message",
    "arriving_messages",
    "count_message",
    "extend_turns",
    "is_closed",
    "take_steps",
    "turn_messages",
]

CountTokens = Callable[[Message], int]
"""A token counter: the tokens of one message as it is sent, a whole number from 0 up."""


@dataclass
class Step:
    """Messages that stay or leave together, and their token cost."""

    messages: list[Message] = field(default_factory=list[Message])
    tokens: int = 0


@dataclass
class Turn:
    """The steps of one turn, their token cost, and the tool calls that still wait for a result."""

    steps: list[Step] = field(default_factory=list[Step])
    tokens: int = 0
    unanswered: list[ToolCall] = field(default_factory=list[ToolCall])

    @property
    def first_loose_step(self) -> int:
        """The index of the oldest step that may leave alone: the user message never does."""
        return 1 if self.steps[0].messages[0]["role"] == "user" else 0


def extend_turns(turns: list[Turn], message: Message, count_tokens: CountTokens) -> None:
    """Put `message`, with all that `arriving_messages` has before it, at the end of `turns`."""
    for arriving in arriving_messages(turns[-1] if turns else None, message):
        append_message(turns, arriving, count_message(arriving, count_tokens))


def arriving_messages(last: Turn | None, message: Message) -> list[Message]:
    """Return what adding `message` after the turn `last` puts into the conversation.

    That is the message itself. A user message over unanswered tool calls is preceded by a result
    for each that says there is none, so that a crash in the middle of a tool blocks nothing. A tool
    result without a call raises `ToolCallNotFoundError`, a system message `InvalidMessageError`.
    """
    if message["role"] == "system":
        hint = "is system; there is one system message, set by the system prompt"
        raise InvalidMessageError("role", "not_allowed", hint)
    if message["role"] == "tool":
        find_call(last, message)
    if message["role"] == "user" and last:
        return [*map(no_result, last.unanswered), message]
    return [message]


def append_message(turns: list[Turn], message: Message, tokens: int) -> None:
    """Put an arriving message at the end of `turns`: into a new turn, a new step, or the last."""
    role = message["role"]
    if role == "user" or not turns:
        turns.append(Turn())
    turn = turns[-1]
    # An assistant message over unanswered calls joins their step: their results may still come.
    if not turn.steps or (role == "assistant" and not turn.unanswered):
        turn.steps.append(Step())
    step = turn.steps[-1]
    step.messages.append(message)
    step.tokens += tokens
    turn.tokens += tokens
    if role == "tool":
        turn.unanswered.remove(find_call(turn, message))
    turn.unanswered += message.get("tool_calls", [])


def find_call(turn: Turn | None, result: Message) -> ToolCall:
    """Return the unanswered call that a tool message answers.

    It is found by id; without one, it is the first call of that name; without a name too, the first
    call. Raises `ToolCallNotFoundError` where there is none.
    """
    call_id, name = result.get("tool_call_id"), result.get("tool_name")
    for call in turn.unanswered if turn else []:
        if call_id is not None:
            if call.get("id") == call_id:
                return call
        elif name is None or call["function"]["name"] == name:
            return call
    raise ToolCallNotFoundError(call_id, name)


def no_result(call: ToolCall) -> Message:
    message: Message = {
        "role": "tool",
        "content": "No result: the tool call was interrupted.",
        "tool_name": call["function"]["name"],
        "synthetic": True,
    }
    if "id" in call:
        message["tool_call_id"] = call["id"]
    return message


def count_message(message: Message, count_tokens: CountTokens) -> int:
    """Return the tokens of `message` as it is sent; an error if it is no whole number."""
    tokens: object = count_tokens(sent_message(message))
    whole = whole_number(tokens)
    if whole is None:
        raise InvalidTokenCountError(tokens)
    return whole


def is_closed(turn: Turn) -> bool:
    """Whether a last turn has ended: in an assistant message, with no call left unanswered."""
    return not turn.unanswered and turn.steps[-1].messages[-1]["role"] == "assistant"


def take_steps(turn: Turn, count: int) -> list[Step]:
    """Take the oldest `count` loose steps out of `turn` and return them."""
    first = turn.first_loose_step
    taken = turn.steps[first : first + count]
    del turn.steps[first : first + count]
    turn.tokens -= sum(step.tokens for step in taken)
    return taken


def turn_messages(turns: Iterable[Turn]) -> list[Message]:
    """Return the messages of `turns` in their order; the messages themselves, not copies."""
    return [message for turn in turns for step in turn.steps for message in step.messages]
