"""What fixtures call of a store; a case is run on every kind of store.

Twin: typescript/tests/stores.ts. A store in a file is opened anew for each call.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from encoding import Json, expand
from tandem_memory.storage import (
    JsonStore,
    MemoryStore,
    SqliteStore,
    Store,
    document_text,
    read_document,
    write_document,
)

ROOT = Path(tempfile.mkdtemp(prefix="tandem-stores-"))
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)

KINDS = ("memory", "json", "sqlite")


def variants(given: Json) -> list[Json]:
    """Return what a case is to be run on: a store of each kind, or what it says."""
    if "store" not in given:
        return [given]
    return [{"store": {**given["store"], "kind": kind}} for kind in KINDS]


class StoreSubject:
    """A store of one kind, in a folder, with the clock and the ids that the case gives it."""

    def __init__(self, options: Json) -> None:
        self._kind: str = options["kind"]
        self._folder = Path(options.get("folder") or tempfile.mkdtemp(dir=ROOT))
        self._now: int = options.get("clock", 0)
        self._users: list[str] = options.get("users", [])
        ids = iter(options.get("ids", []))
        self._options: Json = {"clock": lambda: self._now, "new_id": lambda: next(ids)}
        self._memory = MemoryStore(**self._options)

    def call(self, name: str, args: Json) -> Json:
        named = [args.get("user_id"), args.get("to")]
        self._users += [user for user in named if user and user not in self._users]
        if name == "advance":
            self._now += args["milliseconds"]
            return None
        if isinstance(args.get("messages"), list):
            args["messages"] = [expand(message) for message in args["messages"]]
        with self._open() as store:
            special = SPECIAL.get(name)
            return special(store, self._folder, args) if special else getattr(store, name)(**args)

    def state(self) -> Json:
        with self._open() as store:
            exports = {user: store.export_sessions(user)["sessions"] for user in self._users}
        return {user: [brief(each) for each in found] for user, found in exports.items() if found}

    def _open(self) -> Store:
        if self._kind == "json":
            return JsonStore(self._folder / "json", **self._options)
        if self._kind == "sqlite":
            return SqliteStore(self._folder / "store.sqlite3", **self._options)
        return self._memory


def export_text(store: Store, _: Path, args: Json) -> Json:
    """Return an export as it lies in a file."""
    return document_text(store.export_sessions(**args))


def move_by_file(store: Store, folder: Path, args: Json) -> Json:
    """Export a user's sessions into a file and import that to another user."""
    write_document(folder / "export.json", store.export_sessions(args["user_id"]))
    return store.import_sessions(read_document(folder / "export.json"), user_id=args["to"])


SPECIAL: dict[str, Callable[[Store, Path, Json], Json]] = {
    "export_text": export_text,
    "move_by_file": move_by_file,
}


def brief(session: Json) -> Json:
    """Return an exported session as a state has it: without times and what is not set."""
    extras = {key: session[key] for key in ("system_prompt", "summary") if session[key] is not None}
    return {
        "session_id": session["session_id"],
        "window": session["window"],
        "last": [session["last_turn"], session["last_seq"]],
        "turns": [brief_turn(turn) for turn in session["turns"]],
        **extras,
    }


def brief_turn(turn: Json) -> Json:
    messages = [
        [each["seq"], each["message"], *(["removed"] if each["removed"] else [])]
        for each in turn["messages"]
    ]
    return {
        "turn": turn["turn"],
        "is": f"{turn['status']}, removed" if turn["removed"] else turn["status"],
        "messages": messages,
    }
