"""The model entries as a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..chat.settings import ModelEntry
from .width import pad, width

__all__ = ["render_models"]


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
    if any(same_model(name, entry.model) for name in names):
        return "installed"
    return f"not installed; tandem-memory pull {entry.path}"


def same_model(name: str, model: str) -> bool:
    """Compare as Ollama does, for which a name without a tag means `latest`."""
    return name in {model, f"{model}:latest"}
