"""One loaded model: llama.cpp inside this process, asked over its own loopback HTTP server.

Only its plain routes are used (tokens in, text out); its OpenAI routes apply the chat template of
the weights, which is not Ollama's.
"""

import importlib
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

import httpx

from .options import Options
from .prompt import STOPS, cut_to_context, shift
from .wire import ApiError

TOO_LONG = "the input length exceeds the context length"
_STOPPED = (
    "model runner has unexpectedly stopped, this may be due to resource limitations or an internal "
    "error, check ollama server logs for details"
)
# Between two batches llama.cpp looks whether the reader has gone: at 256 tokens an abort is
# noticed within about a second on two cores, and reading is no slower than with 512.
_BATCH = 256
_OPENING = STOPS[:1]
_SAMPLING = (
    "temperature",
    "seed",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "repeat_last_n",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
)


class EngineError(Exception):
    """llama.cpp is not installed or cannot load the weights; the message says what to do."""


class _Timings(TypedDict):
    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float


class _Event(TypedDict):
    """A line of llama.cpp's stream, and what is in the last line alone (where `stop` is true)."""

    content: str
    tokens: list[int]
    stop: bool
    stop_type: str
    timings: _Timings


@dataclass(slots=True, kw_only=True)
class Finish:
    """How an answer ended. `evaluated` of the `prompt_tokens` were not in the prompt cache."""

    reason: str = "length"
    prompt_tokens: int = 0
    evaluated: int = 0
    prompt_ms: float = 0.0
    answer_tokens: int = 0
    answer_ms: float = 0.0

    def add(self, stop_type: str, timings: _Timings) -> None:
        """Take in the end of one run of llama.cpp."""
        self.reason = "length" if stop_type == "limit" else "stop"
        self.evaluated += timings["prompt_n"]
        self.prompt_ms += timings["prompt_ms"]
        self.answer_tokens += timings["predicted_n"]
        if self.answer_tokens > 1:  # the first token belongs to the reading of the prompt
            self.answer_ms += timings["predicted_ms"]


def free_cores() -> int:
    """The processors that this process may use; more threads than these are ruinous."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Engine:
    """A model with one slot, whose prompt cache serves the next prompt that begins the same."""

    def __init__(self, path: Path, context_length: int, threads: int) -> None:
        try:
            llama = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise EngineError(
                'llama.cpp is not installed; run `pip install "tandem-memory[embedded]"`'
            ) from error
        params = llama.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context_length
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = _BATCH
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = 0  # Ollama keeps the last prompt alone, not a store of earlier ones
        params.embedding = True
        params.pooling_type = llama.llama_pooling_type.LLAMA_POOLING_TYPE_LAST
        params.warmup = params.ui = False
        params.verbosity = 0
        self._context_length = context_length
        try:
            self._server = llama.Server(params)
        except RuntimeError as error:
            raise EngineError(f"llama.cpp cannot load {str(path)!r}; get the file anew") from error
        # llama.cpp's server closes idle connections without notice, so none is used twice.
        self._http = httpx.AsyncClient(
            base_url=self._server.listening_address,
            limits=httpx.Limits(max_keepalive_connections=0),
            timeout=None,  # noqa: S113 - a long prompt takes minutes on a slow machine
        )

    def window(self, options: Options) -> int:
        """The context that `options` ask for, in tokens, within what the model can."""
        return max(4, min(options.num_ctx, self._context_length))

    async def tokenize(self, text: str) -> list[int]:
        """The tokens of `text`, special ones included."""
        body = {"content": text, "add_special": True, "parse_special": True}
        return (await self._post("/tokenize", body))["tokens"]

    async def count(self, text: str) -> int:
        """How many tokens `text` is."""
        return len(await self.tokenize(text))

    async def answer(
        self,
        prompt: str,
        options: Options,
        *,
        grammar: Mapping[str, object],
        truncate: bool,
        may_shift: bool,
    ) -> AsyncGenerator[str | Finish, None]:
        """The pieces of an answer to `prompt`, then its `Finish`.

        `options.num_ctx` is kept without loading the model anew: the prompt is cut to it, and
        once prompt and answer fill it, the older half is dropped and the rest read again (or the
        answer ends, where `may_shift` is false). An answer under a grammar never shifts: the
        grammar could not go on in the middle.
        """
        size = self.window(options)
        context = await self.tokenize(prompt)
        keep = min(len(context) if options.num_keep < 0 else options.num_keep, size - 1)
        if len(context) > size and not truncate:
            raise ApiError(400, TOO_LONG)
        context = cut_to_context(context, size, keep)
        limit = 10 * size  # Ollama's own, against answers without an end
        left = options.num_predict if 0 < options.num_predict <= limit else limit
        finish = Finish(prompt_tokens=len(context))
        while True:
            room = size - len(context) + 1  # the last token is never read, so it needs no room
            run = self._run(context, options, grammar, min(left, room))
            async with aclosing(run):
                async for event in run:
                    context.extend(event["tokens"])
                    if event["content"]:
                        yield event["content"]
                    if event["stop"]:
                        finish.add(event["stop_type"], event["timings"])
                        left -= event["timings"]["predicted_n"]
            if finish.reason == "stop" or left <= 0 or grammar or not may_shift:
                break
            context = shift(context, size, keep)
        yield finish

    async def embed(self, tokens: Sequence[int]) -> list[float]:
        """The embedding of a text's tokens, of length 1: the model's state at the last token."""
        body = {"content": tokens, "embd_normalize": 2}
        return (await self._post("/embedding", body))[0]["embedding"][0]

    async def close(self) -> None:
        """Free the model's memory."""
        await self._http.aclose()
        del self._server

    async def _run(
        self, context: Sequence[int], options: Options, grammar: Mapping[str, object], limit: int
    ) -> AsyncGenerator[_Event, None]:
        body = {
            "prompt": context,
            "n_predict": limit,
            "stream": True,
            "cache_prompt": True,
            "stop": options.stop,
            # llama.cpp leaves special tokens out of the text; as text, these can be stops.
            "preserved_tokens": _OPENING,
            **grammar,
            **{name: getattr(options, name) for name in _SAMPLING},
        }
        try:
            async with self._http.stream("POST", "/completion", json=body) as response:
                if response.status_code != 200:
                    raise ApiError(500, _message(await response.aread()))
                async for line in response.aiter_lines():
                    if line.startswith("error: "):
                        raise ApiError(500, line)
                    if line.startswith("data: "):
                        yield cast("_Event", json.loads(line.removeprefix("data: ")))
        except httpx.TransportError as error:
            raise ApiError(500, _STOPPED) from error

    async def _post(self, route: str, body: Mapping[str, object]) -> Any:
        try:
            response = await self._http.post(route, json=body)
        except httpx.TransportError as error:
            raise ApiError(500, _STOPPED) from error
        if response.status_code != 200:
            raise ApiError(500, _message(response.content))
        return response.json()


def _message(body: bytes) -> str:
    """The text of an error of llama.cpp's server."""
    return str(json.loads(body)["error"]["message"])
