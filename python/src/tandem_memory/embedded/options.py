"""The `options` of a request: Ollama's names, types and defaults (its `api.DefaultOptions`)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import cast

from .prompt import STOPS
from .wire import ApiError

# Options that decide how Ollama loads a model. Their types are checked, their values have no use
# here: the weights are loaded once, on the processor, on the threads given at the start.
_LOAD_TIME = {"num_batch": 0, "num_gpu": 0, "main_gpu": 0, "num_thread": 0, "use_mmap": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Sampling and context options. `num_ctx` defaults to Ollama's on a machine without a GPU."""

    num_ctx: int = 4096
    num_keep: int = 4
    num_predict: int = -1
    seed: int = -1
    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.9
    min_p: float = 0.0
    typical_p: float = 1.0
    repeat_last_n: int = 64
    repeat_penalty: float = 1.1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    stop: tuple[str, ...] = STOPS


def read_options(values: Mapping[str, object]) -> Options:
    """Check the types as Ollama does (status 500, its choice) and ignore unknown names."""
    defaults = {option.name: option.default for option in fields(Options)} | _LOAD_TIME
    known = {
        name: _checked(name, value, defaults[name])
        for name, value in values.items()
        if name in defaults and value is not None
    }
    return replace(Options(), **{n: v for n, v in known.items() if n not in _LOAD_TIME})


def _checked(name: str, value: object, default: object) -> int | float | tuple[str, ...]:
    if isinstance(default, tuple):
        return _texts(name, value)
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise _wrong(name, "type boolean")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, "type integer" if isinstance(default, int) else "type float32")
    return int(value) if isinstance(default, int) else float(value)


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(name, "type array")
    texts: list[str] = []
    for item in cast("list[object]", value):
        if not isinstance(item, str):
            raise _wrong(name, "an array of strings")
        texts.append(item)
    return tuple(texts)


def _wrong(name: str, expected: str) -> ApiError:
    return ApiError(500, f'option "{name}" must be of {expected}')
