"""The paper's way to use a metric: tuned by F1 on folds; the three nearest neighbors vote."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
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
)
from raremetric.contenders.resampling import resample
from raremetric.contenders.vote_folds import (
    N_FINALISTS,
    N_NEIGHBORS,
    PreparedFold,
    Read,
    fit_learner,
    is_transductive,
    learn_first,
    nearest_voters,
    prepare_fold,
)
from raremetric.contenders.vote_threshold import tune_threshold
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.grid import (
    Score,
    nearest_under,
    score_candidates,
    score_push_weights,
    vote_f1,
)
from raremetric.selection import draw_rows, restrict_fold
from raremetric.validation import check_labels, quiet_repeats

N_QUICK_CANDIDATES = 16
MAX_ROWS = 20_000  # learned from by default: the time of each candidate grows with their square
MAX_FEATURES = 300  # selected by default: the time of an iteration grows with their cube
N_IML_CANDIDATES = 100
FRACTIONS = [float(fraction) for fraction in np.arange(0, 1.01, 0.05)]
QUICK_TOL = 1e-3  # of IML while candidates are compared: about twice as fast as its default


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
    default_max_samples: int | None = field(default=MAX_ROWS, compare=False)
    default_max_features: int | None = field(default=MAX_FEATURES, compare=False)

    has_neighbors: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = False
    decides_by: ClassVar[str] = f"share of the votes of {N_NEIGHBORS} neighbors"

    def _check_settings(self) -> None:
        check_arguments(self.learner, self.settings, self.grid, self.name)

    def _default_candidates(self, split: int) -> list[Candidate]:
        tried = [Candidate("{}", {})] if self.propose is None else self.propose(split)
        return tried[: self.n_candidates]

    def _shorten(self, tried: list[Candidate]) -> list[Candidate]:
        return tried[:: self.step][:N_QUICK_CANDIDATES]

    def _fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        return tune_threshold(self, candidates, X, y, how)

    def _fit_for_study(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        """Choose by the mean F1 over the folds; ties go to the last name.

        With more than ``max_samples`` rows, the metric is chosen and learned on those that are
        drawn. All rows vote, unless they are resampled.
        """
        seed, resampling, folds = how.seed, how.resampling, how.folds or []
        whole = X, y
        rows = draw_rows(y == 1, how.max_samples, seed)
        if len(rows) < len(y):
            folds = [restrict_fold(fold, rows) for fold in folds]
            X, y = X[rows], y[rows]
        best, validation = candidates[0], {}
        if len(candidates) > 1:
            known = how.queries is not None
            prepared = (prepare_fold(X, y, fold, resampling, transductive=known) for fold in folds)
            scores, finalists = self._validate(candidates, prepared, seed)
            best = candidates[winner(candidates, scores, finalists)]
            validation = {c.name: s for c, s in zip(candidates, scores, strict=True)}
        learner = self.make(best.params, seed)
        X, y = resample(X, y, resampling)
        voters = whole if resampling == "none" else (X, y)
        if len(y) < len(voters[1]) or is_transductive(learner):
            learner = learn_first(learner, X, y, voters[0], how.queries)
            X, y = voters
        vote = MetricKNNClassifier(learner, N_NEIGHBORS)
        model = Pipeline([("scale", StandardScaler()), ("model", vote)]).fit(X, y)
        words = describe_params(best.params)
        return Tuned(model, best.params, validation, len(candidates), words=words)

    def _validate(
        self, candidates: Sequence[Candidate], folds, seed: int
    ) -> tuple[list[float], NDArray]:
        """Mean F1 of each candidate over the folds it has seen, and those that saw all."""
        running = np.arange(len(candidates))
        scores: list[NDArray] = []
        for fold in folds:
            if scores and self.budget == "quick":
                running = better_half(np.mean(scores, axis=0), running)
            found = np.full(len(candidates), np.nan)
            with quiet_repeats():
                found[running] = self._score([candidates[int(i)] for i in running], fold, seed)
            scores.append(found)
        return np.nanmean(scores, axis=0).tolist(), running

    def _score(self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int) -> list[float]:
        """F1 of each candidate on a fold."""
        labels, actual = check_labels(fold.y, "A fold"), fold.y_validation == 1

        def f1(nearest: NDArray) -> float:
            return vote_f1(nearest, labels, actual, 1)

        return self.judge(candidates, fold, seed, f1)

    def judge(
        self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int, read: Read
    ) -> list[Any]:
        """Fit each candidate on a fold, and read the neighbors under its metric.

        Parameters
        ----------
        candidates : sequence of Candidate
        fold : PreparedFold
        seed : int
        read : callable nearest -> anything
            Its argument has the numbers of the neighbors of each row to validate on.
        """
        found = []
        for candidate in candidates:
            # Copies, because a user's class may change its arguments in place.
            learner = self.make(candidate.params, seed)
            fit_learner(learner, fold.X.copy(), fold.y.copy(), fold.queries, fold.weights)
            found.append(read(nearest_voters(learner, fold.X, fold.y, fold.X_validation)))
        return found

    @property
    def ignores_weights(self) -> str:
        """Whether the metric is learned without weights."""
        if self.learner is Euclidean or has_fit_parameter(self.make({}, 0), "sample_weight"):
            return ""
        return (
            f"{self.title} cannot take weights: its metric is learned without them; only the votes "
            "of the neighbors, the threshold and the measures are weighted."
        )

    @property
    def looks_at_queries(self) -> str:
        """Whether the metric is learned for the rows to be classified."""
        if not is_transductive(self.make({}, 0)):
            return ""
        return (
            f"{self.title} looks at the features of the rows to be classified, but not at their "
            "labels, when it learns its metric: it is transductive."
        )

    def make(self, params: dict[str, Any], seed: int) -> Any:
        """The transformer with its settings; seeded, if it has an open random_state."""
        learner = self.learner(**self.settings).set_params(**params)
        if learner.get_params().get("random_state", 0) is None:
            learner.set_params(random_state=seed)
        return learner


@dataclass(frozen=True, kw_only=True)
class IMLVote(NeighborVote):
    """`NeighborVote` of IML, whose candidates share the pairs of a fold.

    With a quick budget, candidates are compared at the tolerance `QUICK_TOL`; the chosen one is
    fitted with the default.
    """

    def judge(
        self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int, read: Read
    ) -> list[Any]:
        """See `NeighborVote.judge`."""
        fixed = {"random_state": seed, **self.settings}
        if self.budget == "quick":
            fixed = {"tol": QUICK_TOL, **fixed}
        params = [{**fixed, **candidate.params} for candidate in candidates]
        found = score_candidates(fold.for_learning(), params, _score_by(read), N_NEIGHBORS)
        return [value for value, _ in found]


@dataclass(frozen=True, kw_only=True)
class LMNNVote(NeighborVote):
    """`NeighborVote` of LMNN, whose candidates share the target neighbors of a fold."""

    def judge(
        self, candidates: Sequence[Candidate], fold: PreparedFold, seed: int, read: Read
    ) -> list[Any]:
        """See `NeighborVote.judge`."""
        params = [{**self.settings, **candidate.params} for candidate in candidates]
        return score_push_weights(fold.for_learning(), params, _score_by(read), N_NEIGHBORS)


def _score_by(read: Read) -> Score:
    """A reading of neighbors as a score of the components of a metric."""
    return lambda L, fold, k: read(nearest_under(L, fold, k))


def winner(candidates: Sequence[Candidate], scores: Sequence[float], among: Iterable[int]) -> int:
    """Position of the candidate with the highest score; ties go to the last name."""
    return int(max(among, key=lambda i: (scores[i], candidates[i].name)))


def better_half(means: NDArray, running: NDArray) -> NDArray:
    """The candidates that go on to the next fold."""
    kept = max(N_FINALISTS, (len(running) + 1) // 2)
    order = np.argsort(-means[running], kind="stable")
    return np.sort(running[order[:kept]])


# Candidates where no grid is given, as the authors of IML tried them.


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
