"""Events: what a chat tells of what it did besides answering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..core.errors import ContextTruncatedError
from ..core.frame import Context
from ..core.messages import Message
from ..core.summary import Summary
from ..core.values import copy_json

__all__ = [
    "ChatEvent",
    "Recalled",
    "Summarised",
    "SummaryFailed",
    "Teller",
    "Trimmed",
    "Truncated",
]


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """Something was recalled for a question; `context` is what of it there was room for."""

    context: Context
    type: Literal["recalled"] = "recalled"


@dataclass(frozen=True, kw_only=True)
class Summarised:
    """A summary took the place of the one before."""

    summary: Summary
    type: Literal["summarised"] = "summarised"


@dataclass(frozen=True, kw_only=True)
class SummaryFailed:
    """No summary could be made, and all is as it was; what waits for one is in the next."""

    error: Exception
    type: Literal["summary_failed"] = "summary_failed"


@dataclass(frozen=True, kw_only=True)
class Trimmed:
    """Messages left the window, oldest first."""

    messages: list[Message]
    type: Literal["trimmed"] = "trimmed"


@dataclass(frozen=True, kw_only=True)
class Truncated:
    """The prompt was too long for the model's context.

    `asked_again`: whether it was made shorter and sent again. Otherwise the server answered all the
    same, to a prompt that had lost its front.
    """

    error: ContextTruncatedError
    asked_again: bool
    type: Literal["truncated"] = "truncated"


ChatEvent = Recalled | Summarised | SummaryFailed | Trimmed | Truncated
"""What `on_event` is called with; `type` tells them apart."""


class Teller:
    """Tells events to `on_event`, once what they tell of is done."""

    def __init__(self, on_event: Callable[[ChatEvent], object] | None) -> None:
        self._on_event = on_event
        self._noted: list[ChatEvent] = []

    def note(self, event: ChatEvent) -> None:
        """Keep an event in mind."""
        self._noted.append(event)

    def note_window(
        self, dropped: Sequence[Message], before: Summary | None, summary: Summary | None
    ) -> None:
        """Keep in mind what left the window, and the summary where it is another than before."""
        if dropped:
            self.note(Trimmed(messages=copy_json(list(dropped))))
        if summary and summary != before:
            self.note(Summarised(summary=summary))

    def tell(self) -> None:
        """Tell what was kept in mind; where `on_event` raises, the rest is told the next time."""
        while self._noted:
            event = self._noted.pop(0)
            if self._on_event:
                self._on_event(event)
