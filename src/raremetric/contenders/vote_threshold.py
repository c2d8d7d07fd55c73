"""A vote of neighbors with a threshold: the share of votes from which a row is positive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.classifier import MetricKNNClassifier
from raremetric.contenders.base import (
    Candidate,
    Tuned,
    TuningOptions,
    draw_training_rows,
)
from raremetric.contenders.resampling import resample
from raremetric.contenders.share_threshold import drawn_threshold, vote_threshold
from raremetric.contenders.vote_folds import (
    N_FINALISTS,
    N_NEIGHBORS,
    PreparedFold,
    fit_learner,
    is_transductive,
    learn_first,
    prepare_fold,
)
from raremetric.neighbors import NeighborSearch
from raremetric.performance import Progress
from raremetric.rare.tuning_set import (
    Folds,
    TuningSet,
    make_folds,
    make_tuning_set,
    split_into_repeats,
)
from raremetric.validation import check_labels, quiet_constants, quiet_repeats
from raremetric.voting import (
    check_aim,
    evaluate,
    rank,
)

MAX_JUDGED = 100_000  # rows that a threshold is chosen on: a search among all rows for each one


class VoteClassifier(MetricKNNClassifier):
    """Predicts class 1 where its share of the votes of the nearest neighbors reaches a threshold.

    Parameters
    ----------
    learner, n_neighbors
        See `MetricKNNClassifier`.
    threshold : float, default=0.5

    Attributes
    ----------
    threshold_ : float
        The threshold.
    """

    def __init__(self, learner=None, n_neighbors=3, *, threshold=0.5):
        super().__init__(learner, n_neighbors)
        self.threshold = threshold

    def fit(self, X, y, sample_weight=None, **fit_params) -> VoteClassifier:
        """Learn the metric and keep the examples; y holds 0 and 1.

        Parameters
        ----------
        X, y, sample_weight, **fit_params
            See `MetricKNNClassifier.fit`.
        """
        super().fit(X, y, sample_weight, **fit_params)
        self.threshold_ = self.threshold
        return self

    def predict(self, X) -> NDArray:
        """Class 1 where its share of the votes reaches the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return self.classes_[(self.predict_proba(X)[:, 1] >= self.threshold_).astype(np.int64)]

    def proba_and_kneighbors(self, X) -> tuple[NDArray, NDArray, NDArray]:
        """What ``predict_proba`` and ``kneighbors`` return, with one search for both.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, 2)
        distances, indices : ndarray of shape (n_samples, n_neighbors_)
        """
        labels, weights = self._examples.labels, self._examples.weights
        (near,) = self._examples.nearest(self._map_queries(X), self.n_neighbors_)
        p = np.average(
            labels.codes[near.indices],
            axis=1,
            weights=None if weights is None else weights[near.indices],
        )
        return np.column_stack([1 - p, p]), near.distances, self._row_numbers[near.indices]


def tune_threshold(
    contender: Any,
    candidates: Sequence[Candidate],
    X: NDArray,
    y: NDArray,
    how: TuningOptions,
    max_judged: int = MAX_JUDGED,
) -> Tuned:
    """Choose a metric and the threshold of its vote by the shares of votes outside of folds.

    The candidates are ranked as those of `RareClassifier`, but only the best is kept. With more
    than ``max_samples`` rows, candidates are judged and the metric is learned on those that are
    drawn; the threshold is chosen with the votes of all rows, which also vote in the end, for at
    most ``max_judged`` rows, or ``max_samples`` if these are more.

    Parameters
    ----------
    contender : NeighborVote
    candidates, X, y, how
        See `Contender.fit`.
    max_judged : int, default=100_000
    """
    tuned = make_tuning_set(
        X,
        check_labels(y, contender.name),
        scoring=how.scoring,
        max_samples=how.max_samples,
        random_state=how.seed,
        thorough=False,
        cv=how.folds or None,
        weights=how.weights,
        owner=contender.name,
    )
    all_vote = len(tuned.rows) < len(y) and how.resampling == "none"
    sizes = halved_sizes(len(candidates), len(tuned.repeats[0]), contender.budget == "quick")
    if all_vote and len(candidates) == 1:
        sizes = []  # there is nothing to choose, and the threshold is chosen below
    folds = whole_folds(y, tuned.seed, how.folds) if all_vote else tuned.repeats[0]
    on_step = Progress(how.on_progress, sum(sizes) + len(folds) * all_vote + 1)
    with quiet_repeats():
        scores = out_of_fold_shares(contender, candidates, tuned, how, sizes, on_step)
        best, utilities = choose(candidates, tuned, scores) if sizes else (0, {})
        learner = contender.make(candidates[best].params, how.seed)
        if all_vote:
            n_judged = max(max_judged, len(tuned.rows))
            judged = draw_training_rows(y, n_judged, tuned.seed)
            shares = shares_of_all(learner, X, y, tuned.rows, judged, folds, how, on_step)
            found = drawn_threshold(shares, y, judged, check_aim(how.scoring), how.weights)
        else:
            positive = tuned.labels.codes == 1
            found = vote_threshold(scores[best], positive, tuned.aim, tuned.weights)
        with quiet_constants():
            model = fit_vote(learner, X, y, tuned, how, found.threshold, all_vote)
    on_step()
    return Tuned(model, candidates[best].params, utilities, len(candidates), found.quality)


