"""What a classifier is fitted on, and the held-out distances that its vote is tuned on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed

from raremetric.selection import split_examples, stratified_folds
from raremetric.validation import (
    Labels,
    accepted_weights,
    check_class_sizes,
    check_integer,
    check_labels,
    quiet_repeats,
    take_rows,
    weighted_rows,
)
from raremetric.voting.votes import ClassDistances, Examples


class HeldOut(NamedTuple):
    """Distances of some training rows to examples that do not include them."""

    rows: NDArray[np.int64]
    distances: ClassDistances


class TrainingSet(NamedTuple):
    """The examples that ``fit`` was given, without those of weight zero."""

    X: Any  # an array or a table
    y: NDArray
    labels: Labels
    row_numbers: NDArray[np.int64]  # in the data that ``fit`` was given
    n_given: int  # rows of these data
    weights: NDArray[np.float64] | None  # None if all are one
    params: dict[str, Any]  # for the learner's ``fit``
    copies: NDArray[np.int64] | None = None  # see `Copies`; None if there are no folds

    @classmethod
    def of(
        cls,
        X,
        y: NDArray,
        weights: NDArray | None,
        params: dict,
        owner: str,
        copies: NDArray | None = None,
    ) -> TrainingSet:
        """Encode the labels, and leave out the rows of weight zero."""
        n_given = len(y)
        kept, weights = weighted_rows(weights, n_given)
        params = _params_of(params, kept, n_given)
        if len(kept) < n_given:
            X, y = take_rows(X, kept), y[kept]
            copies = None if copies is None else copies[kept]
        return cls(X, y, check_labels(y, owner), kept, n_given, weights, params, copies)

    @property
    def has_copies(self) -> bool:
        """Whether a row is a copy of another one."""
        return self.copies is not None and len(np.unique(self.copies)) < len(self.copies)


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


def fit_learners(learner, data: TrainingSet, multiclass: str, rows: NDArray | None = None) -> list:
    """Fit copies of a learner on some rows: one, or with "one_vs_rest" one for each class."""
    rows = np.arange(len(data.y)) if rows is None else rows
    X, y, classes = take_rows(data.X, rows), data.y[rows], data.labels.classes
    params = _params_of(data.params, rows, len(data.y))
    if multiclass == "joint" or len(classes) == 2:
        return [clone(learner).fit(X, y, **params)]
    if isinstance(learner, FrozenEstimator):
        raise ValueError(
            "A frozen learner has one metric, but multiclass='one_vs_rest' learns one for each of "
            f"the {len(classes)} classes. Use multiclass='joint', or a learner that is not frozen."
        )
    return [clone(learner).fit(X, y == label, **params) for label in classes]


def hold_out(
    learner,
    data: TrainingSet,
    multiclass: str,
    examples: Examples,
    k: int,
    *,
    cv,
    random_state,
    n_jobs: int | None,
) -> list[HeldOut]:
    """Distances of all rows to the k nearest examples of each class, without the rows themselves.

    Parameters
    ----------
    learner : transformer
        Fitted again without each fold; a frozen one is used as it is, on all other examples, or
        on those outside the fold if there are copies.
    data : TrainingSet
    multiclass : {"joint", "one_vs_rest"}
    examples : Examples
        All rows under the metrics that were learned from all of them.
    k : int
    cv, random_state, n_jobs
        Parameters of the classifier.
    """
    advice = "Add examples, or use vote='majority' with a fixed n_neighbors."
    check_class_sizes(data.labels, 2, "Tuning the vote", advice)
    if isinstance(learner, FrozenEstimator) and not data.has_copies:
        return leave_one_out(examples, k)
    fit = partial(fit_learners, learner, data, multiclass)
    return leave_folds_out(fit, data, tuning_folds(cv, data, random_state), k, n_jobs)


def tuning_folds(cv, data: TrainingSet, random_state) -> list[tuple[NDArray, NDArray]]:
    """The folds that a ``cv`` parameter asks for."""
    cv = 5 if cv is None else cv  # scikit-learn's default
    if isinstance(cv, Integral):
        n_folds = check_integer(cv, "cv", low=2)
        return stratified_folds(data.labels, n_folds, random_state, copies=data.copies)
    return split_examples(cv, data.X, data.y, data.row_numbers, data.n_given)


def leave_folds_out(
    fit: Callable[[NDArray], list],
    data: TrainingSet,
    folds: Iterable[tuple[NDArray, NDArray]],
    k: int,
    n_jobs: int | None,
) -> list[HeldOut]:
    """Distances of the rows of each fold to the k nearest examples of each class outside it.

    Parameters
    ----------
    fit : callable (rows) -> list of transformers
        Learns the metrics from some rows of the data.
    data : TrainingSet
    folds : iterable of (train, test)
    k : int
    n_jobs : int or None
        Threads.
    """
    labels = data.labels

    def measure(train: NDArray, test: NDArray) -> HeldOut:
        part = check_labels(labels.codes[train], "A fold of cv")
        if len(part.classes) < len(labels.classes):
            missing = np.setdiff1d(labels.codes, part.classes)[0]
            raise ValueError(
                f"A fold of cv leaves no example of class {labels.classes.tolist()[missing]!r} to "
                "learn from. Use stratified folds, such as cv=5."
            )
        metrics = fit(train)
        examples = Examples.of(map_rows(metrics, take_rows(data.X, train)), part)
        queries = map_rows(metrics, take_rows(data.X, test))
        return HeldOut(test, examples.class_distances(queries, k))

    with quiet_repeats():
        return Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(measure)(train, test) for train, test in folds
        )


def leave_one_out(examples: Examples, k: int) -> list[HeldOut]:
    """Distances of each example to the k nearest others of each class, under the only metric."""
    (search,), counts, codes = examples.searches, examples.labels.counts, examples.labels.codes
    found = search.nearest_of_each_class(None, k)
    held_out = []
    for own in range(len(counts)):
        rows = np.flatnonzero(codes == own)
        # An example has one neighbor less in its own class.
        lists = [near.distances[rows, : counts[c] - (c == own)] for c, near in enumerate(found)]
        held_out.append(HeldOut(rows, ClassDistances([lists], examples.floors)))
    return held_out


def map_rows(metrics: Sequence, X) -> list[NDArray]:
    """X as each metric maps it: plain arrays, whatever output the transformers were set to."""
    return [np.asarray(metric.transform(X)) for metric in metrics]


def _params_of(params: dict[str, Any], rows: NDArray, n_samples: int) -> dict[str, Any]:
    """Parameters of ``fit`` for some rows: arrays with one entry per example are indexed."""
    return {
        name: np.asarray(value)[rows] if np.ndim(value) and len(value) == n_samples else value
        for name, value in params.items()
    }
