"""JSON files: one document in one file, written all at once; and `JsonStore`, a folder of them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from ..core.errors import InvalidDocumentError, StoreDamagedError
from ..core.values import JsonObject, JsonValue, canonical_json
from .database import naming_errors
from .documents import read_sheet, write_sheet
from .exports import read_export, read_fields, read_name, read_whole, write_export
from .locks import begin_writing, try_to_begin
from .records import system_clock
from .rows import id_hash
from .rules import Lease
from .sheets import SheetShelf, UserSheets
from .store import Store

__all__ = ["JsonStore", "document_text", "read_document", "write_document"]


def document_text(document: Mapping[str, object]) -> str:
    """Return a document as it lies in a file: canonical JSON, but indented for people."""
    return indented(cast("JsonValue", document), "") + "\n"


def write_document(path: str | os.PathLike[str], document: Mapping[str, object]) -> None:
    """Write a document to `path`: whenever this process dies, the file is the old one or the new.

    Raises `StoreFullError` and `StoreUnavailableError`.
    """
    target = Path(path).absolute()
    draft = target.with_name(f"{target.name}.{uuid.uuid4()}.tmp")
    with naming_errors(target):
        try:
            with draft.open("wb") as file:
                file.write(document_text(document).encode())
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(target.parent)


def read_document(path: str | os.PathLike[str]) -> object:
    """Return the JSON value in the file; raises `InvalidDocumentError` if there is none."""
    content = Path(path).read_bytes()
    try:
        return json.loads(content.decode("utf-8-sig"))  # some editors put a mark in front
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError("", f"is no JSON in UTF-8: {error}") from error


class JsonStore(Store):
    """Keeps each user's sessions in a file of `folder`, for those who want to read them there.

    A file is a document that `import_sessions` takes, with `revision` and `lease` beside it. It is
    read and written whole at every call, so for long memories there is `SqliteStore`. Processes of
    both languages may use the folder at once. Raises `StoreDamagedError` for a file that can't be
    read, and leaves it as it is; the other users' are not touched by that.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        clock: Callable[[], int] = system_clock,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        super().__init__(SheetShelf(JsonDesk(folder)), clock=clock, new_id=new_id)


class JsonDesk:
    """Keeps users' sheets in files. Whoever works on them holds the folder's lock.

    The lock is that of an SQLite file which stays empty: the one lock that both languages have,
    and that ends with its process.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder).absolute()
        self._threads = threading.Lock()
        with naming_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = self._folder / "lock.sqlite3"
            self._lock = sqlite3.connect(lock, isolation_level=None, check_same_thread=False)
            # Where somebody else is at work, the next one to open the folder will do.
            if try_to_begin(self._lock):
                self._sweep()
                self._lock.execute("ROLLBACK")

    @contextmanager
    def reading(self, user_id: str) -> Generator[UserSheets]:
        with self._locked():
            yield self._load(user_id)

    @contextmanager
    def writing(self, user_id: str) -> Generator[UserSheets]:
        with self._locked():
            user = self._load(user_id)
            yield user
            self._save(user_id, user)

    def close(self) -> None:
        with self._threads:
            self._lock.close()

    @contextmanager
    def _locked(self) -> Generator[None]:
        with self._threads, naming_errors(self._folder):
            begin_writing(self._lock)
            try:
                yield
            finally:
                self._lock.execute("ROLLBACK")

    def _load(self, user_id: str) -> UserSheets:
        path = self._folder / file_name(user_id)
        if not path.exists():
            return UserSheets()
        try:
            return read_user(read_document(path), user_id)
        except InvalidDocumentError as error:
            raise StoreDamagedError(str(path), str(error)) from error

    def _save(self, user_id: str, user: UserSheets) -> None:
        path = self._folder / file_name(user_id)
        if user.revision:
            write_document(path, write_user(user_id, user))
        else:
            self._sweep()
            path.unlink(missing_ok=True)
            sync_folder(self._folder)

    def _sweep(self) -> None:
        """Remove what processes that died were writing; whoever has the lock writes alone."""
        for draft in self._folder.glob("*.json.*.tmp"):
            draft.unlink()


def file_name(user_id: str) -> str:
    """Return the name of a user's file: what is plain in the id, for people, and the id's hash."""
    plain = "-".join(re.findall("[A-Za-z0-9]+", user_id)).lower()[:24]
    return f"{plain}-{id_hash(user_id)[:32]}.json"


def write_user(user_id: str, user: UserSheets) -> JsonObject:
    """Return the document of a user's file: an export, with what that leaves out beside it."""
    export = write_export(user_id, [write_sheet(sheet) for sheet in user.sheets.values()])
    extras = [
        {"revision": sheet.session["revision"], "lease": sheet.lease}
        for sheet in user.sheets.values()
    ]
    sessions = [{**s, **extra} for s, extra in zip(export["sessions"], extras, strict=True)]
    return cast("JsonObject", {**export, "revision": user.revision, "sessions": sessions})


def read_user(value: object, user_id: str) -> UserSheets:
    """Return the sheets of a user's file, or raise `InvalidDocumentError`; an export is one too."""
    export = read_export(value)
    if export["user_id"] != user_id:
        raise InvalidDocumentError("user_id", "is another user's")
    fields = cast("dict[str, Any]", value)
    user = UserSheets()
    for i, document in enumerate(export["sessions"]):
        extra, path = fields["sessions"][i], f"sessions[{i}]"
        revision = read_whole(extra.get("revision", i + 1), f"{path}.revision")
        sheet = read_sheet(document, user_id, revision)
        sheet.lease = read_lease(extra.get("lease"), f"{path}.lease")
        user.sheets[document["session_id"]] = sheet
        user.revision = max(user.revision, revision)
    user.revision = max(user.revision, read_whole(fields.get("revision", 0), "revision"))
    return user


def read_lease(value: object, path: str) -> Lease | None:
    if value is None:
        return None
    fields = read_fields(value, path, ("holder", "until"))
    return {
        "holder": read_name(fields["holder"], f"{path}.holder"),
        "until": read_whole(fields["until"], f"{path}.until"),
    }


def sync_folder(folder: Path) -> None:
    """Have a file's new name on disk too; Windows has no such call, and needs none."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def indented(value: JsonValue, indent: str) -> str:
    inner = f"{indent}  "
    if isinstance(value, dict) and value:
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        fields = [f"{inner}{canonical_json(key)}: {indented(value[key], inner)}" for key in keys]
        return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + indented(item, inner) for item in value) + f"\n{indent}]"
    return canonical_json(value)
