"""Model files: where they are looked for, and what is said of one that can't be read.

The tree itself is in the fixtures; twin: typescript/tests/models.test.ts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem_memory import InvalidModelFileError, Models, find_model_file, load_models, make_entry

TOML = """
[office]
host = "http://10.0.0.5:11434"

[office.coder]
model = "qwen3-coder:30b"
options = { temperature = 0.2, stop = ["END"] }
"""

JSON = """{"office": {"host": "http://10.0.0.5:11434", "coder":
{"model": "qwen3-coder:30b", "options": {"temperature": 0.2, "stop": ["END"]}}}}"""


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(file: Path) -> InvalidModelFileError:
    with pytest.raises(InvalidModelFileError) as caught:
        load_models(file, env={})
    return caught.value


@pytest.mark.parametrize(("name", "content"), [("m.toml", TOML), ("m.json", JSON)])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_toml_and_json_say_the_same(tmp_path: Path, name: str, content: str, mark: str) -> None:
    entry = load_models(write(tmp_path / name, mark + content), env={}).find("office/coder")
    assert entry == make_entry(
        "office/coder",
        {
            "model": "qwen3-coder:30b",
            "host": "http://10.0.0.5:11434",
            "options": {"temperature": 0.2, "stop": ["END"]},
        },
    )


def test_file_is_found_by_name_then_environment_then_folder(tmp_path: Path) -> None:
    named = write(tmp_path / "named.toml", "")
    folder = tmp_path / "config" / "tandem-memory"
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert find_model_file(env=env, platform="linux") is None
    as_json = write(folder / "models.json", "{}")
    assert find_model_file(env=env, platform="linux") == as_json
    as_toml = write(folder / "models.toml", "")
    assert find_model_file(env=env, platform="linux") == as_toml
    env["TANDEM_MEMORY_MODELS"] = "elsewhere.toml"
    assert find_model_file(env=env, platform="linux") == Path("elsewhere.toml")
    assert find_model_file(named, env=env, platform="linux") == named


def test_each_platform_has_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for platform, folder in {
        "linux": ".config",
        "darwin": "Library/Application Support",
        "win32": "AppData/Roaming",
    }.items():
        file = write(tmp_path / folder / "tandem-memory" / "models.toml", "")
        assert find_model_file(env={}, platform=platform) == file
    roaming = {"APPDATA": str(tmp_path / "roaming")}
    file = write(tmp_path / "roaming" / "tandem-memory" / "models.toml", "")
    assert find_model_file(env=roaming, platform="win32") == file


def test_without_a_file_the_built_in_models_are_there(tmp_path: Path) -> None:
    models = load_models(env={"XDG_CONFIG_HOME": str(tmp_path)}, platform="linux")
    assert isinstance(models, Models)
    assert models.paths == ["local/chat/large", "local/chat/small", "local/embed"]


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("a.toml", "[local\nx = 1", "is no TOML"),
        ("a.toml", "x = 1\nx = 2", "is no TOML"),
        ("a.json", '{"local": ', "is no JSON"),
        ("a.json", "[" * 100_000, "is no JSON"),
        ("a.toml", b'[a]\nmodel = "\xff"', "can't be read"),
    ],
)
def test_unreadable_file_is_one_clear_line(
    tmp_path: Path, name: str, content: str | bytes, hint: str
) -> None:
    file = write(tmp_path / name, content)
    error = refusal(file)
    assert error.data == {"file": str(file), "path": ""}
    assert str(error).startswith(f"invalid model file: {file} {hint}")
    assert "\n" not in str(error)


def test_missing_file_and_folder_are_errors(tmp_path: Path) -> None:
    for file in (tmp_path / "missing.toml", tmp_path):
        assert "can't be read" in str(refusal(file))


@pytest.mark.parametrize("name", ["num_ctx", "keep_alive"])
@pytest.mark.parametrize("value", ["1979-05-27", "inf", "nan"])
def test_what_json_has_not_is_a_wrong_value(tmp_path: Path, name: str, value: str) -> None:
    file = write(tmp_path / "a.toml", f"[mine]\n{name} = {value}")
    assert refusal(file).data == {"file": str(file), "path": f"mine/{name}"}


def test_wrong_value_is_named_with_its_place_and_what_is_allowed(tmp_path: Path) -> None:
    file = write(tmp_path / "a.toml", '[mine.a]\nmodel = "a:1"\nnum_ctx = "big"')
    assert str(refusal(file)) == (
        f'invalid model file: {file}: mine/a/num_ctx is "big"; it must be a whole number from 1 up'
    )
