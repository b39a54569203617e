"""Where the store is, and which kind of store that is."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..storage.jsonfile import JsonStore
from ..storage.memory import MemoryStore
from ..storage.sqlite import SqliteStore
from ..storage.store import Store
from .history import NOWHERE
from .refusal import RefusedError

__all__ = ["find_place", "open_place"]


def find_place(
    given: str | None,
    *,
    env: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    home: str | None = None,
) -> str:
    """Return the place that was asked for, else the one where this platform's programs keep data.

    That is `memory.sqlite3` in a folder of our own, in the one that the XDG base directories, Apple
    or Microsoft name for it. `home`: the user's folder; None is the one that the system tells.
    """
    named = given or env.get("TANDEM_MEMORY_STORE")
    if named:
        return named
    user = str(Path.home()) if home is None else home
    if platform == "win32":
        local = env.get("LOCALAPPDATA") or f"{user}\\AppData\\Local"
        return f"{local}\\tandem-memory\\memory.sqlite3"
    if platform == "darwin":
        base = f"{user}/Library/Application Support"
    else:
        base = env.get("XDG_DATA_HOME", "")
        # A relative path there is to be ignored (specifications.freedesktop.org/basedir-spec).
        base = base if base.startswith("/") else f"{user}/.local/share"
    return f"{base}/tandem-memory/memory.sqlite3"


def open_place(place: str, *, make: bool) -> Store:
    """Open the store: a folder is one of JSON files, all else an SQLite file.

    A folder that is made for it is its owner's alone, as the XDG base directories ask for. `make`:
    whether there shall be one if there is none; raises `RefusedError` otherwise, and what
    opening a store raises.
    """
    if place == NOWHERE:
        return MemoryStore(new_id=short_id)
    if not make and not Path(place).exists():
        raise RefusedError(f"there is no store at {place}; a chat makes one")
    if place.endswith(("/", "\\")) or Path(place).is_dir():
        return JsonStore(place, new_id=short_id)
    with suppress(OSError):  # the store says what is wrong
        Path(place).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SqliteStore(place, new_id=short_id)


def short_id() -> str:
    """Return an id that can be typed; among a user's sessions it need not be longer."""
    return uuid.uuid4().hex[:8]
