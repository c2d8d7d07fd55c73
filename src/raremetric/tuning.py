"""IMLCV: IML tuned by cross-validation, many times faster than a generic grid search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state

from raremetric.classifier import MetricKNNClassifier
from raremetric.learners.base import MetricLearner
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML
from raremetric.pairs import check_max_samples
from raremetric.performance import one_blas_thread
from raremetric.selection import TrainingData, shuffled_folds, stratified_folds
from raremetric.validation import Labels, check_integer, check_labels, take_rows
from raremetric.voting.grid import (
    OF_DISTANCES,
    Fold,
    Score,
    distance_score,
    rare_f1,
    score_candidates,
)

PAPER_GRID = {
    "margin": [1.0, 10.0, 100.0, 1000.0, 10_000.0],
    "regularization": [0.0, 0.01, 0.1, 1.0, 10.0],
    "similar_weight": np.round(np.arange(0, 1.01, 0.05), 2).tolist(),
}


class IMLCV(MetricLearner):
    """IML with its margin, similar_weight and regularization tuned by cross-validation.

    The score of a candidate is that of the nearest neighbors under its metric on the test folds.
    Whatever does not depend on the candidate (folds, neighbors, pairs) is computed once.

    Parameters
    ----------
    candidates : list of dict, dict of lists or None, default=None
        Parameters of IML to try: a list of settings, or a grid. None is the paper's grid of 525.
    n_candidates : int or None, default=100
        How many settings to draw at random from a grid; None takes all. All settings of a list are
        tried.
    cv : int, splitter or iterable, default=5
        Folds, as in scikit-learn. A number is the number of stratified, shuffled folds, in which
        copies of a row are together: see the notes of :class:`RareClassifier`.
    scoring : str, callable or array of shape (2, 2), default="auto"
        What to maximize. "f1" is the F1 of the rarest class by the majority vote. "neg_log_loss",
        "average_precision" and what else :class:`RareClassifier` maximizes, such as "f2" or costs,
        are those of the score of the distances to the classes. "auto" is "average_precision" for
        the learner of a :class:`MetricKNNClassifier` with ``vote="score"``, and otherwise "f1". Any
        other scorer of scikit-learn is for the majority vote; as there, "precision" and "recall"
        are about the class 1, and ``make_scorer(recall_score, pos_label=...)`` about another one.
    n_neighbors : int, default=3
        Number of neighbors that vote, and of pairs per example in the loss.
    halving : bool, default=False
        Successive halving: after each fold only the better half of the candidates is tried on the
        next one. The score of a dropped candidate is the mean over the folds it was tried on.
    max_samples : int or None, default=20_000
        If there are more examples, the loss consists of the pairs of this many of them, as in
        :class:`IML`. None takes all.
    n_jobs : int or None, default=None
        Threads over the candidates. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        For the draw from the grid, for the folds if ``cv`` is a number, and for the draw of
        anchors if there are more than ``max_samples`` examples.

    Attributes
    ----------
    best_params_ : dict
        The candidate with the best mean score; ties go to the first one.
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its index in ``cv_results_``.
    cv_results_ : dict of arrays
        As in ``GridSearchCV``: the parameters, the scores on each split, their mean, standard
        deviation and rank.
    best_learner_ : IML
        The best candidate, fitted on all data.
    components_ : ndarray of shape (n_features, n_features)
        Its L.
    objective_ : float
        Its loss.
    n_iter_ : int
        Its number of iterations.
    classes_, n_features_in_, feature_names_in_ : ndarray, int, ndarray
        Class labels, number of features and, if ``X`` has string column names, their names.

    Notes
    -----
    **Weights.** An example of weight 0 is left out before the folds are made. Otherwise the weight
    multiplies the pairs of which the example is the anchor, as in :class:`IML`; its vote; and the
    example in the score on the test fold. A scorer other than "f1" receives ``sample_weight``.

    See Also
    --------
    IML : The learner with fixed parameters.
    RareClassifier : Tunes several metrics and decides by an average of them.

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
        scoring="auto",
        n_neighbors=3,
        halving=False,
        max_samples=20_000,
        n_jobs=None,
        random_state=None,
    ):
        self.candidates = candidates
        self.n_candidates = n_candidates
        self.cv = cv
        self.scoring = scoring
        self.n_neighbors = n_neighbors
        self.halving = halving
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    @one_blas_thread
    def fit(self, X, y, sample_weight=None, *, groups=None) -> IMLCV:
        """Score every candidate, and fit the best on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training examples; standardize them first.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the examples, see the notes.
        groups : array-like of shape (n_samples,) or None, default=None
            The group of each example, such as a customer, for ``cv``. If ``cv`` is a number,
            examples of one group are in the same fold. Groups with copies of the same row are one.

        Returns
        -------
        self : IMLCV
        """
        table, owner = X, type(self).__name__
        X, labels = self._check_training_data(X, y)
        table = table if hasattr(table, "columns") else X  # IML checks column names
        cv = 5 if self.cv is None else self.cv  # scikit-learn's default
        y = labels.classes[labels.codes]
        data = TrainingData.of(X, y, sample_weight, groups, cv, owner)
        check_integer(self.n_neighbors, "n_neighbors", low=1)
        check_max_samples(self.max_samples)
        rng = check_random_state(self.random_state)
        candidates = self._draw_candidates(rng)
        score = self._scorer(data.labels)
        folds = _make_folds(data, rng)
        shared = {"max_samples": self.max_samples}
        if self.max_samples is not None and len(data.X) > self.max_samples:
            shared["random_state"] = int(rng.randint(np.iinfo(np.int32).max))
        scores, seconds = self._score_folds(folds, [shared | each for each in candidates], score)
        self._keep_results(candidates, scores, seconds)
        best = IML(n_neighbors=self.n_neighbors, **(shared | self.best_params_))
        kept = data.row_numbers
        table, y = (table, y) if len(kept) == len(y) else (take_rows(table, kept), y[kept])
        self.best_learner_ = best.fit(table, y, sample_weight=data.weights)
        self.classes_ = data.labels.classes
        for name in ("components_", "objective_", "n_iter_"):
            setattr(self, name, getattr(self.best_learner_, name))
        return self

    def _draw_candidates(self, rng: np.random.RandomState) -> list[dict]:
        grid = PAPER_GRID if self.candidates is None else self.candidates
        known = set(IML().get_params()) - {"n_neighbors", "n_jobs"}
        is_list = isinstance(grid, Sequence) and all(isinstance(each, dict) for each in grid)
        if not isinstance(grid, dict) and not is_list:
            raise TypeError(
                "candidates must be a list of dicts with parameters of IML, or a dict with a list "
                f"of values for each parameter; got {grid!r}."
            )
        chosen = list(ParameterGrid(grid)) if isinstance(grid, dict) else [dict(c) for c in grid]
        if not chosen:
            raise ValueError("candidates is empty: give at least one setting of IML to try.")
        for name in {name for candidate in chosen for name in candidate}:
            if name not in known:
                raise ValueError(
                    f"candidates contain {name!r}, which is not a parameter that IMLCV can tune; "
                    f"allowed are {', '.join(sorted(known))}."
                )
        if isinstance(grid, dict) and self.n_candidates is not None:
            n_candidates = check_integer(self.n_candidates, "n_candidates", low=1)
            order = rng.permutation(len(chosen))[:n_candidates]
            chosen = [chosen[i] for i in order]
        return chosen

    def _scorer(self, labels: Labels) -> Score:
        positive = labels.classes[np.argmin(labels.counts)]
        if isinstance(self.scoring, str) and self.scoring in ("auto", "f1"):
            return rare_f1(positive)
        of_sklearn = {*get_scorer_names()} - {*OF_DISTANCES}
        if not callable(self.scoring) and str(self.scoring) not in of_sklearn:
            return distance_score(positive, self.scoring)
        scorer = check_scoring(MetricKNNClassifier(), scoring=self.scoring)

        def score(L: NDArray, fold: Fold, k: int) -> float:
            y = fold.labels.classes[fold.labels.codes]
            model = MetricKNNClassifier(Euclidean(), k).fit(fold.X @ L.T, y, fold.weights)
            weights = {} if fold.weights_test is None else {"sample_weight": fold.weights_test}
            return scorer(model, fold.X_test @ L.T, fold.y_test, **weights)

        return score

    def _score_folds(self, folds: Sequence[Fold], candidates: list[dict], score: Callable):
        """Scores and seconds, (n_candidates, n_folds); NaN where a candidate was not tried."""
        shape = (len(candidates), len(folds))
        scores, seconds = np.full(shape, np.nan), np.full(shape, np.nan)
        running = np.arange(len(candidates))
        for f, fold in enumerate(folds):
            results = score_candidates(
                fold, [candidates[i] for i in running], score, self.n_neighbors, self.n_jobs
            )
            scores[running, f], seconds[running, f] = np.transpose(results)
            means = scores[running, : f + 1].mean(axis=1)
            if self.halving and f + 1 < len(folds):
                best_first = np.argsort(-means, kind="stable")
                running = np.sort(running[best_first[: max(1, (len(running) + 1) // 2)]])
        return scores, seconds

    def _keep_results(self, candidates: list[dict], scores: NDArray, seconds: NDArray) -> None:
        complete = ~np.isnan(scores).any(axis=1)
        means = np.nanmean(scores, axis=1)
        # Candidates that were dropped rank behind all that were tried on every fold.
        standing = np.where(complete, means, means - 1e6)
        names = sorted({name for candidate in candidates for name in candidate})
        params = {
            f"param_{name}": np.ma.masked_all(len(candidates), dtype=object) for name in names
        }
        for i, candidate in enumerate(candidates):
            for name, value in candidate.items():
                params[f"param_{name}"][i] = value
        self.cv_results_ = {
            "params": candidates,
            **params,
            **{f"split{f}_test_score": column for f, column in enumerate(scores.T)},
            "mean_test_score": means,
            "std_test_score": np.nanstd(scores, axis=1),
            "rank_test_score": rankdata(-standing, method="min").astype(np.int32),
            "mean_fit_time": np.nanmean(seconds, axis=1),
        }
        self.best_index_ = int(np.argmax(standing))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(means[self.best_index_])


def _make_folds(data: TrainingData, rng: np.random.RandomState) -> list[Fold]:
    """Training and test parts, of stratified folds or of those that are given."""
    y, weights, folds = data.labels.classes[data.labels.codes], data.weights, data.cv
    if isinstance(folds, int):
        if (
            data.groups is None and data.has_copies
        ):  # the rarest class may have fewer different rows
            folds = stratified_folds(data.labels, folds, rng, copies=data.copies)
        else:
            folds = shuffled_folds(y, folds, rng, data.groups, data.copies)
    made = []
    for train, test in folds:
        own = (None, None) if weights is None else (weights[train], weights[test])
        labels = check_labels(y[train], "A fold of IMLCV")
        made.append(Fold(data.X[train], labels, data.X[test], y[test], *own))
    return made
