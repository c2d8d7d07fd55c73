"""The rows that candidates are tuned on, and what each of them stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.copies import find_copies
from raremetric.sampling import draw_evenly
from raremetric.selection.folds import resolve_cv
from raremetric.validation import (
    Labels,
    check_groups,
    check_integer,
    check_labels,
    weighted_rows,
)

Utility = Callable[[NDArray, NDArray, NDArray, NDArray], NDArray]  # of tn, fp, fn, tp


class TrainingData(NamedTuple):
    """The examples that ``fit`` was given, without those of weight zero."""

    X: NDArray[np.float64]
    labels: Labels
    weights: NDArray[np.float64] | None
    row_numbers: NDArray[np.int64]  # in the data that ``fit`` was given
    groups: NDArray | None = None  # examples of one group are in the same fold
    cv: Any = None  # None, a number of folds, or a list of folds of these examples
    copies: NDArray[np.int64] | None = None  # see `Copies`; None: all rows are different examples

    @classmethod
    def of(
        cls,
        X: NDArray,
        y: NDArray,
        sample_weight,
        groups,
        cv,
        owner: str,
        copies_together: bool = True,
        copies: NDArray[np.int64] | None = None,
    ) -> TrainingData:
        """Check what a ``fit`` with folds was given, apart from X and y.

        The ``copies`` that are together are those in X, unless they are known, as in `Copies`.
        """
        n_given = len(X)
        kept, weights = weighted_rows(sample_weight, n_given)
        groups = check_groups(groups, n_given)
        if len(kept) < n_given:
            X, y, groups = X[kept], y[kept], None if groups is None else groups[kept]
        labels = check_labels(y, owner)
        if copies_together:
            copies = find_copies(X).numbers if copies is None else copies[kept]
        cv = resolve_cv(cv, X, y, kept, n_given, groups, copies)
        return cls(X, labels, weights, kept, groups, cv, copies)

    @property
    def has_copies(self) -> bool:
        """Whether a row is a copy of another one."""
        return self.copies is not None and len(np.unique(self.copies)) < len(self.copies)


class Sample(NamedTuple):
    """Rows of a table, of which one class may be more frequent than in the table.

    Scores are averaged and calibrated on the rows as they are. Measures and thresholds are for the
    table: there, each row counts as often as there are rows that it stands for.
    """

    positive: NDArray[np.bool_]
    weights: NDArray[np.float64] | None = None  # with a mean of one; None for all the same
    stands_for: tuple[float, float] = (1.0, 1.0)  # rows of the table per negative, per positive

    @classmethod
    def of(cls, positive: NDArray, rows: NDArray, weights: NDArray | None = None) -> Sample:
        """Some rows of a table, given by their numbers, which stand for all of it.

        Weights get a mean of one, so that the ridge of the calibration does not depend on their
        scale.
        """
        own = positive[rows]
        drawn = None if weights is None else weights[rows]
        negatives, positives = np.bincount(positive, weights) / np.bincount(own, drawn)
        if drawn is not None:
            drawn = drawn / drawn.mean()
            drawn = None if (drawn == 1).all() else drawn
        return cls(own, drawn, (float(negatives), float(positives)))

    @property
    def labels(self) -> Labels:
        """The classes of the rows, False and True."""
        return Labels(np.array([False, True]), self.positive.astype(np.int64), self.counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of negatives and of positives."""
        return np.bincount(self.positive, minlength=2)

    @property
    def odds(self) -> float:
        """The odds of a positive in the table, divided by those in the sample."""
        return self.stands_for[1] / self.stands_for[0]

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """How many rows of the table each row stands for."""
        of_class = np.where(self.positive, *self.stands_for[::-1])
        return of_class if self.weights is None else self.weights * of_class

    def in_table(self, utility: Utility) -> Utility:
        """A utility as a function of counts in the sample, each of which stands for more rows."""
        negative, positive = self.stands_for
        return lambda tn, fp, fn, tp: utility(
            negative * tn, negative * fp, positive * fn, positive * tp
        )

    def take(self, rows: NDArray) -> Sample:
        """Some of the rows; each stands for as many as before."""
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(positive=self.positive[rows], weights=weights)

    def replaced(self, positive: NDArray, weights: NDArray | None, by: NDArray) -> Sample:
        """Other rows; each stands for as many of these as ``by`` says, of its class."""
        stands_for = (self.stands_for[0] * float(by[0]), self.stands_for[1] * float(by[1]))
        return Sample(positive, weights, stands_for)

    def repeated(self, n_repeats: int) -> Sample:
        """All rows, one repeat after the other."""
        weights = None if self.weights is None else np.tile(self.weights, n_repeats)
        return self._replace(positive=np.tile(self.positive, n_repeats), weights=weights)


def draw_rows(
    positive: NDArray, max_samples: int | None, random_state: np.random.RandomState | int | None
) -> NDArray[np.int64]:
    """All rows, or at most ``max_samples``, the same number from each class: see `draw_evenly`."""
    limit = len(positive)
    if max_samples is not None:
        limit = check_integer(max_samples, "max_samples", low=4)
    return draw_evenly(len(positive), positive, limit, check_random_state(random_state))
