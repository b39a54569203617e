"""Reads the header of a GGUF weights file: its metadata and the list of its tensors.

Source of the layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (version 3).
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

_MAGIC = b"GGUF"
_SCALARS: dict[int, str] = dict(
    zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True)
)
_STRING, _ARRAY = 8, 9

# Ids of `ggml_type` and of `llama_ftype`; only those that a small chat model is published in.
_TENSOR_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K",
    11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 20: "IQ4_NL", 23: "IQ4_XS", 30: "BF16",
}  # fmt: skip
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    12: "Q3_K_M", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 32: "BF16",
}  # fmt: skip

Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor's name, storage type and shape."""

    name: str
    type: str
    shape: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gguf:
    """The header. Arrays are `None` in `metadata`: a vocabulary is no use here and large."""

    metadata: dict[str, Value]
    tensors: list[Tensor]

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(math.prod(tensor.shape) for tensor in self.tensors)

    @property
    def quantization(self) -> str:
        """The name of the file's storage type, such as `Q4_1`; `unknown` where it has none."""
        return _FILE_TYPES.get(self._integer("general.file_type", -1), "unknown")

    @property
    def architecture(self) -> str:
        """The model family, such as `llama`."""
        return str(self.metadata.get("general.architecture", "unknown"))

    @property
    def context_length(self) -> int:
        """The longest context that the model was trained on, in tokens."""
        return self._integer(f"{self.architecture}.context_length", 2048)

    def _integer(self, key: str, default: int) -> int:
        value = self.metadata.get(key)
        return value if isinstance(value, int) else default


def read_gguf(path: Path) -> Gguf:
    """Read the header of `path`; `ValueError` where it is not a GGUF file or breaks off."""
    with path.open("rb") as file:
        try:
            return _read(file)
        except (struct.error, UnicodeDecodeError, KeyError) as error:
            raise ValueError(f"the header of {path} is damaged: {error!r}") from error


def _read(file: BinaryIO) -> Gguf:
    if file.read(4) != _MAGIC:
        raise ValueError("it does not begin with the letters GGUF")
    _version, tensor_count, metadata_count = _unpack(file, "IQQ")
    metadata = dict(_metadata(file, metadata_count))
    return Gguf(metadata=metadata, tensors=[_tensor(file) for _ in range(tensor_count)])


def _metadata(file: BinaryIO, count: int) -> Iterator[tuple[str, Value]]:
    for _ in range(count):
        key = _string(file)
        (kind,) = _unpack(file, "I")
        yield key, _value(file, kind)


def _value(file: BinaryIO, kind: int) -> Value:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        _skip_array(file)
        return None
    (value,) = _unpack(file, _SCALARS[kind])
    return value


def _skip_array(file: BinaryIO) -> None:
    kind, length = _unpack(file, "IQ")
    if kind in _SCALARS:
        file.seek(length * struct.calcsize(f"<{_SCALARS[kind]}"), 1)
        return
    for _ in range(length):
        if kind == _STRING:
            file.seek(_unpack(file, "Q")[0], 1)
        else:
            _skip_array(file)


def _tensor(file: BinaryIO) -> Tensor:
    name = _string(file)
    (dimensions,) = _unpack(file, "I")
    shape = list(_unpack(file, f"{dimensions}Q"))
    kind, _offset = _unpack(file, "IQ")
    # GGUF stores the fastest dimension first; so does Ollama's list.
    return Tensor(name=name, type=_TENSOR_TYPES.get(kind, "unknown"), shape=shape)


def _string(file: BinaryIO) -> str:
    (length,) = _unpack(file, "Q")
    return file.read(length).decode()


def _unpack(file: BinaryIO, layout: str) -> tuple[int, ...]:
    layout = f"<{layout}"
    return struct.unpack(layout, file.read(struct.calcsize(layout)))
