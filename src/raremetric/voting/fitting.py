"""Votes tuned on examples held out: factors, readings, calibrations, thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from raremetric.validation import (
    Labels,
    check_integer,
    check_labels,
    check_real,
    quiet_repeats,
)
from raremetric.voting.calibration import Sigmoid, fit_sigmoid
from raremetric.voting.evaluation import Evaluation, evaluate, rank, stratified_folds
from raremetric.voting.readings import READINGS, Reading, nearest_of_each_class
from raremetric.voting.thresholds import best_threshold, f_utility, observed_utility
from raremetric.voting.votes import (
    AdjustedVote,
    Calibration,
    Distances,
    Examples,
    HeldOut,
    ScoreVote,
)

GAMMAS = np.geomspace(0.1, 10, 41)  # tried for each class; 1 is among them
ROUNDS = 3  # of the search over the classes' factors, one class at a time
F1 = f_utility(1.0)


def check_neighbors(n_neighbors, n_samples: int) -> int | None:
    """k, or None for "auto"."""
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise TypeError(f"n_neighbors must be an int or 'auto'; got {n_neighbors!r}.")
        return None
    k = check_integer(n_neighbors, "n_neighbors", low=1)
    if k > n_samples:
        raise ValueError(
            f"n_neighbors={k} neighbors cannot be found among {n_samples} examples. "
            "Lower n_neighbors."
        )
    return k


def check_gamma(gamma, vote: str, labels: Labels) -> NDArray[np.float64] | None:
    """One factor for each class, from a number for the rarest or a dict; None for "auto"."""
    factors, known = np.ones(len(labels.classes)), labels.classes.tolist()
    automatic = isinstance(gamma, str) and gamma == "auto"
    if vote != "adjusted":
        if automatic:
            return factors
        raise ValueError(
            f"gamma={gamma!r} has no meaning with vote={vote!r}. Set vote='adjusted', or leave "
            "gamma='auto'."
        )
    if automatic:
        return None
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma must be 'auto', a number or a dict from labels to numbers; got {gamma!r}."
        )
    if not isinstance(gamma, Mapping):
        factors[np.argmin(labels.counts)] = check_real(gamma, "gamma", low=0, closed="neither")
        return factors
    for label, factor in gamma.items():
        if label not in known:
            raise ValueError(f"gamma has a factor for {label!r}, but the classes are {known}.")
        name = f"gamma[{label!r}]"
        factors[known.index(label)] = check_real(factor, name, low=0, closed="neither")
    return factors


def fit_adjusted(
    hold_out: Callable[[int], list[HeldOut]], labels: Labels, k: int | None, gamma: NDArray | None
) -> AdjustedVote:
    """Choose k and the factors, unless they are given, by the F1 held out.

    Of two classes the F1 of the rarer one counts, of more the mean over all.

    Parameters
    ----------
    hold_out : callable (reach) -> list of HeldOut
        Measures the examples to so many of each class.
    labels : Labels
    k : int or None
    gamma : ndarray of shape (n_classes,) or None
    """
    sizes = [k] if k is not None else _sizes(len(labels.codes))
    held = hold_out(max(sizes))
    tried = [tune_gamma(held, labels, k, gamma) for k in sizes]
    vote, _ = max(tried, key=lambda result: result[1])  # of equals the first
    scores = np.concatenate(
        [part.distances.scaled(vote.gamma).scores(vote.reading) for part in held]
    )
    return vote._replace(calibration=calibrate(scores, _codes(held), labels))


def tune_gamma(
    held: Sequence[HeldOut], labels: Labels, k: int, gamma: NDArray | None
) -> tuple[AdjustedVote, float]:
    """The best factors for k neighbors, one class after the other, and their F1 held out.

    The commonest class keeps the factor 1, since only ratios matter. Of equally good factors the
    one nearest to the last is taken, at first the one nearest to 1.
    """
    codes, counted = _codes(held), fitted_classes(labels)

    def worth(factors: NDArray) -> float:
        vote = AdjustedVote(k, factors)
        called = np.concatenate([vote.decide(part.distances).argmax(axis=1) for part in held])
        return float(np.mean([observed_utility(called == c, codes == c, F1) for c in counted]))

    best = np.ones(len(labels.classes)) if gamma is None else gamma
    value = worth(best)
    for _ in range(ROUNDS if gamma is None else 0):
        before = best
        for c in np.argsort(labels.counts, kind="stable")[:-1]:
            trials = np.tile(best, (len(GAMMAS), 1))
            trials[:, c] = GAMMAS[np.argsort(np.abs(np.log(GAMMAS / best[c])), kind="stable")]
            values = [worth(factors) for factors in trials]
            if max(values) > value:
                value, best = max(values), trials[int(np.argmax(values))]
        if len(labels.classes) == 2 or best is before:
            break
    return AdjustedVote(k, best), value


def fit_score(hold_out: Callable[[int], list[HeldOut]], labels: Labels, k: int | None) -> ScoreVote:
    """Choose the reading by its rank sum, calibrate it, and put the thresholds where F1 is best."""
    readings = READINGS if k is None else (Reading((k + 1) // 2),)
    held = hold_out(max(reading.size for reading in readings))
    codes = _codes(held)
    scores = np.stack(
        [np.concatenate([part.distances.scores(reading) for part in held]) for reading in readings]
    )
    best = 0
    if len(readings) > 1:
        judged = [
            evaluate(scores[:, np.newaxis, :, c], codes == c, F1) for c in fitted_classes(labels)
        ]
        together = Evaluation(*(np.mean(parts, axis=0) for parts in zip(*judged, strict=True)))
        best = int(np.argmin(rank(together, [""] * len(readings), threshold_free=False)))
    calibration = calibrate(scores[best], codes, labels)
    p = calibration.sigmoid(scores[best][:, calibration.classes].T)
    thresholds = np.array([best_threshold(row, F1) for row in p])
    return ScoreVote(readings[best], calibration, thresholds)


def calibrate(scores: NDArray, codes: NDArray, labels: Labels) -> Calibration:
    """Fit a sigmoid to the scores, (n_rows, n_classes), of each class against the rest."""
    classes = fitted_classes(labels)
    sigmoids = [fit_sigmoid(scores[:, c], codes == c) for c in classes]
    slopes, intercepts = (np.array(values) for values in zip(*sigmoids, strict=True))
    return Calibration(classes, Sigmoid(slopes, intercepts))


def fitted_classes(labels: Labels) -> NDArray[np.int64]:
    """Classes that are told from the rest: the rarer of two, or each of more."""
    if len(labels.classes) == 2:
        return np.array([np.argmin(labels.counts)])
    return np.arange(len(labels.classes))


def split_rows(
    cv, X, y: NDArray, labels: Labels, random_state
) -> Iterable[tuple[NDArray, NDArray]]:
    """The folds that a ``cv`` parameter stands for."""
    if isinstance(cv, int):
        return stratified_folds(labels, check_integer(cv, "cv", low=2), random_state)
    return check_cv(cv, y, classifier=True).split(X, y)


def leave_folds_out(
    fit: Callable,
    X,
    y: NDArray,
    labels: Labels,
    folds: Iterable[tuple[NDArray, NDArray]],
    k: int,
    n_jobs: int | None,
) -> list[HeldOut]:
    """Each fold measured to the k nearest examples of each class among the others.

    Parameters
    ----------
    fit : callable (X, y) -> list of transformers
        Learns the metrics.
    X : array or table of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    labels : Labels
        Of all examples.
    folds : iterable of (train, test)
    k : int
    n_jobs : int or None
        Threads.
    """

    def measure(train: NDArray, test: NDArray) -> HeldOut:
        part = check_labels(labels.codes[train], "A fold of cv")
        if len(part.classes) < len(labels.classes):
            missing = np.setdiff1d(labels.codes, part.classes)[0]
            raise ValueError(
                f"A fold of cv leaves no example of class {labels.classes.tolist()[missing]!r} to "
                "learn from. Use stratified folds, such as cv=5."
            )
        X_train, X_test = (_safe_indexing(X, rows) for rows in (train, test))
        metrics = fit(X_train, y[train])
        examples = Examples.of([map_rows(metric, X_train) for metric in metrics], part)
        queries = [map_rows(metric, X_test) for metric in metrics]
        return HeldOut(labels.codes[test], examples.measure(queries, k))

    with quiet_repeats():
        return Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(measure)(train, test) for train, test in folds
        )


def map_rows(metric, X) -> NDArray:
    """Mapped rows as a plain array, whatever output the transformer was set to."""
    return np.asarray(metric.transform(X))


def leave_one_out(examples: Examples, k: int) -> list[HeldOut]:
    """Each example measured to all others, class by class, under one metric."""
    (Z,), floors, labels = examples
    held = []
    for c in range(len(labels.classes)):
        rows = np.flatnonzero(labels.codes == c)
        found = nearest_of_each_class(Z, labels, Z[rows], k + 1)
        lists = [part[:, :k] for part in found.distances]
        others = found.indices[c] != rows[:, np.newaxis]
        others[others.all(axis=1), -1] = False  # lost among its duplicates: all are at zero
        lists[c] = found.distances[c][others].reshape(len(rows), -1)
        held.append(HeldOut(labels.codes[rows], Distances([lists], floors)))
    return held


def _sizes(n_samples: int) -> list[int]:
    """Numbers of neighbors worth trying: those of which the m-th is a reading."""
    sizes = [2 * reading.size - 1 for reading in READINGS if not reading.averaged]
    return [k for k in sizes if k <= n_samples] or [1]


def _codes(held: Sequence[HeldOut]) -> NDArray[np.int64]:
    return np.concatenate([part.codes for part in held])