def halved_sizes(n_candidates: int, n_folds: int, halving: bool) -> list[int]:
    """How many candidates are tried on each fold."""
    sizes = [n_candidates]
    for _ in range(n_folds - 1):
        half = max(N_FINALISTS, (sizes[-1] + 1) // 2)
        sizes.append(min(sizes[-1], half) if halving else n_candidates)
    return sizes


def out_of_fold_shares(
    contender: Any,
    candidates: Sequence[Candidate],
    tuned: TuningSet,
    how: TuningOptions,
    sizes: Sequence[int],
    on_step: Progress,
) -> NDArray[np.float64]:
    """Share of the votes for class 1 of each candidate and example; NaN where it was not tried."""
    y, seen = tuned.labels.codes, np.zeros(0, dtype=np.int64)
    scores, running = np.full((len(candidates), len(y)), np.nan), np.arange(len(candidates))
    for size, fold in zip(sizes, tuned.repeats[0], strict=False):
        if size < len(running) and len(np.unique(y[seen])) == 2:
            ranks, _ = rank_candidates(scores[running], seen, tuned)
            running = running[ranks <= size]
        known = how.queries is not None
        prepared = prepare_fold(tuned.X, y, fold, how.resampling, tuned.weights, transductive=known)

        def read(train: NDArray, validation: NDArray, own: PreparedFold = prepared) -> NDArray:
            return positive_shares(train, own.y == 1, validation, own.weights)

        tried = [candidates[int(i)] for i in running]
        scores[np.ix_(running, fold[1])] = contender.judge(tried, prepared, how.seed, read)
        seen = np.concatenate([seen, fold[1]])
        on_step(len(running))
    return scores


def rank_candidates(
    scores: NDArray, rows: NDArray, tuned: TuningSet
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank of each candidate by its scores of some examples, and its utility."""
    weights = None if tuned.weights is None else tuned.weights[rows]
    positive = tuned.labels.codes[rows] == 1
    found = evaluate(scores[:, np.newaxis, rows], positive, tuned.aim, weights)
    return rank(found, [""] * len(scores), tuned.aim.measures), found.utility


def choose(
    candidates: Sequence[Candidate], tuned: TuningSet, scores: NDArray
) -> tuple[int, dict[str, float]]:
    """The best of the candidates that were tried on all folds, and the utility of each of them."""
    finalists = np.flatnonzero(np.isfinite(scores[:, tuned.scored]).all(axis=1))
    ranks, utilities = rank_candidates(scores[finalists], tuned.scored, tuned)
    names = [candidates[int(i)].name for i in finalists]
    found = dict(zip(names, utilities.tolist(), strict=True)) if len(candidates) > 1 else {}
    return int(finalists[np.argmin(ranks)]), found


def positive_shares(
    train: NDArray, positive: NDArray, queries: NDArray, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """Share of class 1 among the votes of the nearest neighbors, which vote with their weights."""
    nearest = NeighborSearch(train).nearest(queries, min(N_NEIGHBORS, len(train))).indices
    return np.average(
        positive[nearest], axis=1, weights=None if weights is None else weights[nearest]
    )


def whole_folds(y: NDArray, seed: int, folds: Folds | None) -> Folds:
    """The first repeat of the given folds, or of those that a contender makes for all rows."""
    repeats = split_into_repeats(folds) if folds else make_folds(check_labels(y, "y"), seed)
    return repeats[0]


def shares_of_all(
    learner: Any,
    X: NDArray,
    y: NDArray,
    drawn: NDArray,
    judged: NDArray,
    folds: Folds,
    how: TuningOptions,
    on_step: Progress,
) -> NDArray[np.float64]:
    """Out-of-fold shares of all rows' votes for those judged, by metrics learned from those drawn.

    Row numbers are sorted. Shares of other rows are NaN.
    """
    shares, is_drawn = np.full(len(y), np.nan), np.isin(np.arange(len(y)), drawn)
    for train, held_out in folds:
        known, validation = how.queries is not None, np.intersect1d(held_out, judged)
        fold = prepare_fold(X, y, (train, validation), weights=how.weights, transductive=known)
        own = is_drawn[train]
        drawn_weights = None if fold.weights is None else fold.weights[own]
        fitted = fit_learner(learner, fold.X[own], fold.y[own], fold.queries, drawn_weights)
        voters, queries = (np.asarray(fitted.transform(Z)) for Z in (fold.X, fold.X_validation))
        shares[validation] = positive_shares(voters, fold.y == 1, queries, fold.weights)
        on_step()
    return shares


def fit_vote(
    learner: Any,
    X: NDArray,
    y: NDArray,
    tuned: TuningSet,
    how: TuningOptions,
    threshold: float,
    all_vote: bool,
) -> Pipeline:
    """Fit the chosen metric on the rows to learn from; these vote, or all rows do."""
    weights, given = how.weights, {}
    own = None if weights is None else weights[tuned.rows]
    if all_vote:
        rows = tuned.rows
        learner = learn_first(learner, X[rows], y[rows], X, how.queries, own, weights)
    else:
        (X, y), weights = resample(tuned.X, tuned.labels.codes, how.resampling), own
        if is_transductive(learner):
            learner = learn_first(learner, X, y, X, how.queries, weights, weights)
    if weights is not None:
        given = {"scale__sample_weight": weights, "model__sample_weight": weights}
    vote = VoteClassifier(learner, N_NEIGHBORS, threshold=threshold)
    return Pipeline([("scale", StandardScaler()), ("model", vote)]).fit(X, y, **given)
