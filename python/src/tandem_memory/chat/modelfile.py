"""The user's model file: where it is, and how it is read (TOML or JSON, by its name)."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ..core.errors import InvalidModelFileError
from .models import Models, read_models

__all__ = ["find_model_file", "load_models"]

NAMES = ("models.toml", "models.json")


def load_models(
    file: str | Path | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
) -> Models:
    """Return the built-in models with those of the user's file laid over them.

    The file is `file`, else what TANDEM_MEMORY_MODELS names, else `models.toml` or `models.json` in
    the platform's configuration folder, if there is one. Raises `InvalidModelFileError`.
    """
    found = find_model_file(file, env=env, platform=platform)
    if found is None:
        return read_models(env=env)
    return read_models(parse_file(found), file=str(found), env=env)


def find_model_file(
    file: str | Path | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
) -> Path | None:
    """Return the path of the user's model file, or None where there is none."""
    named = file or env.get("TANDEM_MEMORY_MODELS")
    if named:
        return Path(named)
    folder = config_folder(env, platform)
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def config_folder(env: Mapping[str, str], platform: str) -> Path:
    """Return where this platform's programs keep their settings (XDG, AppData, Library)."""
    if platform == "win32":
        base = Path(env.get("APPDATA") or Path.home() / "AppData/Roaming")
    elif platform == "darwin":
        base = Path.home() / "Library/Application Support"
    else:
        base = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "tandem-memory"


def parse_file(file: Path) -> object:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidModelFileError(str(file), "", f"can't be read: {error}") from error
    try:
        return json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        form = "JSON" if file.suffix == ".json" else "TOML"
        raise InvalidModelFileError(str(file), "", f"is no {form}: {error}") from error
