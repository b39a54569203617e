"""The model entries as a list, and how far a pull is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..chat.engine import PullProgress
from ..chat.settings import ModelEntry
from .table import bar
from .width import pad, width

__all__ = ["is_installed", "render_models", "render_progress"]


def render_models(
    entries: Sequence[ModelEntry], installed: Mapping[str, Sequence[str] | None]
) -> str:
    """Return the list of `tandem-memory models`, server by server.

    `installed` holds the names of the models on each server, None where it does not answer.
    """
    paths = max([width(entry.path) for entry in entries], default=0)
    models = max([width(entry.model) for entry in entries], default=0)
    text = ""
    for host, names in installed.items():
        text += f"{host}{' (does not answer)' if names is None else ''}\n"
        there = [entry for entry in entries if entry.host == host]
        for entry in there:
            line = f"  {pad(entry.path, paths)}  {pad(entry.model, models)}"
            text += f"{line}  {state(entry, names)}".rstrip(" ") + "\n"
        known = [entry.model for entry in there]
        others = [name for name in names or [] if not any(same_model(name, m) for m in known)]
        if others:
            text += f"  also there: {', '.join(others)}\n"
    return text


def state(entry: ModelEntry, names: Sequence[str] | None) -> str:
    if names is None:
        return ""
    if is_installed(entry, names):
        return "installed"
    return f"not installed; tandem-memory pull {entry.path}"


def is_installed(entry: ModelEntry, names: Sequence[str]) -> bool:
    """Tell whether the entry's model is among the names of the models on its server."""
    return any(same_model(name, entry.model) for name in names)


def same_model(name: str, model: str) -> bool:
    """Compare as Ollama does, for which a name without a tag means `latest`."""
    return name in {model, f"{model}:latest"}


def render_progress(model: str, progress: PullProgress) -> tuple[str, str]:
    """Return how far a pull is, as a bar and as a line that changes by tens of a percent."""
    said = f"{model}: {progress.status}"
    if progress.total is None or progress.total == 0:
        return said, said
    done = min(progress.completed or 0, progress.total)
    sizes = f"{done // 1_000_000} of {progress.total // 1_000_000} MB"
    tens = 10 * done // progress.total * 10
    return f"{said} {bar(done, progress.total)}  {sizes}", f"{said} {tens} %"
