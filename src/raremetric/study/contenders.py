"""Learners that score and put a threshold, by their kind: ours, and the alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray
from scipy.special import expit
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from raremetric.learners.iml import IML
from raremetric.rare import RareClassifier
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.ensemble import Ensemble, fit_ensemble, select
from raremetric.rare.evaluation import out_of_fold_scores
from raremetric.study.alternatives import ALTERNATIVES, F1, N_CANDIDATES, tune
from raremetric.study.protocol import Candidate, candidates, grid_candidates
from raremetric.validation import check_labels

CONTENDERS = (*ALTERNATIVES, "IML-score", "RareClassifier")
IML_METRICS = 10  # drawn from the paper's grid, each with all readings


class Answer(NamedTuple):
    """What a learner says of the test part, and how it came to it."""

    called: NDArray  # 0 or 1 for each row
    scores: NDArray  # the higher, the more like a positive
    candidate: dict[str, Any]  # what was chosen
    validation: dict[str, float]  # name of a candidate -> its F1 out of fold


def contender_candidates(
    kind: str, grid: dict[str, list] | None, n_candidates: int | None, split: int
) -> list[Candidate]:
    """What a contender may choose from on a split; nothing for one that brings its own."""
    if kind == "RareClassifier":
        return []
    if grid is None and kind == "IML-score":
        return candidates("IML", split)[: n_candidates or IML_METRICS]
    if grid is None:
        grid, n_candidates = ALTERNATIVES[kind].grid, n_candidates or N_CANDIDATES
    return grid_candidates(grid, n_candidates, split)


def contend(
    kind: str,
    settings: dict[str, Any],
    tried: Sequence[Candidate],
    X: NDArray,
    y: NDArray,
    queries: NDArray,
    split: int,
) -> Answer:
    """Tune on (X, y), y being 0 or 1, and answer the queries; the folds are the same for all."""
    if kind == "RareClassifier":
        return _rare_classifier(settings, X, y, queries, split)
    seed = check_random_state(split).randint(2**31 - 1)  # as RareClassifier draws its own
    if kind == "IML-score":
        return _iml_scores(settings, tried, X, y, queries, seed)
    return _alternative(kind, settings, tried, X, y, queries, seed)


def _rare_classifier(
    settings: dict[str, Any], X: NDArray, y: NDArray, queries: NDArray, split: int
) -> Answer:
    model = RareClassifier(**settings, pos_label=1, random_state=split).fit(X, y)
    return Answer(
        model.predict(queries),
        model.decision_function(queries),
        _members(model.ensemble_, model.threshold_, model.n_repeats_),
        {"average": model.best_score_},
    )


def _iml_scores(
    settings: dict[str, Any],
    tried: Sequence[Candidate],
    X: NDArray,
    y: NDArray,
    queries: NDArray,
    seed: int,
) -> Answer:
    """The paper's metric alone in RareClassifier's machinery: readings, average, threshold."""
    steps = (StandardScaler(),)
    metrics = [
        MetricSpec("linear", "standard", steps, IML(**settings, **candidate.params))
        for candidate in tried
    ]
    labels = check_labels(y, "The training part")
    scores = out_of_fold_scores(metrics, X, labels, seed)
    groups = [metric.group for metric, _ in with_readings(metrics)]
    selection = select(scores, groups, y == 1, F1)
    ensemble = fit_ensemble(metrics, selection, X, labels, seed)
    log_odds = ensemble.log_odds(queries)
    called = expit(log_odds) >= selection.threshold
    chosen = _members(ensemble, selection.threshold, scores.shape[1])
    return Answer(called.astype(int), log_odds, chosen, {"average": selection.score})


def _alternative(
    kind: str,
    settings: dict[str, Any],
    tried: Sequence[Candidate],
    X: NDArray,
    y: NDArray,
    queries: NDArray,
    seed: int,
) -> Answer:
    params = [candidate.params for candidate in tried]
    tuned = tune(ALTERNATIVES[kind].score, params, X, y, queries, seed, **settings)
    selection = tuned.selection
    weights = {
        tried[number].printed: weight
        for number, weight in zip(selection.kept, selection.average.weights.tolist(), strict=True)
    }
    utilities = selection.evaluation.utility.tolist()
    return Answer(
        tuned.called.astype(int),
        tuned.log_odds,
        _chosen(weights, selection.threshold, tuned.n_repeats),
        {
            "average": selection.score,
            **{own.printed: utility for own, utility in zip(tried, utilities, strict=True)},
        },
    )


def _members(ensemble: Ensemble, threshold: float, repeats: int) -> dict[str, Any]:
    weights = {member.name: member.weight for member in ensemble.members}
    return _chosen(weights, threshold, repeats)


def _chosen(weights: dict[str, float], threshold: float, repeats: int) -> dict[str, Any]:
    return {
        "members": {name: round(weight, 6) for name, weight in weights.items()},
        "threshold": round(threshold, 6),
        "repeats": repeats,
    }
