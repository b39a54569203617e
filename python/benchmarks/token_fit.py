"""Fits the tables of core/costs: least squares of the relative error, within bounds.

A text's estimate is linear in the tables' entries: each pair of neighbours adds one entry of
`SCRIPTS`, or one of `LETTER_PAIRS`. Squares are weighted again a few times towards absolute errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.optimize import lsq_linear
from token_corpus import CYRILLIC, LATIN, Sample

from tandem_memory.core import costs

__all__ = ["fit"]

COMMON = 240  # Han characters
PER_SOURCE = 80  # messages that a source counts for at most: variety matters more than mass
WEIGHTS = {
    "English": 4,
    "code": 4,
    "random ids": 2,
    "Russian": 4,
    "Turkish": 2,
    LATIN: 3,
    CYRILLIC: 2,
}
"""The kinds without a script of their own pull at the same entries; these pull harder."""

UNDER = 1.5  # an estimate that is too low weighs more: it may overflow a context
RIDGE = 0.1  # how strongly entries that few texts use are drawn to a cost by UTF-8 length


def fit(samples: Sequence[Sample], exact: Sequence[int]) -> tuple[str, str, str]:
    """Return `SCRIPTS`, `LETTER_PAIRS` and `COMMON_HAN`, fitted to the samples not held out."""
    chosen = [i for i, sample in enumerate(samples) if not sample.held_out]
    samples = [samples[i] for i in chosen]
    true = np.array([exact[i] for i in chosen], float)
    han = common_han(samples)
    costs.COMMON_HAN = han
    costs.CLASSES = costs.read_classes()
    rows = len(costs.ROWS)
    uses = np.array([used(sample.text, rows) for sample in samples], np.float32)
    fitted = solve(uses, true, weights(samples), *bounds()) * 100
    table = np.rint(fitted[: rows * 5]).astype(int).reshape(rows, 5)
    pairs = np.rint(fitted[rows * 5 :]).astype(int).reshape(26, 26)
    lines = costs.SCRIPTS.splitlines()
    scripts = [
        " ".join(f"{cost:3d}" for cost in new) + line[19:]
        for new, line in zip(table, lines, strict=True)
    ]
    letters = ["".join(f"{cost:02d}" for cost in row) for row in pairs]
    return "\n".join(scripts), "\n".join(letters), han


def common_han(samples: Sequence[Sample]) -> str:
    counts = Counter(
        char
        for sample in samples
        if sample.kind in ("Chinese", "Japanese")
        for char in sample.text
        if "\u4e00" <= char <= "\u9fff"
    )
    chars = "".join(char for char, _ in counts.most_common(COMMON))
    return "\n".join(chars[i : i + 48] for i in range(0, COMMON, 48))


def used(text: str, rows: int) -> np.ndarray:
    """Return how often `text` uses each entry: the rows' five costs, then the letter pairs."""
    entries = np.zeros(rows * 5 + 26 * 26)
    classes = [costs.LINE_END, *(costs.CLASSES[min(ord(char), 0x1FFFF)] for char in text)]
    for pair, times in Counter(pairwise(classes)).items():
        for entry in entries_of(*pair):
            entries[entry] += times
    return entries


@cache
def entries_of(before: int, number: int) -> list[int]:
    first, second = costs.row_of(before), costs.row_of(number)
    row = costs.ROWS.index(second) * 5
    if costs.is_pair(before, number):
        return [row, len(costs.ROWS) * 5 + before % 26 * 26 + number % 26]
    return [row if first is second else row + 1 + costs.KINDS.index(first.kind)]


def weights(samples: Sequence[Sample]) -> np.ndarray:
    counts = Counter((sample.kind, sample.source) for sample in samples)
    return np.array(
        [
            min(1, PER_SOURCE / counts[sample.kind, sample.source]) * WEIGHTS.get(sample.kind, 1)
            for sample in samples
        ]
    )


def bounds() -> tuple[np.ndarray, np.ndarray]:
    """Return what each entry is drawn to, and its most; both go by the length in UTF-8."""
    prior = [0.1] * 26 * 26
    most = [0.99] * 26 * 26
    for row in reversed(costs.ROWS):
        first = int(row.spans[0].partition("-")[0], 16) if row.spans else 0x2FFF
        size = len(chr(first).encode("utf-8", "surrogatepass"))
        prior = [(0.5, 0.8, 1.5, 2.5)[size - 1]] * 5 + prior
        most = [(2.0, 4.0, 4.0, 4.0)[size - 1]] * 5 + most
    prior[0], most[0] = 0, 1e-9  # a small letter after a letter: the pair's cost alone
    return np.array(prior), np.array(most)


def solve(
    uses: np.ndarray, true: np.ndarray, weight: np.ndarray, prior: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """Return the entries' costs in tokens."""
    relative = uses / true[:, None]
    scale = weight
    fitted = prior
    for _ in range(5):
        normal = (relative.T * scale) @ relative + RIDGE * np.eye(len(prior))
        factor = np.linalg.cholesky(normal)
        target = np.linalg.solve(factor, relative.T @ scale + RIDGE * prior)
        fitted = lsq_linear(factor.T, target, bounds=(0, most), lsq_solver="exact").x
        error = relative @ fitted - 1
        scale = weight / np.maximum(abs(error), 0.03) * np.where(error < 0, UNDER, 1)
    return fitted
