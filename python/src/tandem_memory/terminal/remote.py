"""What the terminal adds to an engine: thinking as it comes, and pulls that show their progress."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from ..chat.engine import AsyncOllamaEngine
from ..chat.wire import Delta
from ..core.messages import Message
from ..core.values import JsonObject, JsonValue
from .listing import render_progress
from .screen import Screen

__all__ = ["TerminalEngine", "pull_model"]


class TerminalEngine(AsyncOllamaEngine):
    """Ollama, with a listener for the thinking: the stream of a chat is the answer alone."""

    on_thinking: Callable[[str], None] | None = None

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[JsonObject] = (),
        format: JsonValue = None,  # noqa: A002 - Ollama's own name for it
    ) -> AsyncGenerator[Delta]:
        """Stream the answer, and tell the listener each piece of the thinking."""
        async with aclosing(super().stream(messages, tools=tools, format=format)) as deltas:
            async for delta in deltas:
                if self.on_thinking and delta.thinking:
                    self.on_thinking(delta.thinking)
                yield delta


async def pull_model(engine: TerminalEngine, screen: Screen) -> None:
    """Fetch the engine's model, and show how far that is."""
    try:
        async for progress in engine.pull():
            screen.progress(*render_progress(engine.entry.model, progress))
    finally:
        screen.progress_end()
