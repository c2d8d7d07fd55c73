"""Tuning votes on held-out examples: neighbors, factors, readings, calibration, thresholds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from raremetric.selection import (
    Evaluation,
    Sample,
    Sigmoid,
    best_threshold,
    check_aim,
    evaluate,
    fit_sigmoid,
    observed_utility,
    rank,
)
from raremetric.validation import Labels, check_integer
from raremetric.voting.readings import READINGS
from raremetric.voting.training import HeldOut
from raremetric.voting.votes import (
    AdjustedVote,
    Calibration,
    MajorityVote,
    ScoreVote,
    Vote,
    majority_reading,
)

GAMMAS = np.geomspace(0.1, 10, 41)  # tried for each class; 1 is among them
ROUNDS = 3  # of the search for the factors, which changes one class at a time
F1 = check_aim("f1")

Measure = Callable[[int], HeldOut]  # held-out distances to the k nearest examples of each class


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


def fit_vote(kind: str, labels: Labels, hold_out: Measure, k: int | None) -> Vote:
    """Fit a vote, of the kind that the ``vote`` parameter asks for.

    Examples are held out only if there is something to tune: k if it is None, or a calibration.
    """
    if kind == "score":
        return _fit_score(labels, hold_out, k)
    if kind == "majority" and k is not None:
        return MajorityVote(k)
    sizes = [k] if k is not None else _sizes(len(labels.codes))
    held_out = hold_out(max(sizes))
    # The majority is the adjusted vote with all factors 1.
    n_rounds = 0 if kind == "majority" else ROUNDS
    tried = [tune_gamma(held_out, labels, size, n_rounds) for size in sizes]
    best = int(np.argmax([f1 for _, f1 in tried]))  # the first of several
    k, gamma = sizes[best], tried[best][0]
    if kind == "majority":
        return MajorityVote(k)
    scores = held_out.scaled(gamma).scores(majority_reading(k))
    return AdjustedVote(k, gamma, _calibrate(scores, held_out, labels))


def _sizes(n_samples: int) -> list[int]:
    """Numbers of neighbors to try: those for which the majority is one of the readings."""
    sizes = [2 * reading.size - 1 for reading in READINGS if not reading.averaged]
    return [k for k in sizes if k <= n_samples] or [1]


def tune_gamma(held_out: HeldOut, labels: Labels, k: int, n_rounds: int) -> tuple[NDArray, float]:
    """The best factors for k neighbors, one class after the other, and their held-out F1.

    With two classes it is the F1 of the rarer one, with more the mean over all. The most frequent
    class keeps the factor 1, because only ratios matter. Among equally good factors, the one
    nearest to the current one is chosen, which at first is 1.
    """

    def mean_f1(factors: NDArray) -> float:
        predicted = held_out.winners(k, factors)
        values = [
            observed_utility(predicted == c, held_out.codes == c, F1.utility, held_out.weights)
            for c in calibrated_classes(labels)
        ]
        return float(np.mean(values))

    best = np.ones(len(labels.classes))
    best_f1 = mean_f1(best)
    for _ in range(n_rounds):
        before = best
        for c in np.argsort(labels.counts, kind="stable")[:-1]:
            trials = np.tile(best, (len(GAMMAS), 1))
            trials[:, c] = GAMMAS[np.argsort(np.abs(np.log(GAMMAS / best[c])), kind="stable")]
            values = [mean_f1(factors) for factors in trials]
            if max(values) > best_f1:
                best_f1, best = max(values), trials[int(np.argmax(values))]
        if len(labels.classes) == 2 or best is before:
            break
    return best, best_f1


def _fit_score(labels: Labels, hold_out: Measure, k: int | None) -> ScoreVote:
    """Choose the reading with the best rank sum, calibrate it, and choose thresholds for F1.

    Folds have fewer examples than the vote: unless k is given, the reading then grows with them.
    """
    readings = READINGS if k is None else (majority_reading(k),)
    held_out = hold_out(max(reading.size for reading in readings))
    codes, weights = held_out.codes, held_out.weights
    scores = np.stack([held_out.scores(each) for each in readings])
    best = 0
    if len(readings) > 1:
        of_classes = [
            evaluate(scores[:, np.newaxis, :, c], Sample(codes == c, weights), F1)
            for c in calibrated_classes(labels)
        ]
        mean = Evaluation(*(np.mean(parts, axis=0) for parts in zip(*of_classes, strict=True)))
        best = int(np.argmin(rank(mean, [""] * len(readings))))
    calibration = _calibrate(scores[best], held_out, labels)
    p = calibration.sigmoid(scores[best][:, calibration.classes].T)
    thresholds = [best_threshold(row, F1.utility, weights) for row in p]
    reading = readings[best] if k else readings[best].scaled(held_out.growth)
    n_neighbors = k or min(2 * reading.size - 1, len(labels.codes))
    threshold = np.array(thresholds) if len(thresholds) > 1 else thresholds[0]
    return ScoreVote(reading, calibration, threshold, n_neighbors)


def calibrated_classes(labels: Labels) -> NDArray[np.int64]:
    """Classes whose scores are calibrated and evaluated: the rarer of two, or all of more."""
    if len(labels.classes) == 2:
        return np.array([np.argmin(labels.counts)])
    return np.arange(len(labels.classes))


def _calibrate(scores: NDArray, held_out: HeldOut, labels: Labels) -> Calibration:
    """Fit a sigmoid to the scores, (n_rows, n_classes), of each class against the rest."""
    classes, codes = calibrated_classes(labels), held_out.codes
    sigmoids = [fit_sigmoid(scores[:, c], codes == c, held_out.weights) for c in classes]
    slopes, intercepts = (np.array(values) for values in zip(*sigmoids, strict=True))
    return Calibration(classes, Sigmoid(slopes, intercepts))
