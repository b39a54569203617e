"""The prompt that Ollama makes of a chat: its ChatML template and its way of dropping messages.

Sources: Ollama's `template/chatml.gotmpl`, `template.collate` and `server/prompt.go` (v0.17.4).
The chat template inside the weights is not used: it adds a system message of its own, and the
prompt's length must be the one that Ollama counts.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

TEMPLATE = (
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n"
    "{{ .Content }}<|im_end|>\n"
    "{{ end }}<|im_start|>assistant\n"
)
END_OF_TURN = "<|im_end|>"
STOPS = ("<|im_start|>", END_OF_TURN)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the template sees it: any role, any text."""

    role: str
    content: str


def render(messages: Sequence[Message]) -> str:
    """The ChatML text of `messages`, neighbours of one role (but `tool`) joined by a blank line."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role != "tool":
            joined[-1] = Message(message.role, f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(message)
    turns = (f"<|im_start|>{turn.role}\n{turn.content}{END_OF_TURN}\n" for turn in joined)
    return "".join(turns) + "<|im_start|>assistant\n"


async def render_within(
    messages: Sequence[Message], num_ctx: int, count: Callable[[str], Awaitable[int]]
) -> str:
    """The text of the longest end of `messages` whose tokens `count` puts at `num_ctx` or fewer.

    System messages of the dropped front stay. The last message stays too, even where it alone is
    over the limit. Ollama tries each start in turn; dropping a message never makes a prompt
    longer, so halving the range finds the same start with far fewer counts.
    """
    first, last = 0, len(messages) - 1
    while first < last:
        middle = (first + last) // 2
        if await count(render(_from(messages, middle))) <= num_ctx:
            last = middle
        else:
            first = middle + 1
    return render(_from(messages, first))


def _from(messages: Sequence[Message], start: int) -> list[Message]:
    return [m for m in messages[:start] if m.role == "system"] + list(messages[start:])


def cut_to_context(tokens: Sequence[int], num_ctx: int, keep: int) -> list[int]:
    """The prompt's first `keep` tokens and as many of its last as fit with them."""
    if len(tokens) <= num_ctx:
        return list(tokens)
    return [*tokens[:keep], *tokens[len(tokens) - num_ctx + keep :]]


def shift(tokens: Sequence[int], num_ctx: int, keep: int) -> list[int]:
    """What stays of a full context: the first `keep` tokens and the newer half of the others."""
    discard = max((num_ctx - keep) // 2, 1)
    return [*tokens[:keep], *tokens[keep + discard :]]
