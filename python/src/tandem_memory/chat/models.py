"""Models: a tree of entries by path, such as `local/chat/small`.

A tree is made of tables. A table with a `model` is an entry, any other a group, and both hand their
settings down to the tables in them: so a server or a context size is said once. What is built in is
always there; a user's file is laid over it, table by table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from ..core.errors import InvalidModelFileError, UnknownModelError, quote
from ..core.values import JsonObject, JsonValue, copy_json
from .settings import ModelEntry, is_setting, make_entry, read_host, read_setting

__all__ = ["Models", "read_models"]

BUILT_IN: JsonObject = {
    "local": {
        "engine": "ollama",
        "num_ctx": 8192,
        # A small model spends its whole answer on thinking, and a reader waits for it.
        "think": False,
        "chat": {
            "small": {"model": "qwen3:0.6b"},
            "large": {"model": "qwen3:4b"},
        },
        "embed": {"model": "qwen3-embedding:0.6b"},
    }
}
"""Qwen3 in the sizes of Ollama's library that a laptop (small) and a desktop (large) can run."""

PLAIN_GROUP = "local/chat"


class Models:
    """A tree of models, checked. `host` is the server of entries that name none."""

    def __init__(self, tree: JsonObject, *, host: str) -> None:
        self._entries: dict[str, JsonObject] = {}
        self._groups: dict[str, JsonObject] = {}
        self._host = host
        self._walk("", tree, {})

    @property
    def paths(self) -> list[str]:
        """The paths of all entries, sorted."""
        return sorted(self._entries, key=lambda path: path.encode("utf-16-be"))

    def find(self, path: str) -> ModelEntry:
        """Return the entry at `path`, or raise `UnknownModelError`, which lists those there are.

        A plain model name is accepted where it has a tag (`smollm2:135m`), for no path has a `:` in
        it: it becomes an entry with the settings of the group `local/chat`.
        """
        settings = self._entries.get(path)
        if settings is None:
            if ":" not in path:
                raise UnknownModelError(path, self.paths)
            settings = {**self._groups[PLAIN_GROUP], "model": path}
        return make_entry(path, settings, host=self._host)

    def _walk(self, path: str, table: JsonObject, inherited: JsonObject) -> None:
        settings = hand_down(inherited, table)
        self._groups[path] = {k: v for k, v in settings.items() if k != "model"}
        if "model" in table:
            self._entries[path] = settings
        for name, value in table.items():
            if not is_setting(name):
                below = cast("JsonObject", value)
                self._walk(f"{path}/{name}" if path else name, below, self._groups[path])


def read_models(
    document: object = None,
    *,
    file: str = "the model document",
    env: Mapping[str, str] = os.environ,
) -> Models:
    """Return the built-in tree with `document` laid over it; None is nothing.

    `file` is what errors name; `env` holds OLLAMA_HOST. Raises `InvalidModelFileError`.
    """
    tree = copy_json(BUILT_IN)
    if document is not None:
        tree = lay_over(tree, read_table(file, "", document))
    value = env.get("OLLAMA_HOST", "")
    host = read_host(value)
    if host is None:
        hint = f"is {quote(value)}; it must be an address such as http://127.0.0.1:11434"
        raise InvalidModelFileError("the environment", "OLLAMA_HOST", hint)
    return Models(tree, host=host)


def read_table(file: str, path: str, value: object) -> JsonObject:
    """Return a table as it was checked, with all tables in it."""
    if not isinstance(value, Mapping):
        raise InvalidModelFileError(file, path, f"must be a table, not {quote(value)}")
    table: JsonObject = {}
    for name, item in cast("Mapping[str, object]", value).items():
        if is_setting(name) or not isinstance(item, Mapping):
            table[name] = read_setting(file, path, name, item)
            continue
        where = f"{path}/{name}" if path else name
        if not name or "/" in name or ":" in name:
            raise InvalidModelFileError(file, where, "is a name with '/' or ':' in it, or none")
        table[name] = read_table(file, where, cast("object", item))
    return table


def lay_over(below: JsonObject, above: JsonObject) -> JsonObject:
    """Return `below` with the values of `above`; tables that both have are joined."""
    joined = dict(below)
    for name, value in above.items():
        under = joined.get(name)
        both = isinstance(under, dict) and isinstance(value, dict)
        joined[name] = (
            lay_over(cast("JsonObject", under), cast("JsonObject", value)) if both else value
        )
    return joined


def hand_down(inherited: JsonObject, table: JsonObject) -> JsonObject:
    """Return the settings that hold in `table`; `options` are handed down one by one."""
    own: dict[str, JsonValue] = {name: table[name] for name in table if is_setting(name)}
    return lay_over(inherited, own)
