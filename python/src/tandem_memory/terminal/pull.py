"""Pulls, and how far they are."""

from __future__ import annotations

from ..chat.engine import AsyncEngine, PullProgress
from .screen import Screen
from .table import bar

__all__ = ["pull_model", "render_progress"]


async def pull_model(engine: AsyncEngine, screen: Screen) -> None:
    """Fetch the engine's model, and show how far that is."""
    try:
        async for progress in engine.pull():
            screen.progress(*render_progress(engine.entry.model, progress))
    finally:
        screen.progress_end()


def render_progress(model: str, progress: PullProgress) -> tuple[str, str]:
    """Return how far a pull is, as a bar and as a line that changes by tens of a percent."""
    said = f"{model}: {progress.status}"
    if progress.total is None or progress.total == 0:
        return said, said
    done = min(progress.completed or 0, progress.total)
    sizes = f"{done // 1_000_000} of {progress.total // 1_000_000} MB"
    tens = 10 * done // progress.total * 10
    return f"{said} {bar(done, progress.total)}  {sizes}", f"{said} {tens} %"
