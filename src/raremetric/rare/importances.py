"""How much each column changes the log-odds of a RareClassifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

N_ROWS = 128  # training examples whose values are exchanged, as many of each class as possible


def shares_of_change(
    log_odds: Callable[[NDArray], NDArray], rows: NDArray, groups: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """The mean change without its sign, as shares that sum to one, for each group of features.

    ``log_odds`` maps rows to one number each, or to one for each class.
    A column goes from the value of one row to that of another, while each other column has the
    value of one of the two, at random: rows that were learned from would be their own neighbors.
    """
    rng = np.random.RandomState(0)
    order = rng.permutation(len(rows))
    first, second = rows[order], rows[np.roll(order, 1)]
    mixed = np.empty_like(rows)
    for group in groups:
        some = rng.random_sample((len(rows), 1)) < 0.5
        mixed[:, group] = np.where(some, first[:, group], second[:, group])
    changes = np.empty(len(groups))
    for number, group in enumerate(groups):
        ends = np.stack([mixed, mixed])
        ends[0][:, group], ends[1][:, group] = first[:, group], second[:, group]
        values = log_odds(ends.reshape(-1, rows.shape[1]))
        changes[number] = np.abs(np.subtract(*np.split(values, 2))).mean()
    total = changes.sum()
    return changes / total if total > 0 else changes
