"""IMLCV: the whole candidate grid at the price of a few fits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import check_random_state

from raremetric.classifier import MetricKNNClassifier
from raremetric.learners.base import MetricLearner
from raremetric.learners.iml import IML
from raremetric.losses.pair_sets import PairSetObjective
from raremetric.performance import one_blas_thread
from raremetric.validation import (
    Labels,
    check_integer,
    check_labels,
    check_weights,
    quiet_repeats,
)

PAPER_GRID = {
    "margin": [1.0, 10.0, 100.0, 1000.0, 10_000.0],
    "regularization": [0.0, 0.01, 0.1, 1.0, 10.0],
    "similar_weight": np.round(np.arange(0, 1.01, 0.05), 2).tolist(),
}
SHARED = ("margin", "similar_weight", "regularization")  # candidates differ in these at no cost


class Fold(NamedTuple):
    """One split of the data, ready for any candidate."""

    X: NDArray
    labels: Labels
    X_test: NDArray
    y_test: NDArray


class IMLCV(MetricLearner):
    """IML with its margin, similar_weight and regularization tuned by cross-validation.

    Every candidate is fitted on each training fold and judged by how well its nearest neighbors
    classify the rest. Candidates share what does not depend on them: folds, neighbors, pairs.

    Parameters
    ----------
    candidates : list of dict, dict of lists or None, default=None
        Settings of IML to try: given one by one; as a grid; or, None, the paper's grid of 525.
    n_candidates : int or None, default=100
        How many of a grid to draw at random; None takes all. A list is taken whole.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn: a number stands for that many stratified folds.
    scoring : str or callable, default="f1"
        What to maximise. "f1" is the F1 of the rarest class (a fast path); anything else is a
        scorer of scikit-learn.
    n_neighbors : int, default=3
        Number of neighbors that vote, and of pairs per example in the loss.
    halving : bool, default=False
        Race the candidates: after each fold only the better half goes on to the next. Several
        times faster; the others' scores are those of the folds they have seen.
    n_jobs : int or None, default=None
        Threads over the candidates. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the draw from the grid, and shuffled folds of a given number.
    verbose : int, default=0
        1 logs the progress, fold by fold, to the logger "raremetric".

    Attributes
    ----------
    best_params_ : dict
        The winning candidate; the first of equals.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its place in ``cv_results_``.
    cv_results_ : dict of arrays
        As in ``GridSearchCV``: params, the scores of each split, their mean, spread and rank.
    best_learner_ : IML
        The winner, fitted on all data.
    components_ : ndarray of shape (n_features, n_features)
        Its L.
    objective_ : float
        Its loss.
    n_iter_ : int
        Its iterations.
    classes_ : ndarray of shape (n_classes,)
        Class labels seen in ``fit``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from raremetric import IMLCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = IMLCV(n_candidates=10, random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> sorted(search.best_params_)
    ['margin', 'regularization', 'similar_weight']
    >>> bool(search.best_score_ > 0.9)
    True
    """

    def __init__(
        self,
        candidates=None,
        n_candidates=100,
        *,
        cv=5,
        scoring="f1",
        n_neighbors=3,
        halving=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.candidates = candidates
        self.n_candidates = n_candidates
        self.cv = cv
        self.scoring = scoring
        self.n_neighbors = n_neighbors
        self.halving = halving
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @one_blas_thread
    def fit(self, X, y) -> IMLCV:
        """Score every candidate, and fit the best on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardise them first.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : IMLCV
        """
        table = X
        X, labels = self._check_training_data(X, y)
        check_integer(self.n_neighbors, "n_neighbors", low=1)
        rng = check_random_state(self.random_state)
        candidates = self._draw_candidates(rng)
        y = labels.classes[labels.codes]
        score = self._scorer(labels)
        folds = [
            Fold(X[train], check_labels(y[train], "A fold of IMLCV"), X[test], y[test])
            for train, test in self._splits(X, y, rng)
        ]
        scores, seconds = self._race(folds, candidates, score)
        self._keep_results(candidates, scores, seconds)
        self.best_learner_ = IML(n_neighbors=self.n_neighbors, **self.best_params_).fit(table, y)
        self.classes_ = labels.classes
        for name in ("components_", "objective_", "n_iter_"):
            setattr(self, name, getattr(self.best_learner_, name))
        return self

    def _draw_candidates(self, rng: np.random.RandomState) -> list[dict]:
        grid = PAPER_GRID if self.candidates is None else self.candidates
        known = set(IML().get_params()) - {"n_neighbors", "warm_start", "n_jobs", "verbose"}
        chosen = list(ParameterGrid(grid)) if isinstance(grid, dict) else [dict(c) for c in grid]
        if not chosen:
            raise ValueError("candidates is empty: give at least one setting of IML to try.")
        for name in {name for candidate in chosen for name in candidate}:
            if name not in known:
                raise ValueError(
                    f"candidates hold {name!r}, which is no parameter that IMLCV can tune; "
                    f"allowed are {', '.join(sorted(known))}."
                )
        if isinstance(grid, dict) and self.n_candidates is not None:
            n_candidates = check_integer(self.n_candidates, "n_candidates", low=1)
            order = rng.permutation(len(chosen))[:n_candidates]
            chosen = [chosen[i] for i in order]
        return chosen

    def _splits(self, X: NDArray, y: NDArray, rng: np.random.RandomState) -> Iterable:
        splitter = check_cv(self.cv, y, classifier=True)
        if isinstance(self.cv, int):
            splitter.shuffle, splitter.random_state = True, rng
        return splitter.split(X, y)

    def _scorer(self, labels: Labels) -> Callable:
        if self.scoring == "f1":
            return rare_f1(labels.classes[np.argmin(labels.counts)])
        scorer = check_scoring(MetricKNNClassifier(), scoring=self.scoring)

        def score(learner: IML, fold: Fold, k: int) -> float:
            y = fold.labels.classes[fold.labels.codes]
            model = MetricKNNClassifier(FrozenEstimator(learner), k).fit(fold.X, y)
            return scorer(model, fold.X_test, fold.y_test)

        return score

    def _race(self, folds: Sequence[Fold], candidates: list[dict], score: Callable):
        """Scores and seconds, (n_candidates, n_folds); NaN where a candidate was out."""
        shape = (len(candidates), len(folds))
        scores, seconds = np.full(shape, np.nan), np.full(shape, np.nan)
        running = np.arange(len(candidates))
        report = self._reporter(self.verbose)
        for f, fold in enumerate(folds):
            results = score_candidates(
                fold, [candidates[i] for i in running], score, self.n_neighbors, self.n_jobs
            )
            scores[running, f], seconds[running, f] = np.transpose(results)
            means = scores[running, : f + 1].mean(axis=1)
            if report is not None:
                report(f + 1, float(means.max()))
            if self.halving and f + 1 < len(folds):
                best_first = np.argsort(-means, kind="stable")
                running = np.sort(running[best_first[: max(1, (len(running) + 1) // 2)]])
        return scores, seconds

    def _keep_results(self, candidates: list[dict], scores: NDArray, seconds: NDArray) -> None:
        complete = ~np.isnan(scores).any(axis=1)
        means = np.nanmean(scores, axis=1)
        # Candidates that left the race rank behind all that finished it.
        standing = np.where(complete, means, means - 1e6)
        names = sorted({name for candidate in candidates for name in candidate})
        self.cv_results_ = {
            "params": candidates,
            **{f"param_{name}": np.ma.masked_all(len(candidates), dtype=object) for name in names},
            **{f"split{f}_test_score": column for f, column in enumerate(scores.T)},
            "mean_test_score": means,
            "std_test_score": np.nanstd(scores, axis=1),
            "rank_test_score": rankdata(-standing, method="min").astype(np.int32),
            "mean_fit_time": np.nanmean(seconds, axis=1),
        }
        for i, candidate in enumerate(candidates):
            for name, value in candidate.items():
                self.cv_results_[f"param_{name}"][i] = value
        self.best_index_ = int(np.argmax(standing))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(means[self.best_index_])


def rare_f1(positive) -> Callable[[IML, Fold, int], float]:
    """A fast scorer: the F1 of one class among the votes of the nearest neighbors."""
    from raremetric.neighbors.votes import count_votes

    def score(learner: IML, fold: Fold, k: int) -> float:
        L, labels = learner.components_, fold.labels
        train, test = fold.X @ L.T, fold.X_test @ L.T
        votes = count_votes(train, labels.codes, len(labels.classes), test, min(k, len(train)))
        predicted = labels.classes[np.argmax(votes, axis=1)] == positive
        actual = fold.y_test == positive
        hits = np.sum(predicted & actual)
        wrong = np.sum(predicted != actual)
        return float(hits / (hits + wrong / 2)) if hits else 0.0

    return score


def score_candidates(
    fold: Fold, candidates: Sequence[dict], score: Callable, k: int, n_jobs: int | None = None
) -> list[tuple[float, float]]:
    """Score and seconds of each candidate on one fold, the fold's pairs being found once.

    Parameters
    ----------
    fold : Fold
    candidates : sequence of dict
        Settings of IML.
    score : callable (learner, fold, k) -> float
        The learner has its ``components_``.
    k : int
        Number of neighbors in the loss and in the vote.
    n_jobs : int or None
        Threads.
    """
    objectives: dict[str, PairSetObjective] = {}

    def objective_of(learner: IML, candidate: dict) -> PairSetObjective:
        key = repr(sorted((n, repr(v)) for n, v in candidate.items() if n not in SHARED))
        if key not in objectives:
            pairs = learner._select_pairs(fold.X, fold.labels)
            weights = check_weights(None, len(fold.X))
            objectives[key] = learner._objective(fold.X, fold.labels, *pairs, weights)
        return objectives[key].with_parameters(*(getattr(learner, name) for name in SHARED))

    def fit_and_score(learner: IML, objective: PairSetObjective) -> tuple[float, float]:
        start = time.perf_counter()
        L = learner._start(fold.X, objective)
        if learner.solver == "auto":
            solution = learner._descend(objective, L)  # nobody asks for the exact value
        else:
            solution = learner._solve(objective, L)
        learner.components_ = solution.L
        seconds = time.perf_counter() - start
        return score(learner, fold, k), seconds

    learners = [IML(n_neighbors=k, **candidate) for candidate in candidates]
    for learner in learners:
        learner._check_parameters()
    with quiet_repeats():
        return Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(fit_and_score)(learner, objective_of(learner, candidate))
            for learner, candidate in zip(learners, candidates, strict=True)
        )
