"""The paper's way to use a metric: tuned by F1 on folds; the three nearest neighbors vote."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.classifier import MetricKNNClassifier
from raremetric.contenders.base import (
    Candidate,
    Contender,
    Folds,
    Tuned,
    check_arguments,
    draw_training_rows,
    resample,
)
from raremetric.learners.grid import (
    Fold,
    rare_f1,
    score_candidates,
    score_push_weights,
    vote_f1,
)
from raremetric.validation import check_labels, quiet_repeats

N_NEIGHBORS = 3
N_QUICK_CANDIDATES = 50
N_FINALISTS = 6  # candidates that successive halving tries on all folds
N_IML_CANDIDATES = 100
FRACTIONS = [float(fraction) for fraction in np.arange(0, 1.01, 0.05)]


class PreparedFold(NamedTuple):
    """One fold, resampled and standardized."""

    X: NDArray
    y: NDArray
    X_validation: NDArray
    y_validation: NDArray

    def for_learning(self) -> Fold:
        """The same fold for learners that share work between candidates."""
        labels = check_labels(self.y, "A fold")
        return Fold(self.X, labels, self.X_validation, self.y_validation)


@dataclass(frozen=True, kw_only=True)
class NeighborVote(Contender):
    """A transformer whose candidate with the best mean F1 over the folds is fitted on all rows.

    Parameters
    ----------
    learner : type
        Class of the transformer.
    propose : callable (split) -> list of Candidate, or None
        The candidates where no grid is given; None for the default parameters alone.
    step : int
        With a quick budget, every ``step``-th candidate is tried, by successive halving: after
        each fold, only the better half is tried on the next, but at least `N_FINALISTS`.
    """

    learner: type = field(compare=False)
    propose: Callable[[int], list[Candidate]] | None = field(default=None, compare=False)
    step: int = field(default=1, compare=False)

    has_neighbors: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = False

    def _check_settings(self) -> None:
        check_arguments(self.learner, self.settings, self.grid, self.name)

    def _default_candidates(self, split: int) -> list[Candidate]:
        tried = [Candidate("{}", {})] if self.propose is None else self.propose(split)
        return tried[: self.n_candidates]

    def _shorten(self, tried: list[Candidate]) -> list[Candidate]:
        return tried[:: self.step][:N_QUICK_CANDIDATES]

    def fit(
        self,
        candidates: Sequence[Candidate],
        X: NDArray,
        y: NDArray,
        *,
        folds: Folds,
        seed: int,
        resampling: str = "none",
        scoring: str = "f1",
        max_rows: int | None = None,
    ) -> Tuned:
        """Choose by the mean F1 over the folds; ties go to the last name.

        With more than ``max_rows`` rows, the metric is chosen and learned on those that are drawn.
        All rows vote, unless they are resampled: the vote has no threshold that could be
        corrected.
        """
        whole = X, y
        rows = draw_training_rows(y, max_rows, seed)
        if len(rows) < len(y):
            folds = [restrict_fold(fold, rows) for fold in folds]
            X, y = X[rows], y[rows]
        best, validation = candidates[0], {}
        if len(candidates) > 1:
            prepared = (_prepare(X, y, fold, resampling) for fold in folds)
            scores, finalists = self._validate(candidates, prepared, seed)
            best = candidates[winner(candidates, scores, finalists)]
            validation = {c.name: s for c, s in zip(candidates, scores, strict=True)}
        learner = self._make(best.params, seed)
        X, y = resample(X, y, resampling)
        if resampling == "none" and len(y) < len(whole[1]):
            learner = FrozenEstimator(learner.fit(StandardScaler().fit(whole[0]).transform(X), y))
            X, y = whole
        vote = MetricKNNClassifier(learner, N_NEIGHBORS)
        model = Pipeline([("scale", StandardScaler()), ("model", vote)]).fit(X, y)
        return Tuned(model, best.params, validation, len(candidates))

    def _validate(
        self, candidates: Sequence[Candidate], folds, seed: int
    ) -> tuple[list[float], NDArray]:
        """Mean F1 of each candidate over the folds it has seen, and those that saw all."""
        running = np.arange(len(candidates))
        scores: list[NDArray] = []
        for fold in folds:
            if scores and self.budget == "quick":
                running = _better_half(np.mean(scores, axis=0), running)
            found = np.full(len(candidates), np.nan)
            with quiet_repeats():
                found[running] = self._score([candidates[int(i)] for i in running], fold, seed)
            scores.append(found)
        return np.nanmean(scores, axis=0).tolist(), running

    def _score(self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int) -> list[float]:
        """F1 of each candidate on a fold."""
        labels, actual = check_labels(fold.y, "A fold"), fold.y_validation == 1
        scores = []
        for candidate in candidates:
            # Copies, because a user's class may change its arguments in place.
            learner = self._make(candidate.params, seed).fit(fold.X.copy(), fold.y.copy())
            mapped = (np.asarray(learner.transform(X.copy())) for X in (fold.X, fold.X_validation))
            train, validation = mapped
            scores.append(vote_f1(train, labels, validation, actual, N_NEIGHBORS, 1))
        return scores

    def _make(self, params: dict[str, Any], seed: int) -> Any:
        """The transformer with its settings; seeded, if it has an open random_state."""
        learner = self.learner(**self.settings).set_params(**params)
        if learner.get_params().get("random_state", 0) is None:
            learner.set_params(random_state=seed)
        return learner


@dataclass(frozen=True, kw_only=True)
class IMLVote(NeighborVote):
    """`NeighborVote` of IML, whose candidates share the pairs of a fold."""

    def _score(self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int) -> list[float]:
        fixed = {"random_state": seed, **self.settings}
        params = [{**fixed, **candidate.params} for candidate in candidates]
        shared = fold.for_learning()
        return [f1 for f1, _ in score_candidates(shared, params, rare_f1(1), N_NEIGHBORS)]


@dataclass(frozen=True, kw_only=True)
class LMNNVote(NeighborVote):
    """`NeighborVote` of LMNN, whose candidates share the target neighbors of a fold."""

    def _score(self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int) -> list[float]:
        params = [{**self.settings, **candidate.params} for candidate in candidates]
        return score_push_weights(fold.for_learning(), params, rare_f1(1), N_NEIGHBORS)


def restrict_fold(fold: tuple[NDArray, NDArray], rows: NDArray) -> tuple[NDArray, NDArray]:
    """The same fold when only some rows, which are sorted, are left."""
    train, validation = (np.flatnonzero(np.isin(rows, part)) for part in fold)
    return train, validation


def winner(candidates: Sequence[Candidate], scores: Sequence[float], among: Iterable[int]) -> int:
    """Position of the candidate with the highest score; ties go to the last name."""
    return int(max(among, key=lambda i: (scores[i], candidates[i].name)))


def _prepare(
    X: NDArray, y: NDArray, fold: tuple[NDArray, NDArray], resampling: str
) -> PreparedFold:
    """Resample the rows that are learned from, then standardize by them."""
    train, validation = fold
    X_train, y_train = resample(X[train], y[train], resampling)
    scaler = StandardScaler().fit(X_train)
    return PreparedFold(
        scaler.transform(X_train), y_train, scaler.transform(X[validation]), y[validation]
    )


def _better_half(means: NDArray, running: NDArray) -> NDArray:
    """The candidates that go on to the next fold."""
    kept = max(N_FINALISTS, (len(running) + 1) // 2)
    order = np.argsort(-means[running], kind="stable")
    return np.sort(running[order[:kept]])


# The candidates of the paper's methods, as the authors' program tries them.


def euclidean_candidates(split: int) -> list[Candidate]:
    """The plain distance has nothing to tune."""
    return [Candidate("{'None': None}", {})]


def lmnn_candidates(split: int) -> list[Candidate]:
    """The weight of the push term."""
    return [Candidate(str({"mu": mu}), {"push_weight": mu}) for mu in FRACTIONS]


def gmml_candidates(split: int) -> list[Candidate]:
    """The position t on the geodesic."""
    return [Candidate(str({"t": t}), {"t": t}) for t in FRACTIONS]


def itml_candidates(split: int) -> list[Candidate]:
    """The program's gamma divides the bounds: see the Notes of `ITML`."""
    gammas = [2.0**power if power < 0 else 2**power for power in range(-10, 11)]
    return [Candidate(str({"gamma": g}), {"bound_scale": 1 / g}) for g in gammas]


def iml_candidates(split: int) -> list[Candidate]:
    """The first hundred of the grid of 525, shuffled by the number of the split."""
    grid = [
        Candidate(
            str({"m": m, "Lambda": lam, "a": a}),
            {"margin": float(m), "regularization": float(lam), "similar_weight": min(a, 1.0)},
        )
        for m in (1, 10, 100, 1000, 10000)
        for lam in (0, 0.01, 0.1, 1, 10)
        for a in FRACTIONS
    ]
    random.Random(split).shuffle(grid)
    return grid[:N_IML_CANDIDATES]
