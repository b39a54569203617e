"""`/api/embed`: one embedding a text, cut to the context like Ollama's."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import cast

from .engine import TOO_LONG, Engine
from .options import read_options
from .residency import Residency
from .wire import ApiError, Fields

# Ollama cuts a text two tokens short of the context, for a first and a last special token.
_SPECIAL_TOKENS = 2


def read_texts(value: object) -> list[str]:
    """The texts of the field `input`: a text, a list of texts, or none."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [value]
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise ApiError(400, "invalid input type")
    return cast("list[str]", texts)


async def embed(
    fields: Fields, texts: Sequence[str], residency: Residency, started: float
) -> Mapping[str, object]:
    """The answer to a request with the other `fields`, arrived at `started` (monotonic)."""
    options = read_options(fields.mapping("options"))
    truncate = fields.flag("truncate", default=True)
    dimensions = fields.whole("dimensions")
    count = 0
    embeddings: list[list[float]] = []
    async with residency.engine(options, fields.seconds("keep_alive")) as engine:
        loaded = time.monotonic()
        for text in texts:
            tokens = await _fitting(engine, text, engine.window(options), truncate=truncate)
            count += len(tokens)
            embeddings.append(_shortened(await engine.embed(tokens), dimensions))
    response: dict[str, object] = {"model": fields.text("model"), "embeddings": embeddings}
    if not texts:
        return response
    return response | {
        "total_duration": int((time.monotonic() - started) * 1e9),
        "load_duration": int((loaded - started) * 1e9),
        "prompt_eval_count": count,
    }


async def _fitting(engine: Engine, text: str, num_ctx: int, *, truncate: bool) -> list[int]:
    tokens = await engine.tokenize(text)
    if not tokens:
        raise ApiError(500, "Failed to create new sequence: no input provided")
    if len(tokens) > num_ctx and not truncate:
        raise ApiError(400, TOO_LONG)
    return tokens if len(tokens) <= num_ctx else tokens[: num_ctx - _SPECIAL_TOKENS]


def _shortened(embedding: Sequence[float], dimensions: int) -> list[float]:
    """The first `dimensions` numbers (all, where 0), scaled to length 1, as 32-bit floats print."""
    kept = embedding[: dimensions or None]
    length = math.hypot(*kept) or 1.0
    return [float(f"{number / length:.8g}") for number in kept]
