"""Scores of many settings of IML on one fold, at the price of a few fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from raremetric.learners import iml
from raremetric.learners.iml import IML
from raremetric.learners.problem import LossParameters, PairSetProblem
from raremetric.neighbors import NeighborSearch
from raremetric.selection import Sample, check_aim, evaluate
from raremetric.validation import Labels, check_weights, quiet_repeats
from raremetric.voting.readings import Reading, class_scores, distance_floor

# The parameters of IML on which its problem depends; the others are m, a, λ and the solver's.
OF_PROBLEM = ("pairs", "dissimilar", "set_weights", "max_samples", "random_state")
# How candidates are judged by the score of distances, beside the aims of RareClassifier.
OF_DISTANCES = ("average_precision", "neg_log_loss")
# With the second nearest example of each class in place of the mean, the choice was worse.
JUDGED = Reading(10, averaged=True)


class Fold(NamedTuple):
    """The training and the test part of one fold."""

    X: NDArray
    labels: Labels
    X_test: NDArray
    y_test: NDArray
    weights: NDArray | None = None  # of the training part; None for all the same
    weights_test: NDArray | None = None


Score = Callable[[NDArray, Fold, int], Any]  # of components L, on a fold, with k neighbors


def rare_f1(positive) -> Score:
    """A fast scorer: the F1 of one class by the majority of the nearest neighbors."""

    def score(L: NDArray, fold: Fold, k: int) -> float:
        nearest = nearest_under(L, fold, k)
        weights = (fold.weights, fold.weights_test)
        return vote_f1(nearest, fold.labels, fold.y_test == positive, positive, *weights)

    return score


def distance_score(positive: Any, scoring: Any) -> Score:
    """A scorer of metrics by how much nearer the examples of one class are than all others.

    ``scoring`` is one of `OF_DISTANCES` or an aim of ``RareClassifier``.
    """
    named = isinstance(scoring, str) and scoring in OF_DISTANCES
    aim = check_aim("f1" if named else scoring)

    def score(L: NDArray, fold: Fold, k: int) -> float:
        is_positive = fold.y_test == positive
        if is_positive.all() or not is_positive.any():
            return 0.0  # no metric is better than another
        Z = fold.X @ L.T
        search = NeighborSearch(Z, fold.labels)
        near = search.nearest_of_each_class(fold.X_test @ L.T, JUDGED.size, exact=False)
        scores = class_scores([each.distances for each in near], distance_floor(Z), [JUDGED])
        column = fold.labels.classes.tolist().index(positive)
        sample = Sample.of(is_positive, np.arange(len(is_positive)), fold.weights_test)
        found = evaluate(scores[np.newaxis, :, :, column], sample, aim)
        if named:
            is_loss = scoring == "neg_log_loss"
            return float(-found.log_loss[0] if is_loss else found.average_precision[0])
        return float(found.utility[0])

    return score


def nearest_under(L: NDArray, fold: Fold, k: int) -> NDArray[np.int64]:
    """The numbers of the k nearest training rows to each test row, or of all if they are fewer."""
    search = NeighborSearch(fold.X @ L.T)
    return search.nearest(fold.X_test @ L.T, min(k, len(fold.X))).indices


def vote_f1(
    nearest: NDArray[np.int64],
    labels: Labels,
    actual: NDArray,
    positive,
    weights: NDArray | None = None,
    weights_test: NDArray | None = None,
) -> float:
    """The F1 of one class if the majority of the k nearest neighbors decides.

    ``nearest`` has the numbers of the k nearest examples to each query, and ``actual`` says which
    queries are of the class. ``weights`` are those of the votes of the examples, and
    ``weights_test`` those of the queries in the F1; None for all the same.
    """
    votes = labels.codes[nearest][:, :, np.newaxis] == np.arange(len(labels.classes))
    if weights is not None:
        votes = votes * weights[nearest][:, :, np.newaxis]
    winners = votes.sum(axis=1).argmax(axis=1)  # ties go to the first class
    predicted = labels.classes[winners] == positive
    found, wrong = predicted & actual, predicted != actual
    if weights_test is None:
        n_found, n_wrong = np.count_nonzero(found), np.count_nonzero(wrong)
    else:
        n_found, n_wrong = weights_test[found].sum(), weights_test[wrong].sum()
    return float(n_found / (n_found + n_wrong / 2)) if n_found else 0.0


def score_candidates(
    fold: Fold, candidates: Sequence[dict], score: Score, k: int, n_jobs: int | None = None
) -> list[tuple[float, float]]:
    """Score and seconds of each candidate, parameters of IML, on one fold.

    Candidates that differ in m, a, λ and the solver only share one problem. k is the number of
    neighbors in the loss and in the vote, and ``n_jobs`` that of threads.
    """
    learners = [IML(n_neighbors=k, **candidate) for candidate in candidates]
    for learner in learners:
        iml.check_parameters(learner)
    weights = check_weights(fold.weights, len(fold.X))
    problems: dict[Hashable, PairSetProblem] = {}
    keys = [tuple(getattr(learner, name) for name in OF_PROBLEM) for learner in learners]

    def fit_and_score(learner: IML, problem: PairSetProblem) -> tuple[float, float]:
        start = time.perf_counter()
        L, options = iml.start_of(learner, fold.X)
        parameters = LossParameters(learner.margin, learner.similar_weight, learner.regularization)
        L = problem.minimize(parameters, L, options)
        seconds = time.perf_counter() - start
        return score(L, fold, k), seconds

    with quiet_repeats():
        for key, learner in zip(keys, learners, strict=True):
            if key not in problems:
                problems[key] = iml.make_problem(learner, fold.X, fold.labels, weights)
        return Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(fit_and_score)(learner, problems[key])
            for key, learner in zip(keys, learners, strict=True)
        )
