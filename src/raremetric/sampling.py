"""Samples with about the same number of rows of each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_evenly(
    n_samples: int, y: NDArray | None, n_drawn: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Sorted row numbers: all rows, or a sample with the same number from each class."""
    if n_drawn >= n_samples:
        return np.arange(n_samples)
    y = np.zeros(n_samples) if y is None else y
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    drawn = [
        rng.permutation(np.flatnonzero(codes == c))[:quota]
        for c, quota in enumerate(even_quotas(counts, n_drawn))
    ]
    return np.sort(np.concatenate(drawn))


def even_quotas(counts: NDArray, total: int) -> list[int]:
    """How many rows to draw from each class: equal shares, or all rows of a class with fewer.

    What a small class lacks is distributed over the larger ones.
    """
    quotas, left = [0] * len(counts), total
    order = np.argsort(counts, kind="stable")
    for n_done, c in enumerate(order):
        quotas[c] = int(min(counts[c], left // (len(order) - n_done)))
        left -= quotas[c]
    return quotas
