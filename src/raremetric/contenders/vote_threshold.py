"""A vote of neighbors with a threshold: the share of votes from which a row is positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from raremetric.classifier import MetricKNNClassifier
from raremetric.contenders.base import Candidate, Quality, Tuned, TuningOptions, describe_params
from raremetric.contenders.resampling import resample
from raremetric.contenders.vote_folds import (
    N_FINALISTS,
    N_NEIGHBORS,
    PreparedFold,
    fit_learner,
    is_transductive,
    learn_first,
    nearest_voters,
    prepare_fold,
    select_features,
)
from raremetric.performance import Progress
from raremetric.selection import (
    Aim,
    Folds,
    Sample,
    check_aim,
    draw_rows,
    evaluate,
    fit_sigmoid,
    make_folds,
    make_repeats,
    race,
    rank,
    scored_rows,
    split_into_repeats,
    standard_error,
    validate,
)
from raremetric.validation import check_labels, quiet_constants, quiet_repeats

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
    labels = check_labels(y, contender.name)
    positive = labels.codes == 1
    aim, rng = check_aim(how.scoring), check_random_state(how.seed)
    seed = rng.randint(2**31 - 1)
    rows = draw_rows(positive, how.max_samples, rng)
    sample = Sample.of(positive, rows, how.weights)
    own_folds = make_repeats(how.folds or None, sample.labels, rows, seed)[0]
    all_vote = len(rows) < len(y) and how.resampling == "none"
    folds = own_folds
    if all_vote:  # the same, of all rows
        folds = (split_into_repeats(how.folds) if how.folds else make_folds(labels, seed))[0]
    sizes = halved_sizes(len(candidates), len(own_folds), contender.budget == "quick")
    # With one candidate, there is nothing to choose, and all rows are judged below.
    chooses = len(candidates) > 1 or not all_vote
    on_step = Progress(how.on_progress, sum(sizes) * chooses + len(folds) * all_vote + 1)
    drawn = X if len(rows) == len(X) else X[rows]
    score = share_scorer(contender, candidates, drawn, sample, how, on_step)
    with quiet_repeats():
        best, utilities = 0, {}
        if chooses:
            finalists, scores = race(score, sizes, [own_folds], sample, aim)
            scored = scored_rows(own_folds)
            found = evaluate(scores[:, :, scored], sample.take(scored), aim)
            first = int(np.argmin(rank(found, [""] * len(finalists), aim.measures)))
            best = int(finalists[first])
            names = [candidates[int(i)].name for i in finalists]
            utilities = dict(zip(names, found.utility.tolist(), strict=True))
        learner = contender.make(candidates[best].params, how.seed)
        if all_vote:
            judged = draw_rows(positive, max(max_judged, len(rows)), seed)
            shares = shares_of_all(learner, X, y, rows, judged, folds, how, on_step)[judged]
            sample = Sample.of(positive, judged, how.weights)
        else:
            shares = scores[first, 0]
        threshold, quality = vote_threshold(shares, sample, aim, how.threshold)
        with quiet_constants():
            model = fit_vote(learner, X, y, rows, how, threshold, all_vote)
    on_step()
    utilities = utilities if len(candidates) > 1 else {}
    params = candidates[best].params
    words = describe_params(params)
    return Tuned(model, params, utilities, len(candidates), quality, words)


def vote_threshold(
    shares: NDArray, sample: Sample, aim: Aim, given: float | None = None
) -> tuple[float, Quality]:
    """The best threshold on out-of-fold shares of votes, or the given one, and its quality.

    The shares are calibrated to probabilities, as the scores of other contenders are. The
    threshold lies halfway between two shares that occur.

    Parameters
    ----------
    shares : ndarray of shape (n_samples,)
        NaN for rows that were not validated, which are left out.
    sample : Sample
    aim : Aim
    given : float or None, default=None
    """
    rows = np.isfinite(shares)
    shares, sample = shares[rows], sample.take(rows)
    sigmoid = fit_sigmoid(shares, sample.positive, sample.weights)
    p = sigmoid(shares)
    cut = aim.threshold(p, sample)
    if given is not None:
        threshold = given
    elif sigmoid.slope == 0:  # higher shares do not mean more positives
        threshold = 0.5
    else:
        chosen, others = shares[p >= cut], shares[p < cut]
        above = chosen.min(initial=1 + 1 / N_NEIGHBORS)
        threshold = float((above + others.max(initial=0.0)) / 2)
    predicted = shares >= threshold
    quality = Quality(
        float(aim.value(predicted, sample)),
        standard_error(predicted[np.newaxis], sample, aim.utility),
        validate(shares[np.newaxis], sample, predicted[np.newaxis]),
        aim.missed(p, cut, sample) if given is None else None,
    )
    return threshold, quality


def halved_sizes(n_candidates: int, n_folds: int, halving: bool) -> list[int]:
    """How many candidates are tried on each fold."""
    sizes = [n_candidates]
    for _ in range(n_folds - 1):
        half = max(N_FINALISTS, (sizes[-1] + 1) // 2)
        sizes.append(min(sizes[-1], half) if halving else n_candidates)
    return sizes


def share_scorer(
    contender: Any,
    candidates: Sequence[Candidate],
    X: NDArray,
    sample: Sample,
    how: TuningOptions,
    on_step: Progress,
) -> Callable[[NDArray, NDArray, NDArray], NDArray]:
    """Computes the shares of the votes for class 1 under some candidates: see `race`."""
    y, known = sample.labels.codes, how.queries is not None

    def score(running: NDArray, train: NDArray, validation: NDArray) -> NDArray:
        fold = prepare_fold(
            X, y, (train, validation), how.resampling, sample.weights,
            max_features=how.max_features, transductive=known,
        )  # fmt: skip

        def read(nearest: NDArray) -> NDArray:
            return positive_shares(nearest, fold)

        tried = [candidates[int(i)] for i in running]
        found = np.array(contender.judge(tried, fold, how.seed, read))
        on_step(len(running))
        return found

    return score


def positive_shares(nearest: NDArray[np.int64], fold: PreparedFold) -> NDArray[np.float64]:
    """Share of class 1 among the votes of the nearest neighbors, which vote with their weights."""
    weights = None if fold.weights is None else fold.weights[nearest]
    return np.average(fold.y[nearest] == 1, axis=1, weights=weights)


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
        fold = prepare_fold(
            X, y, (train, validation), weights=how.weights,
            max_features=how.max_features, transductive=known,
        )  # fmt: skip
        own = is_drawn[train]
        drawn_weights = None if fold.weights is None else fold.weights[own]
        fitted = fit_learner(learner, fold.X[own], fold.y[own], fold.queries, drawn_weights)
        nearest = nearest_voters(fitted, fold.X, fold.y, fold.X_validation)
        shares[validation] = positive_shares(nearest, fold)
        on_step()
    return shares


def fit_vote(
    learner: Any,
    X: NDArray,
    y: NDArray,
    rows: NDArray,
    how: TuningOptions,
    threshold: float,
    all_vote: bool,
) -> Pipeline:
    """Fit the chosen metric on the rows to learn from; these vote, or all rows do."""
    weights, queries, given = how.weights, how.queries, {}
    own = None if weights is None else weights[rows]
    selection = select_features(X, y, weights, how.max_features)
    if selection is not None:
        X = selection.transform(X)
        queries = None if queries is None else selection.transform(queries)
    if all_vote:
        learner = learn_first(learner, X[rows], y[rows], X, queries, own, weights)
    else:
        (X, y), weights = resample(X[rows], y[rows], how.resampling), own
        if is_transductive(learner):
            learner = learn_first(learner, X, y, X, queries, weights, weights)
    if weights is not None:
        given = {"scale__sample_weight": weights, "model__sample_weight": weights}
    vote = VoteClassifier(learner, N_NEIGHBORS, threshold=threshold)
    model = Pipeline([("scale", StandardScaler()), ("model", vote)]).fit(X, y, **given)
    return model if selection is None else Pipeline([("select", selection), *model.steps])
