"""What fixtures call of a store; a case is run on every kind of store.

Twin: typescript/tests/stores.ts. A store in a file is opened anew for each call.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import cast

from encoding import Json, expand, spoil
from tandem_memory.storage import (
    JsonStore,
    MemoryStore,
    SqliteStore,
    Store,
    document_text,
    read_document,
    write_document,
)

SHM = "/dev/shm"  # noqa: S108 - a disk of memory, where a sync costs nothing
ROOT = Path(tempfile.mkdtemp(prefix="tandem-", dir=SHM if Path(SHM).is_dir() else None))
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)

KINDS = ("memory", "json", "sqlite")

OPENERS: dict[str, Callable[[Path, Json], Store]] = {
    "json": lambda folder, options: JsonStore(folder / "json", **options),
    "sqlite": lambda folder, options: SqliteStore(folder / "store.sqlite3", **options),
}
"""How to open the store of a kind that is in a folder; the tests of PostgreSQL add theirs."""


def variants(given: Json) -> list[Json]:
    """Return what a case is to be run on: a store of each kind, or what it says."""
    (name, options), *_ = given.items()
    if name not in ("store", "stored_chat") or "kind" in options:
        return [given]
    return [{name: {**options, "kind": kind}} for kind in KINDS]


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
        if name == "advance":
            self._now += args["milliseconds"]
            return None
        if isinstance(args.get("messages"), list):
            args["messages"] = [expand(message) for message in args["messages"]]
        with self._open() as store:
            special = SPECIAL.get(name)
            came = special(store, self._folder, args) if special else getattr(store, name)(**args)
        document: Json = args.get("document", {})
        named = [args.get("user_id"), args.get("to"), document.get("user_id")]
        self._users += [user for user in named if user and user not in self._users]
        told = deepcopy(came) if name == "export_sessions" else deepcopy(brief(came))
        spoil(came)
        return told

    def state(self) -> Json:
        with self._open() as store:
            exports = {user: store.export_sessions(user)["sessions"] for user in self._users}
        return {user: brief(found) for user, found in exports.items() if found}

    def _open(self) -> Store:
        opener = OPENERS.get(self._kind)
        return opener(self._folder, self._options) if opener else self._memory


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


def brief(value: Json) -> Json:
    """Return sessions, turns and messages as cases and states write them."""
    if isinstance(value, list):
        return [brief(item) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Json]", value)
    if "seq" in fields:
        marks = ["removed"] if fields.get("removed") else []
        return [fields["seq"], fields["message"], *marks, *later(fields["created_at"])]
    if "status" in fields:
        status = f"{fields['status']}, removed" if fields.get("removed") else fields["status"]
        return {"turn": fields["turn"], "is": status, "messages": brief(fields["messages"])}
    if "last_seq" in fields:
        return brief_session(fields)
    return {key: brief(item) for key, item in fields.items()}


def brief_session(fields: dict[str, Json]) -> Json:
    told = {key: fields[key] for key in ("user_id", "revision") if key in fields}
    told |= {"session_id": fields["session_id"], "window": fields["window"]}
    told |= {key: fields[key] for key in ("system_prompt", "summary") if fields[key] is not None}
    told["last"] = [fields["last_turn"], fields["last_seq"]]
    if times := [time for key in ("created_at", "updated_at") for time in later(fields[key])]:
        told["times"] = times
    return {**told, "turns": brief(fields["turns"])} if "turns" in fields else told


def later(time: str) -> list[str]:
    """Return a time that is not the clock's beginning, which is where most cases stay."""
    return [] if time == "1970-01-01T00:00:00.000Z" else [time]
