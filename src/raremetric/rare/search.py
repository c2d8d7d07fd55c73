"""From a budget to an ensemble: collect evidence, decide, fit what counts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from raremetric.rare.candidates import (
    GROUP_WEIGHTS,
    Branch,
    fit_neighborhoods,
    keep_learners,
)
from raremetric.rare.ensemble import Ensemble, Member
from raremetric.rare.evidence import (
    Part,
    choose_parts,
    combine,
    list_candidates,
    make_folds,
    score_repeat,
)
from raremetric.validation import Labels
from raremetric.voting import (
    Aim,
    Evaluation,
    Sigmoid,
    best_threshold,
    evaluate,
    fit_sigmoid,
    observed_utility,
    rank,
)

BUDGETS = ("fast", "thorough")
FOR_SEARCH = 0.9  # of a budget in seconds; the rest is for fitting what was chosen


class Choice(NamedTuple):
    """Which candidates count how much, and where the threshold is."""

    evaluation: Evaluation
    places: NDArray[np.int64]  # of each candidate within its group
    parts: list[Part]
    calibration: Sigmoid
    threshold: float
    score: float  # out-of-fold utility of the average, at that threshold

    def with_odds(self, factor: float) -> Choice:
        """The same decisions where positives are so many times as frequent."""
        shift = np.log(factor)
        slope, intercept = self.calibration
        return self._replace(
            calibration=Sigmoid(slope, intercept + shift),
            threshold=float(expit(logit(self.threshold) + shift)),
        )


def collect(
    tried: Sequence[Branch],
    X: NDArray,
    labels: Labels,
    seed: int,
    budget: str | float = "fast",
    start: float = 0.0,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Out-of-fold scores, (n_candidates, n_repeats, n_samples).

    Parameters
    ----------
    tried : sequence of Branch
    X, labels : ndarray, Labels
    seed : int
        Of the folds and of the steps.
    budget : {"fast", "thorough"} or float
        How often to repeat; a number is a time in seconds, counted from ``start``.
    start : float
        When the time began, by ``time.perf_counter``.
    n_jobs : int or None
        Threads over the folds.
    """
    end = np.inf if isinstance(budget, str) else start + FOR_SEARCH * budget
    found: list[NDArray] = []
    began = time.perf_counter()
    for folds in make_folds(labels, seed, thorough=budget != "fast"):
        now = time.perf_counter()
        if found and now + (now - began) / len(found) > end:
            break
        found.append(score_repeat(tried, X, labels, folds, seed, n_jobs))
    return np.stack(found, axis=1)


def choose(
    scores: NDArray,
    groups: Sequence[str],
    positive: NDArray,
    aim: Aim,
    group_weights: Mapping[str, float] = GROUP_WEIGHTS,
) -> Choice:
    """Judge candidates of any kind by their out-of-fold scores, and average the best.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
        The higher, the more like a positive.
    groups : sequence of str
        The group of each candidate.
    positive : ndarray of bool of shape (n_samples,)
    aim : Aim
    group_weights : mapping of str to float
        How much each group counts.
    """
    evaluation = evaluate(scores, positive, aim.utility)
    places = rank(evaluation, groups, aim.threshold_free)
    parts = choose_parts(scores, groups, places, group_weights)
    together = combine(parts, [scores[part.candidate].reshape(-1) for part in parts])
    truth = np.tile(positive, scores.shape[1])
    calibration = fit_sigmoid(together, truth)
    p = calibration(together)
    threshold = best_threshold(p, aim.utility)
    score = float(observed_utility(p >= threshold, truth, aim.utility))
    return Choice(evaluation, places, parts, calibration, threshold, score)


def decide(
    scores: NDArray, tried: list[Branch], positive: NDArray, aim: Aim
) -> tuple[Choice, dict[str, NDArray]]:
    """Choose among metrics with readings; also a table of all that was tried."""
    candidates = list_candidates(tried)
    groups = [candidate.branch.group for candidate in candidates]
    choice = choose(scores, groups, positive, aim)
    weights = np.zeros(len(candidates))
    weights[[part.candidate for part in choice.parts]] = [part.weight for part in choice.parts]
    table = {
        "group": np.array(groups),
        "branch": np.array([candidate.branch.name for candidate in candidates]),
        "learner": np.array([repr(candidate.learner) for candidate in candidates]),
        "reading": np.array([str(candidate.reading) for candidate in candidates]),
        **choice.evaluation._asdict(),
        "rank_in_group": choice.places,
        "weight": weights,
    }
    return choice, table


def assemble(
    tried: list[Branch],
    choice: Choice,
    X: NDArray,
    labels: Labels,
    seed: int,
    rows: NDArray | None = None,
) -> Ensemble:
    """Fit on all examples the metrics that count; ``rows`` are their numbers, if not 0, 1, ..."""
    candidates = list_candidates(tried)
    chosen = sorted({candidates[part.candidate].metric for part in choice.parts})
    fitted = fit_neighborhoods(keep_learners(tried, chosen), X, labels, seed, X[:1])
    members = []
    for part in sorted(choice.parts, key=lambda part: -part.weight):
        own = candidates[part.candidate]
        name = f"{own.branch.name}, {own.learner!r}, {own.reading}"
        members.append(Member(name, chosen.index(own.metric), own.reading, part))
    rows = np.arange(len(X)) if rows is None else rows
    return Ensemble(members, [each for each, _ in fitted], choice.calibration, rows)
