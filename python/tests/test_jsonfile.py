"""The JSON store's files; twin: typescript/tests/jsonfile.test.ts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tandem_memory.core.errors import InvalidDocumentError, StoreDamagedError
from tandem_memory.storage import JsonStore, document_text, read_document, write_document

SCHEMA = Path(__file__).parents[2] / "shared-fixtures" / "schema" / "export.schema.json"

QUESTION = {"role": "user", "content": "😊 你好 naïve"}
ANSWER = {"role": "assistant", "content": "a", "tool_calls": [{"function": {"name": "f"}}]}


def fill(folder: Path) -> Path:
    """Make a store with two users, and return the file of `ann`."""
    with JsonStore(folder) as store:
        for user in ("ann", "bo"):
            store.create_session(user, "s")
            store.append(user, "s", [QUESTION, ANSWER, QUESTION], status="pending")
            store.acquire_lease(user, "s", "holder")
    return next(folder.glob("ann-*.json"))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "zeros": lambda good: bytes(len(good)),
    "a brace": lambda _: b"{",
    "a list": lambda _: b"[]",
    "half": lambda good: good[: len(good) // 2],
    "all but the end": lambda good: good[:-3],
    "another user's": lambda good: good.replace(b'"ann"', b'"bo"'),
    "an edit that does not add up": lambda good: good.replace(b'"last_seq": 3', b'"last_seq": 1'),
    "bytes that are no UTF-8": lambda good: good.replace(b"ve", b"\xff\xfe"),
    "a number that JSON has not": lambda good: good.replace(b'"last_seq": 3', b'"last_seq": NaN'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_reported_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    path = fill(tmp_path)
    bad = DAMAGES[damage](path.read_bytes())
    path.write_bytes(bad)
    with JsonStore(tmp_path) as store:
        for call in (
            lambda: store.list_sessions("ann"),
            lambda: store.create_session("ann", "t"),
            lambda: store.append("ann", "s", [QUESTION]),
            lambda: store.forget("ann"),
        ):
            with pytest.raises(StoreDamagedError) as caught:
                call()
            assert (caught.value.path, path.read_bytes()) == (str(path), bad)
        assert len(store.history("bo", "s")) == 2


def test_a_file_may_be_edited_by_hand(tmp_path: Path) -> None:
    path = fill(tmp_path)
    text = path.read_text("utf-8").replace("你好", "再见")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    with JsonStore(tmp_path) as store:
        first = store.history("ann", "s")[0]["messages"][0]["message"]
    assert first["content"] == "😊 再见 naïve"


def test_files_and_exports_are_of_the_published_form(tmp_path: Path) -> None:
    path = fill(tmp_path)
    validator: Any = Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    with JsonStore(tmp_path) as store:
        export = store.export_sessions("ann")
    assert list(validator.iter_errors(export)) == []
    assert list(validator.iter_errors(read_document(path))) == []
    assert json.loads(document_text(export)) == export


PATHS = ["../evil", "..\\evil", "/abs", "C:\\x", "a\0b", ".", "..", "CON"]
IDS = [*PATHS, "a.b", "a_b", "A_B", "%", "猫" * 9_999, "x" * 10_000]


def test_every_file_is_in_the_folder_whatever_the_id(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    with JsonStore(folder) as store:
        for user in IDS:
            store.create_session(user, user)
        names = {path.name.lower() for path in folder.glob("*.json")}
        assert len(names) == len(IDS)
        assert [path.name for path in tmp_path.iterdir()] == ["inner"]
        assert max(len(name) for name in names) <= 64
        store.forget(IDS[0])
        assert len(list(folder.glob("*.json"))) == len(IDS) - 1


def test_threads_share_a_folder_through_two_stores(tmp_path: Path) -> None:
    with JsonStore(tmp_path) as first, JsonStore(tmp_path) as second:
        stores = [first, second]
        first.create_session("ann", "s")

        def append(store: JsonStore) -> None:
            for _ in range(5):
                store.append("ann", "s", [QUESTION, ANSWER])

        threads = [threading.Thread(target=append, args=(stores[i % 2],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(first.history("ann", "s", None)) == 20


def test_what_a_dead_process_was_writing_is_swept_away(tmp_path: Path) -> None:
    path = fill(tmp_path)
    draft = path.with_name(f"{path.name}.1234.tmp")
    draft.write_text("the secret word", "utf-8")
    with JsonStore(tmp_path) as store:
        assert not draft.exists()
        draft.write_text("the secret word", "utf-8")
        assert store.forget("ann")["messages"] == 3
    assert (draft.exists(), path.exists()) == (False, False)


def test_a_document_that_fails_to_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    write_document(path, {"a": 1})
    with pytest.raises(TypeError):
        write_document(path, {"a": object()})
    assert read_document(path) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["export.json"]


def test_a_file_without_json_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("[1, 2", "utf-8")
    with pytest.raises(InvalidDocumentError):
        read_document(tmp_path / "x")
