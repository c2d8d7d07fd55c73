"""What a classifier is fitted on, and the held-out distances that its vote is tuned on."""

from __future__ import annotations

from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed

from raremetric.learners.iml import IML
from raremetric.neighbors.one_sided import is_one_sided, map_rows
from raremetric.selection import TrainingData, stratified_folds
from raremetric.validation import (
    Labels,
    accepted_weights,
    check_class_sizes,
    check_labels,
    quiet_repeats,
    take_rows,
)
from raremetric.voting.readings import Reading
from raremetric.voting.votes import ClassDistances, Examples, adjusted_decision


class LearnerFits(NamedTuple):
    """A learner, and all that its ``fit`` may receive."""

    learner: Any  # of which copies are fitted
    X: Any  # an array or a table
    labels: Labels
    params: dict[str, Any]  # beside X and y
    multiclass: str

    @classmethod
    def of(cls, learner, X, data: TrainingData, params: dict, multiclass: str) -> LearnerFits:
        """From X and ``params`` as given, without the examples of weight zero."""
        n_given, rows = X.shape[0], data.row_numbers
        X = X if len(rows) == n_given else take_rows(X, rows)
        return cls(learner, X, data.labels, _params_of(params, rows, n_given), multiclass)

    def fit(self, rows: NDArray | None = None) -> list:
        """Fit copies on some rows: one, or with "one_vs_rest" one for each class."""
        n_samples, classes = len(self.labels.codes), self.labels.classes
        rows = np.arange(n_samples) if rows is None else rows
        X, y = take_rows(self.X, rows), classes[self.labels.codes[rows]]
        params = _params_of(self.params, rows, n_samples)
        if self.multiclass == "joint" or len(classes) == 2:
            return [clone(self.learner).fit(X, y, **params)]
        if isinstance(self.learner, FrozenEstimator) or is_one_sided(self.learner):
            kind = "frozen" if isinstance(self.learner, FrozenEstimator) else "one-sided"
            raise ValueError(
                f"A {kind} learner has one metric, but multiclass='one_vs_rest' learns one for "
                f"each of the {len(classes)} classes. Use multiclass='joint', or a learner that is "
                f"not {kind}."
            )
        return [clone(self.learner).fit(X, y == label, **params) for label in classes]


class HeldOut(NamedTuple):
    """Distances of training rows to examples that do not include them, fold by fold."""

    distances: list[ClassDistances]
    codes: NDArray[np.int64]  # classes of the rows of all folds, one fold after the other
    weights: NDArray[np.float64] | None  # how much each of these rows counts
    growth: float  # the number of all examples divided by the mean number in a fold

    def scaled(self, factors: NDArray) -> HeldOut:
        """The distances to each class multiplied by the factor of the class."""
        return self._replace(distances=[each.scaled(factors) for each in self.distances])

    def scores(self, reading: Reading) -> NDArray[np.float64]:
        """How much nearer each class is than all others, (n_rows, n_classes)."""
        return np.concatenate([each.scores(reading) for each in self.distances])

    def winners(self, k: int, gamma: NDArray) -> NDArray[np.int64]:
        """The class that wins the adjusted vote, (n_rows,)."""
        decisions = [adjusted_decision(each, k, gamma) for each in self.distances]
        return np.concatenate(decisions).argmax(axis=1)


def check_learner(learner: Any, vote: str = "majority") -> Any:
    """The learner of which copies are fitted; if it tunes itself, it does so for the vote."""
    if learner is None:
        return IML()
    if not hasattr(learner, "fit") or not hasattr(learner, "transform"):
        raise TypeError(
            "learner must be a transformer that learns a metric, such as IML(), or None; got "
            f"{learner!r}."
        )
    if vote == "score" and learner.get_params(deep=False).get("scoring") == "auto":
        return clone(learner).set_params(scoring="average_precision")
    return learner


def learner_params(classifier, learner, sample_weight, fit_params: dict) -> dict[str, Any]:
    """What a learner's ``fit`` receives beside X and y: weights, and what the user routes to it."""
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(classifier, "fit", sample_weight=sample_weight, **fit_params)
        return routed.learner.fit
    if fit_params:
        raise ValueError(
            f"fit got {', '.join(fit_params)}, which is passed to the learner only with metadata "
            "routing. Enable it: sklearn.set_config(enable_metadata_routing=True)."
        )
    return accepted_weights(learner, sample_weight)


def _params_of(params: dict[str, Any], rows: NDArray, n_samples: int) -> dict[str, Any]:
    """Parameters of ``fit`` for some rows: arrays with one entry per example are indexed."""
    arrays = {name: np.asarray(value) for name, value in params.items()}
    return {
        name: array[rows] if array.ndim and len(array) == n_samples else params[name]
        for name, array in arrays.items()
    }


def hold_out(
    fits: LearnerFits, data: TrainingData, random_state, n_jobs: int | None, k: int
) -> HeldOut:
    """Distances of the rows of each fold to the k nearest examples of each class outside it.

    The learner is fitted again without each fold, unless it is frozen.
    """
    advice = "Add examples, or use vote='majority' with a fixed n_neighbors."
    check_class_sizes(data.labels, "Tuning the vote", advice)
    folds = data.cv
    if isinstance(folds, int):
        folds = stratified_folds(data.labels, folds, random_state, copies=data.copies)
    with quiet_repeats():
        run = Parallel(n_jobs=n_jobs, prefer="threads")
        found = run(delayed(_measure)(fits, *fold, k) for fold in folds)
    numbers = np.concatenate([test for _, test in folds])
    weights = None if data.weights is None else data.weights[numbers]
    growth = len(data.X) / fmean(len(train) for train, _ in folds)
    return HeldOut(found, data.labels.codes[numbers], weights, growth)


def _measure(fits: LearnerFits, train: NDArray, test: NDArray, k: int) -> ClassDistances:
    """Distances of one part of the rows to the examples of another, under metrics of these."""
    labels = fits.labels
    part = check_labels(labels.classes[labels.codes[train]], "A fold of cv")
    if len(part.classes) < len(labels.classes):
        missing = np.setdiff1d(labels.classes, part.classes).tolist()[0]
        raise ValueError(
            f"A fold of cv leaves no example of class {missing!r} to "
            "learn from. Use stratified folds, such as cv=5."
        )
    metrics = fits.fit(train)
    near = Examples.of(metrics, take_rows(fits.X, train), part)
    return near.class_distances([map_rows(each, take_rows(fits.X, test)) for each in metrics], k)
