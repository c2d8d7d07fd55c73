"""Who wins: votes of adjusted distances, and scores above thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from raremetric.validation import Labels
from raremetric.voting.calibration import Sigmoid
from raremetric.voting.readings import (
    Reading,
    class_scores,
    distance_floor,
    nearest_of_each_class,
)

TINY = np.finfo(np.float64).tiny


class Distances(NamedTuple):
    """Distances of some rows to their nearest examples of each class, under each metric.

    Either one metric serves all classes, or class c has the metric at place c.
    """

    lists: list[list[NDArray[np.float64]]]  # metric, class: sorted, (n_rows, k or fewer)
    floors: list[float]  # of each metric: nothing nearer is told apart

    def scaled(self, factors: NDArray) -> Distances:
        """Each class at so many times its distance."""
        lists = [[f * part for f, part in zip(factors, own, strict=True)] for own in self.lists]
        return self._replace(lists=lists)

    def scores(self, reading: Reading) -> NDArray:
        """How much nearer each class is than all others, (n_rows, n_classes)."""
        return _own_columns(
            [
                class_scores(own, floor, [reading])[0]
                for own, floor in zip(self.lists, self.floors, strict=True)
            ]
        )

    def votes(self, k: int) -> NDArray[np.int64]:
        """How many of the k nearest are of each class, (n_rows, n_classes)."""
        return _own_columns([_count_nearest(own, k) for own in self.lists])


class Examples(NamedTuple):
    """Examples as each metric maps them."""

    mapped: list[NDArray[np.float64]]
    floors: list[float]
    labels: Labels

    @classmethod
    def of(cls, mapped: Sequence[NDArray], labels: Labels) -> Examples:
        """With the floor on distances that each metric needs."""
        return cls(list(mapped), [distance_floor(Z) for Z in mapped], labels)

    def measure(self, queries: Sequence[NDArray], k: int) -> Distances:
        """Distances of queries, mapped likewise, to the k nearest examples of each class."""
        lists = [
            nearest_of_each_class(Z, self.labels, rows, k).distances
            for Z, rows in zip(self.mapped, queries, strict=True)
        ]
        return Distances(lists, self.floors)


class HeldOut(NamedTuple):
    """Rows whose classes are known, measured to examples that they are not among."""

    codes: NDArray[np.int64]
    distances: Distances


class Calibration(NamedTuple):
    """Log-odds of each class from its score; of two classes only the rarer one is fitted."""

    classes: NDArray[np.int64]  # those that are fitted
    sigmoid: Sigmoid

    def log_odds(self, scores: NDArray) -> NDArray:
        """From scores to log-odds, both (n_rows, n_classes)."""
        values = self.sigmoid.log_odds(scores[:, self.classes].T).T
        return _both_sides(values, self.classes)

    def probabilities(self, scores: NDArray) -> NDArray:
        """From scores to probabilities that sum to one, both (n_rows, n_classes)."""
        p = expit(self.log_odds(scores))
        return p / p.sum(axis=1, keepdims=True)


class AdjustedVote(NamedTuple):
    """The k nearest vote, each class at its factor times its distance."""

    k: int
    gamma: NDArray[np.float64]
    calibration: Calibration | None = None

    @property
    def reach(self) -> int:
        """How many neighbors of each class must be known."""
        return self.k

    @property
    def reading(self) -> Reading:
        """The m-th of a class decides among two: m of the k nearest are a majority."""
        return Reading((self.k + 1) // 2)

    def decide(self, distances: Distances) -> NDArray:
        """What is largest for the class that wins, (n_rows, n_classes).

        Votes, and within half a vote how much nearer the class is: that breaks ties. Of two
        classes only the latter is needed: it is above zero exactly for the one that wins.
        """
        distances = distances.scaled(self.gamma)
        # Without a floor: a vote has none.
        exact = distances._replace(floors=[TINY] * len(distances.floors))
        nearness = exact.scores(self.reading)
        if nearness.shape[1] > 2:
            return distances.votes(self.k) + nearness / (2 * (1 + np.abs(nearness)))
        for c in range(2):
            if distances.lists[0][c].shape[1] < self.reading.size:  # too few ever to win
                nearness[:, c] = np.minimum(nearness[:, c], -TINY)
                nearness[:, 1 - c] = -nearness[:, c]
        return nearness

    def probabilities(self, distances: Distances) -> NDArray:
        """Calibrated, (n_rows, n_classes)."""
        assert self.calibration is not None
        return self.calibration.probabilities(distances.scaled(self.gamma).scores(self.reading))


class ScoreVote(NamedTuple):
    """The class whose calibrated log-odds are farthest above its own threshold."""

    reading: Reading
    calibration: Calibration
    thresholds: NDArray[np.float64]  # on the probabilities of the classes that are fitted

    @property
    def reach(self) -> int:
        """How many neighbors of each class must be known."""
        return self.reading.size

    def decide(self, distances: Distances) -> NDArray:
        """How far the log-odds are above the threshold, (n_rows, n_classes)."""
        classes = self.calibration.classes
        values = self.calibration.log_odds(distances.scores(self.reading))[:, classes]
        return _both_sides(values - logit(self.thresholds), classes)

    def probabilities(self, distances: Distances) -> NDArray:
        """Calibrated, (n_rows, n_classes)."""
        return self.calibration.probabilities(distances.scores(self.reading))


def vote_shares(votes: Sequence[NDArray]) -> NDArray:
    """Shares of the votes, each (n_rows, n_classes), under the metric of all or of each class."""
    if len(votes) == 1:
        return votes[0] / votes[0].sum(axis=1, keepdims=True)
    table = np.stack(votes)
    own = np.einsum("csc->sc", table)  # votes for class c under the metric of c
    pooled = table.sum(axis=0)
    shares = own + pooled / (table[:, 0].sum() + 1)  # a fraction of one vote: breaks ties only
    return shares / shares.sum(axis=1, keepdims=True)


def _own_columns(tables: list[NDArray]) -> NDArray:
    """Column c from the table of class c, or all from the only one."""
    if len(tables) == 1:
        return tables[0]
    return np.column_stack([table[:, c] for c, table in enumerate(tables)])


def _both_sides(values: NDArray, classes: NDArray) -> NDArray:
    """Of two classes what is for one is against the other."""
    if len(classes) > 1:
        return values
    sides = np.hstack([-values, values])
    return sides if classes[0] == 1 else sides[:, ::-1]


def _count_nearest(distances: list[NDArray], k: int) -> NDArray[np.int64]:
    """Classes of the k nearest, counted; of equally near ones the first class goes first."""
    owners = np.repeat(np.arange(len(distances)), [part.shape[1] for part in distances])
    nearest = np.argsort(np.hstack(distances), axis=1, kind="stable")[:, :k]
    return (owners[nearest][:, :, np.newaxis] == np.arange(len(distances))).sum(axis=1)
