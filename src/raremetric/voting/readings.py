"""From distances to scores.

The score of a class is how much farther away the other classes are: s = log d_others − log d_own
or d²_others − d²_own. A reading says which of these it is, and how the distance d
to a class is computed from the distances to its nearest examples. One neighbor search serves all
readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST = np.finfo(np.float64).max  # in place of distances whose squares overflow
FAR = 100.0  # logarithm of the largest distance that squares tell apart from larger ones


class Reading(NamedTuple):
    """How the distance to a class is computed from the distances to its nearest examples."""

    size: int  # m
    averaged: bool = False  # the mean over the m nearest, or the m-th nearest alone
    power: int = 0  # 2 for squared distances, 0 for logarithms of distances

    def __call__(self, log_distances: NDArray) -> NDArray:
        """From sorted log-distances, (n, k), to (n,); with k < m, m = k."""
        m = min(self.size, log_distances.shape[1])
        used = log_distances[:, slice(m) if self.averaged else slice(m - 1, m)]
        if self.power:
            used = np.exp(self.power * np.minimum(used, FAR))
        return used.mean(axis=1)

    def scaled(self, factor: float) -> Reading:
        """For so many times as many examples: the m nearest are the same share of them."""
        return self._replace(size=max(1, round(self.size * factor)))

    def __str__(self) -> str:
        kind = "mean of" if self.averaged else "nearest"
        return f"{kind} {self.size}{', squared' if self.power else ''}"


# Ratios of distances (differences of logarithms) suit classes that are mixed in small patches, but
# approach 1 far from all examples. Differences of squares do not, and suit classes with a smooth
# boundary: averaged over all examples, they are a linear discriminant.
READINGS = (
    *(Reading(size) for size in (2, 4, 8, 16)),
    *(Reading(size, averaged=True) for size in (2, 5, 10, 20, 40, 80)),
    *(Reading(size, averaged=True, power=2) for size in (20, 80)),
)


def distance_floor(Z: NDArray, n_rows: int = 60) -> float:
    """A tenth of the median distance to the nearest different row.

    Scores treat smaller distances as equal to it. Otherwise duplicates, at distance zero, would
    have infinite scores. The median is estimated from ``n_rows`` evenly spaced rows.
    """
    rows = np.unique(np.linspace(0, len(Z) - 1, n_rows).astype(int))
    Z = Z - Z.mean(axis=0)
    norms = np.einsum("ij,ij->i", Z, Z)
    squares = (-2.0 * Z[rows]) @ Z.T
    squares += norms[rows, np.newaxis]
    squares += norms
    squares[squares <= 1e-10 * squares.max(initial=0.0)] = np.inf
    nearest = squares.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return 0.1 * float(np.sqrt(np.median(nearest))) if len(nearest) else 1.0


def class_scores(
    distances: list[NDArray], floor: float, readings: Sequence[Reading]
) -> NDArray[np.float64]:
    """How much nearer each class is than all others, (n_readings, n_queries, n_classes).

    The sorted distances to the nearest examples of each class are (n_queries, k or fewer). Those
    below the ``floor`` are replaced by it, see ``distance_floor``.
    """
    size = max(reading.size for reading in readings)  # of each class, no others are needed
    logs = [np.log(np.clip(part[:, :size], floor, LARGEST)) for part in distances]
    own = np.stack([[reading(part) for part in logs] for reading in readings])
    if len(logs) == 2:
        others = own[:, ::-1]
    else:
        rest = [np.sort(np.hstack(logs[:c] + logs[c + 1 :]), axis=1) for c in range(len(logs))]
        others = np.stack([[reading(part) for part in rest] for reading in readings])
    return (others - own).transpose(0, 2, 1)
