"""One method on one outer fold of a comparison: tune, fit, test, and project the rows."""

from __future__ import annotations

import time as clock
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.contenders import Tuned
from raremetric.encoding import TableEncoder
from raremetric.selection import Folds
from raremetric.table.fitting import fit_method
from raremetric.table.model import fitted_metric
from raremetric.table.results import Failure, FoldResult

N_PERMUTATIONS = 3  # of each column in each test fold


class Plan(NamedTuple):
    """What all tasks of a comparison have in common."""

    encoder: TableEncoder
    data: Any  # raw columns
    y: NDArray[np.int64]
    weights: NDArray[np.float64] | None  # of the rows
    folds: Folds  # outer folds
    tuning_folds: list[Folds | None]  # within the training part of each of them
    shown: NDArray[np.int64]  # rows in the scatter plots
    seed: int
    scoring: Any
    max_samples: int | None
    importances: bool = False  # whether to permute the columns of the test part

    def encode(self, train: NDArray) -> tuple[TableEncoder, NDArray]:
        """An encoder fitted on the training rows, and all rows after it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # given once, when the file was read
            encoder = clone(self.encoder).fit(self.data.iloc[train])
            return encoder, encoder.transform(self.data)

    def weights_of(self, rows: NDArray) -> NDArray | None:
        """Weights of some rows."""
        return None if self.weights is None else self.weights[rows]


def run_fold(plan: Plan, method: str, number: int) -> FoldResult | Failure:
    """Tune, fit and test one method on one outer fold."""
    train, test = plan.folds[number]
    start = clock.perf_counter()
    try:
        encoder, X = plan.encode(train)
        # Indexing copies the rows, so that a method cannot change them for the others.
        tuned = fit_method(
            method,
            X[train],
            plan.y[train],
            seed=plan.seed,
            scoring=plan.scoring,
            max_samples=plan.max_samples,
            weights=plan.weights_of(train),
            folds=plan.tuning_folds[number],
        )
        seconds = clock.perf_counter() - start
        predicted, score = _answer(tuned, X[test])
        plane = _learned_plane(tuned, X, train, plan.shown) if number == 0 else None
        decreases = _importances(encoder, tuned, plan, test) if plan.importances else None
    except Exception as error:  # one method must not lose the others
        message = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        return Failure(method, number, message, clock.perf_counter() - start)
    return FoldResult(
        method=method,
        fold=number,
        test=test,
        predicted=predicted,
        score=score,
        seconds=seconds,
        plane=plane,
        n_train=len(train),
        n_candidates=tuned.n_candidates,
        importances=decreases,
    )


def _answer(tuned: Tuned, queries: NDArray) -> tuple[NDArray, NDArray]:
    """Predictions, and scores that can be compared between folds."""
    predicted, score = tuned.answer(queries)
    if not np.isfinite(score).all():
        raise ValueError(f"{np.sum(~np.isfinite(score))} of {len(score)} scores are not finite.")
    threshold = getattr(tuned.model, "threshold_", None)
    if threshold is not None and 0 < threshold < 1:
        score = score + logit(threshold)  # log-odds instead of their distance to the threshold
    return predicted, score


def _importances(
    encoder: TableEncoder, tuned: Tuned, plan: Plan, test: NDArray
) -> NDArray[np.float64]:
    """Mean decrease of the average precision when each raw column is permuted."""
    found = permutation_importance(
        make_pipeline(encoder, tuned.model),
        plan.data.iloc[test],
        plan.y[test],
        scoring="average_precision",
        sample_weight=plan.weights_of(test),
        n_repeats=N_PERMUTATIONS,
        random_state=plan.seed,
    )
    return found.importances_mean


def plain_plane(plan: Plan) -> NDArray:
    """The shown rows on the first two principal components of the first fold's training rows."""
    (train, _), shown = plan.folds[0], plan.shown
    _, X = plan.encode(train)
    scaler = StandardScaler().fit(X[train])
    return _plane(scaler.transform(X[shown]), np.isin(shown, train))


def _learned_plane(tuned: Tuned, X: NDArray, train: NDArray, shown: NDArray) -> NDArray | None:
    metric = fitted_metric(tuned.model)
    if metric is None:
        return None
    Z = X[shown]
    for _, step in metric.steps:  # a pipeline would require attributes that show a fitted step
        Z = np.asarray(step.transform(Z))
    return _plane(Z, np.isin(shown, train))


def _plane(Z: NDArray, is_train: NDArray) -> NDArray:
    """All rows on the first two principal components of the training rows."""
    if np.ptp(Z, axis=0).max() == 0:  # there are no components
        return np.zeros((len(Z), 2))
    n_directions = min(2, Z.shape[1])
    plane = PCA(n_directions).fit(Z[is_train]).transform(Z)
    return np.hstack([plane, np.zeros((len(Z), 2 - n_directions))])
