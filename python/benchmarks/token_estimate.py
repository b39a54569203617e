"""Measures the built-in token estimate against Qwen3's own tokenizer, and fits its tables.

    python benchmarks/token_estimate.py              the error by kind of text, as Markdown
    python benchmarks/token_estimate.py --sources    the same by kind and source
    python benchmarks/token_estimate.py --fit        the tables of core/costs, to be pasted into
                                                     both languages (needs numpy and scipy)

It needs this package installed, and `pip`, `npm` and Node 22.18 or later on the path. The texts
come from `token_corpus.py`; the exact counts from typescript/benchmarks/token-estimate.ts, which
also gives the TypeScript's estimates: they must be the Python's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from token_corpus import Sample, read_samples

from tandem_memory.core import tokens

__all__ = ["main"]

COUNTER = Path(__file__).parents[2] / "typescript/benchmarks/token-estimate.ts"
CONVERSATION = 10  # messages

HEADER = """\
| text | messages | mean absolute error | sum | worst message | worst conversation |
|---|---:|---:|---:|---:|---:|"""


def main() -> None:
    """Print the table of errors, or new tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "token-corpus")
    parser.add_argument("--sources", action="store_true", help="a row for each source")
    parser.add_argument("--fit", action="store_true", help="print new tables")
    options = parser.parse_args()
    samples = read_samples(options.cache)
    exact = count(samples, options.cache)
    if options.fit:
        import token_fit  # needs numpy and scipy

        print(*token_fit.fit(samples, exact), sep="\n\n")
    else:
        print(HEADER, *rows(samples, exact, by_source=options.sources), sep="\n")


def count(samples: Sequence[Sample], cache: Path) -> list[int]:
    """Return the exact count of each text."""
    node = shutil.which("node") or "node"
    texts = json.dumps([sample.text for sample in samples])
    printed = subprocess.run(
        [node, str(COUNTER), str(cache)], input=texts, capture_output=True, text=True, check=True
    )
    counts = json.loads(printed.stdout)
    for sample, (_, estimate) in zip(samples, counts, strict=True):
        assert estimate == tokens.estimate_text(sample.text), sample.text
    return [exact for exact, _ in counts]


def rows(samples: Sequence[Sample], exact: Sequence[int], *, by_source: bool) -> Iterable[str]:
    """Yield the table's rows, over the half of the corpus that the tables were not fitted to."""
    groups: defaultdict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for sample, true in zip(samples, exact, strict=True):
        if sample.held_out:
            name = f"{sample.kind}: {sample.source}" if by_source else sample.kind
            estimate = tokens.estimate_text(sample.text)
            groups[name].append((sample.source, true, estimate))
    for name, counts in groups.items():
        errors = [(estimate - true) / true for _, true, estimate in counts]
        mean = sum(map(abs, errors)) / len(errors)
        total = sum(estimate for *_, estimate in counts) / sum(true for _, true, _ in counts) - 1
        worst = min(conversation_errors(counts), default=None)
        cells = f"{mean:.1%} | {total:+.1%} | {min(errors):+.0%} to {max(errors):+.0%}"
        yield f"| {name} | {len(counts)} | {cells} | {'' if worst is None else f'{worst:+.0%}'} |"


def conversation_errors(counts: Sequence[tuple[str, int, int]]) -> Iterable[float]:
    """Yield the error over each ten messages of one source."""
    sources: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for source, true, estimate in counts:
        sources[source].append((true, estimate))
    for messages in sources.values():
        for start in range(0, len(messages) - CONVERSATION + 1, CONVERSATION):
            part = messages[start : start + CONVERSATION]
            yield sum(estimate for _, estimate in part) / sum(true for true, _ in part) - 1


if __name__ == "__main__":
    main()
