"""The paper's way to use a metric: tuned by F1 on folds; the three nearest neighbors vote."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from raremetric.classifier import MetricKNNClassifier
from raremetric.contenders.base import (
    Candidate,
    Contender,
    Tuned,
    TuningOptions,
    check_arguments,
    describe_params,
    make_learner,
    own_candidates,
)
from raremetric.contenders.resampling import resample
from raremetric.learners.lmnn import LMNN
from raremetric.neighbors.one_sided import map_rows, prepare_search
from raremetric.validation import check_labels, quiet_constants, quiet_repeats
from raremetric.voting.grid import (
    Fold,
    rare_f1,
    score_candidates,
    vote_f1,
)

N_NEIGHBORS = 3  # that vote
N_IML_CANDIDATES = 100
FRACTIONS = [float(fraction) for fraction in np.arange(0, 1.01, 0.05)]


@dataclass(frozen=True, kw_only=True)
class NeighborVote(Contender):
    """A transformer whose candidate with the best mean F1 over the folds is fitted on all rows.

    Parameters
    ----------
    learner : type
        Class of the transformer.
    propose : callable (split) -> list of Candidate, or None
        The candidates where no grid is given; None for `own_candidates`.
    """

    learner: type = field(compare=False)
    propose: Callable[[int], list[Candidate]] | None = field(default=None, compare=False)

    has_neighbors: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = False

    def _check_settings(self) -> None:
        check_arguments(self.learner, self.settings, self.grid, self.name)

    def _default_candidates(self, split: int) -> list[Candidate]:
        propose = self.propose or partial(own_candidates, self.learner)
        return propose(split)[: self.n_candidates]

    def _fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        """Choose by the mean F1 over the given folds; ties go to the last name."""
        seed, resampling, best, validation = how.seed, how.resampling, candidates[0], {}
        if len(candidates) > 1:
            known, found = how.queries is not None, []
            for fold in how.folds or []:
                prepared = prepare_fold(X, y, fold, resampling, transductive=known)
                with quiet_repeats():
                    found.append(self._score(candidates, prepared, seed))
            scores = np.mean(found, axis=0).tolist()
            best = candidates[winner(candidates, scores)]
            validation = {c.name: s for c, s in zip(candidates, scores, strict=True)}
        learner = self.make(best.params, seed)
        X, y = resample(X, y, resampling)
        if is_transductive(learner):
            learner = learn_first(learner, X, y, how.queries)
        vote = MetricKNNClassifier(learner, N_NEIGHBORS)
        model = Pipeline([("scale", StandardScaler()), ("model", vote)]).fit(X, y)
        words = describe_params(best.params)
        return Tuned(model, best.params, validation, len(candidates), words=words)

    def _score(self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int) -> list[float]:
        """F1 of each candidate on a fold, of the vote of the neighbors under its metric."""
        labels, actual = check_labels(fold.y, "A fold"), fold.y_validation == 1
        learners = [self.make(candidate.params, seed) for candidate in candidates]
        self.fit_all(learners, fold)
        found = [nearest_voters(each, fold.X, fold.y, fold.X_validation) for each in learners]
        return [vote_f1(nearest, labels, actual, 1) for nearest in found]

    def fit_all(self, learners: Sequence[Any], fold: PreparedFold) -> None:
        """Fit each of the candidates on a fold."""
        for learner in learners:
            # Copies, because a user's class may change its arguments in place.
            fit_learner(learner, fold.X.copy(), fold.y.copy(), fold.queries)

    def make(self, params: dict[str, Any], seed: int) -> Any:
        """The transformer with its settings."""
        return make_learner(self.learner, {**self.settings, **params}, seed)


@dataclass(frozen=True, kw_only=True)
class IMLVote(NeighborVote):
    """`NeighborVote` of IML, whose candidates share the pairs of a fold."""

    def _score(self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int) -> list[float]:
        fixed = {"random_state": seed, **self.settings}
        params = [{**fixed, **candidate.params} for candidate in candidates]
        found = score_candidates(fold.for_learning(), params, rare_f1(1), N_NEIGHBORS)
        return [score for score, _ in found]


@dataclass(frozen=True, kw_only=True)
class LMNNVote(NeighborVote):
    """`NeighborVote` of LMNN, whose candidates share the target neighbors of a fold."""

    def fit_all(self, learners: Sequence[Any], fold: PreparedFold) -> None:
        """See `NeighborVote.fit_all`."""
        LMNN.fit_settings(learners, fold.X, fold.y)


def winner(candidates: Sequence[Candidate], scores: Sequence[float]) -> int:
    """Position of the candidate with the highest score; ties go to the last name."""
    return int(max(range(len(scores)), key=lambda i: (scores[i], candidates[i].name)))


class PreparedFold(NamedTuple):
    """One fold, resampled and standardized."""

    X: NDArray
    y: NDArray
    X_validation: NDArray
    y_validation: NDArray
    queries: NDArray | None = None  # the rows to validate on, for methods that may look at them

    def for_learning(self) -> Fold:
        """The same fold for learners that share work between candidates."""
        labels = check_labels(self.y, "A fold")
        return Fold(self.X, labels, self.X_validation, self.y_validation)


def nearest_voters(
    learner: Any, voters: NDArray, y: NDArray, queries: NDArray
) -> NDArray[np.int64]:
    """The numbers of the rows that vote on each query, under the metric of a fitted learner."""
    # Copies, because a user's class may change its arguments in place.
    Z, mapped = (map_rows(learner, X.copy()) for X in (voters, queries))
    search = prepare_search(learner, Z, check_labels(y, "A fold"))
    return search.nearest(mapped, min(N_NEIGHBORS, len(voters))).indices


def is_transductive(learner: Any) -> bool:
    """Whether ``fit`` has a parameter for the features of the rows to be classified."""
    return has_fit_parameter(learner, "queries")


def fit_learner(learner: Any, X: NDArray, y: NDArray, queries: NDArray | None) -> Any:
    """Fit a learner; the queries are for those whose ``fit`` has such a parameter."""
    return learner.fit(X, y, queries=queries) if is_transductive(learner) else learner.fit(X, y)


def learn_first(learner: Any, X: NDArray, y: NDArray, queries: NDArray | None) -> FrozenEstimator:
    """Fit a transductive learner before a vote, on rows that are scaled as those that vote."""
    with quiet_constants():
        scaler = StandardScaler().fit(X)
    scaled = None if queries is None else scaler.transform(queries)
    return FrozenEstimator(fit_learner(learner, scaler.transform(X), y, scaled))


def prepare_fold(
    X: NDArray,
    y: NDArray,
    fold: tuple[NDArray, NDArray],
    resampling: str = "none",
    *,
    transductive: bool = False,
) -> PreparedFold:
    """Resample the rows that are learned from, then standardize by them.

    If ``transductive``, methods may look at the features of the rows to validate on.
    """
    train, validation = fold
    X_train, y_train = resample(X[train], y[train], resampling)
    with quiet_constants():
        scaler = StandardScaler().fit(X_train)
    X_validation = scaler.transform(X[validation])
    queries = X_validation if transductive else None
    return PreparedFold(scaler.transform(X_train), y_train, X_validation, y[validation], queries)


# Candidates where no grid is given, as the authors of IML tried them.


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


def mlfp_candidates(split: int) -> list[Candidate]:
    """Margins and regularizations between 0 and 1, the ranges of its authors' program."""
    return [
        Candidate(str({"s": margin, "mu": mu}), {"margin": margin, "regularization": mu})
        for margin in (0.0, 0.25, 0.5, 0.75, 1.0)
        for mu in (0.001, 0.01, 0.1, 1.0)
    ]


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
