"""How much each column moves the score of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, gen_batches

from raremetric.explain.distances import COLUMNWISE, model_steps, quiet_names
from raremetric.validation import check_integer

MAX_EXACT = 10  # columns up to which all 2^n subsets are evaluated
MAX_BACKGROUND = 50  # rows
BATCH = 1 << 14  # rows per call of the model
CERTAIN = 1e-6  # probabilities are kept this far from 0 and 1

Groups = Sequence[Sequence[int]]
Score = Callable[[NDArray], NDArray]


class ColumnContributions(NamedTuple):
    """How much each column moves the score of each row; see :func:`column_contributions`."""

    values: NDArray[np.float64]  # (n_rows, n_columns); a row sums to its score minus the baseline
    std_error: NDArray[np.float64]  # (n_rows, n_columns), of the sampling; 0 where exact
    scores: NDArray[np.float64]  # (n_rows,)
    baseline: float  # mean score of the background
    exact: bool  # False: the values are estimated from random orders of the columns
    scale: str  # "decision function", "log-odds" or "probability"


def column_contributions(
    model: BaseEstimator,
    x: ArrayLike,
    background: ArrayLike,
    groups: Groups | None = None,
    *,
    n_samples: int = 2,
    max_exact: int = MAX_EXACT,
    random_state: Any = None,
) -> ColumnContributions:
    """Shapley values of the columns: how much each of them moves the score of a row.

    This works for any fitted classifier with two classes and a ``decision_function`` or
    ``predict_proba``, also if the model is nonlinear.

    Parameters
    ----------
    model : fitted classifier or Pipeline
    x : array-like of shape (n_features,) or (n_rows, n_features)
        The rows to explain. Of a RareClassifier that was fitted on a data frame, another one; the
        columns are then those of the frame.
    background : array-like of shape (n_background, n_features)
        Rows to compare with, such as the training data. At most 50 of them are drawn, except for
        a linear model, which uses the mean of all of them.
    groups : sequence of sequences of int or None, default=None
        Features that belong to one column, such as the 0/1 features of one category; each
        feature must be in one group. None for each feature by itself.
    n_samples : int, default=2
        Number of random orders of the columns for each row of the background; each order is also
        used in reverse. At least 2, because the standard error is estimated from them.
    max_exact : int, default=10
        If there are at most this many columns, the values are computed from all subsets of the
        columns: 2^n_columns evaluations per row and row of the background.
    random_state : int, RandomState instance or None, default=None
        For the rows of the background and the orders.

    Returns
    -------
    ColumnContributions
        With the fields ``values`` and ``std_error`` of shape (n_rows, n_columns), ``scores``,
        ``baseline``, ``exact`` and ``scale``. Each row of ``values`` sums to its score minus the
        baseline, which is the mean score of the background, also if the values are sampled.

    See Also
    --------
    sklearn.inspection.permutation_importance : How much a model depends on each column.
    distance_contributions : What each feature adds to a learned distance.

    Notes
    -----
    The score f is the decision function, or the log-odds of the predicted probability. If some
    predicted probabilities are 0 or 1, as those of a vote, the score is the probability itself.
    With v(S) the mean over the background of f(row of the background with the columns S of x),
    the contribution of column j is the mean of v(S ∪ {j}) − v(S), where S is the set of columns
    before j in a random order (Shapley value, Štrumbelj and Kononenko 2014). For a linear
    model, f(x) = wᵀx + b, it is w_j (x_j − mean_j), also after scalers of single columns.

    Replacing some columns of a row can give rows that do not occur in reality. If two columns
    are correlated, the effect of one can appear in part in the other.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from raremetric.explain import column_contributions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = column_contributions(GaussianNB().fit(X[:, :4], y), X[0, :4], X[:, :4])
    >>> found.exact, found.values.shape
    (True, (1, 4))
    >>> bool(abs(found.values.sum() - (found.scores[0] - found.baseline)) < 1e-10)
    True
    """
    check_integer(n_samples, "n_samples", low=2)
    check_integer(max_exact, "max_exact", low=0, high=20)
    if (encoder := getattr(model, "encoder_", None)) is not None:
        x, background = map(encoder.transform, (x, background))
        groups = encoder.column_groups() if groups is None else groups
        model = model.without_encoder()
    rows, reference = _check_points(x, background)
    groups = _check_groups(groups, rows.shape[1])
    found = _linear_contributions(model, rows, reference, groups)
    if found is not None:
        return found
    rng = check_random_state(random_state)
    if len(reference) > MAX_BACKGROUND:
        reference = reference[rng.choice(len(reference), MAX_BACKGROUND, replace=False)]
    score, scale = _score_function(model, np.vstack([rows, reference]))
    exact = len(groups) <= max_exact
    column = np.empty(rows.shape[1], dtype=np.int64)  # that each feature belongs to
    for g, group in enumerate(groups):
        column[group] = g
    values, errors = np.zeros((2, len(rows), len(groups)))
    for i, row in enumerate(rows):
        if exact:
            values[i] = _all_subsets(score, row, reference, column)
        else:
            values[i], errors[i] = _random_orders(score, row, reference, column, n_samples, rng)
    baseline = float(score(reference).mean())
    return ColumnContributions(values, errors, score(rows), baseline, exact, scale)


def _score_function(model: Any, X: NDArray) -> tuple[Score, str]:
    """The score of a classifier, in batches, and its scale, which depends on the given rows."""
    if hasattr(model, "decision_function"):
        return partial(_in_batches, model.decision_function), _decision_scale(model, X)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, so that no "
            "score can be explained. Pass a fitted classifier."
        )

    def probability(Z: NDArray) -> NDArray:
        p = model.predict_proba(Z)
        return p[:, 1] if p.shape[1] == 2 else p

    def log_odds(Z: NDArray) -> NDArray:
        return logit(np.clip(probability(Z), CERTAIN, 1 - CERTAIN))

    p = _in_batches(probability, X)
    if np.all((p > 0) & (p < 1)):
        return partial(_in_batches, log_odds), "log-odds"
    return partial(_in_batches, probability), "probability"


def _decision_scale(model: Any, X: NDArray) -> str:
    """Log-odds, if the decision function differs from them by a constant."""
    if not hasattr(model, "predict_proba"):
        return "decision function"
    with quiet_names():
        p = model.predict_proba(X)[:, 1]
        inside = (p > CERTAIN) & (p < 1 - CERTAIN)
        shift = (logit(p[inside]) - model.decision_function(X[inside])) if inside.any() else p
    return "log-odds" if inside.any() and np.ptp(shift) < CERTAIN else "decision function"


def _in_batches(score: Score, Z: NDArray) -> NDArray:
    with quiet_names():
        parts = [
            np.asarray(score(Z[rows]), dtype=np.float64) for rows in gen_batches(len(Z), BATCH)
        ]
    if parts[0].ndim != 1:
        raise ValueError(
            f"The model has {parts[0].shape[1]} classes; the contributions of columns need a "
            "model with two classes."
        )
    return np.concatenate(parts)


def _linear_contributions(
    model: Any, rows: NDArray, background: NDArray, groups: Groups
) -> ColumnContributions | None:
    """w_j (x_j − mean_j), summed in each group; None if the model is not linear."""
    *scalers, last = model_steps(model)
    coef = getattr(last, "coef_", None) if hasattr(last, "decision_function") else None
    if coef is None or not all(isinstance(step, COLUMNWISE) for step in scalers):
        return None
    coef = np.asarray(coef, dtype=np.float64)
    # Kernel machines have coefficients of other things, and several classes several rows.
    if coef.size != rows.shape[1] or coef.shape[:-1] not in ((), (1,)):
        return None
    with quiet_names():
        scores, at_background = map(model.decision_function, (rows, background))
        scale = _decision_scale(model, background[:MAX_BACKGROUND])
        for step in scalers:
            rows, background = map(step.transform, (rows, background))
    parts = coef.ravel() * (rows - background.mean(axis=0))
    values = np.column_stack([parts[:, list(group)].sum(axis=1) for group in groups])
    baseline = float(np.mean(at_background))
    return ColumnContributions(values, np.zeros_like(values), scores, baseline, True, scale)


def _all_subsets(score: Score, row: NDArray, background: NDArray, column: NDArray) -> NDArray:
    """Exact Shapley values from the mean scores of all 2^n subsets of the columns."""
    n = int(column.max()) + 1
    subsets = np.arange(1 << n)
    members = (subsets[:, np.newaxis] >> np.arange(n)) & 1 == 1  # (2^n, n)
    value = np.empty(len(subsets))
    for part in gen_batches(len(subsets), max(1, BATCH // len(background))):
        replaced = members[part, np.newaxis, column]
        mixed = np.where(replaced, row, background)  # (n_subsets, n_background, n_features)
        found = score(mixed.reshape(-1, len(row))).reshape(-1, len(background))
        value[part] = found.mean(axis=1)
    sizes = members.sum(axis=1)
    weights = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    contributions = np.empty(n)
    for j in range(n):
        without = subsets[~members[:, j]]
        gains = value[without | (1 << j)] - value[without]
        contributions[j] = weights[sizes[without]] @ gains
    return contributions


def _random_orders(
    score: Score, row: NDArray, background: NDArray, column: NDArray, n_samples: int, rng: Any
) -> tuple[NDArray, NDArray]:
    """Mean changes of the score along random orders and their reverses, with standard errors.

    Each order leads from a row of the background to the explained row, one column at a time. All
    rows of the background are used equally often, so the values sum to f(x) − mean f(background).
    """
    n, n_background = int(column.max()) + 1, len(background)
    first = np.argsort(rng.random_sample((n_background * n_samples, n)), axis=1)
    orders = np.stack([first, first[:, ::-1]], axis=1).reshape(-1, n)  # (n_orders, n)
    position = np.argsort(orders, axis=1)
    starts = np.repeat(background, 2 * n_samples, axis=0)[:, np.newaxis]
    values = np.empty((len(orders), n + 1))
    for part in gen_batches(len(orders), max(1, BATCH // (n + 1))):
        # After t steps the first t columns of the order have the values of the explained row.
        replaced = position[part, np.newaxis, column] < np.arange(n + 1)[:, np.newaxis]
        mixed = np.where(replaced, row, starts[part])  # (n_orders, n + 1, n_features)
        values[part] = score(mixed.reshape(-1, len(row))).reshape(-1, n + 1)
    gains = np.take_along_axis(np.diff(values, axis=1), position, axis=1)
    pairs = gains.reshape(n_background, n_samples, 2, n).mean(axis=2)
    # The rows of the background are fixed: only the orders are random.
    variance = pairs.var(axis=1, ddof=1).sum(axis=0) / (n_samples * n_background**2)
    return pairs.mean(axis=(0, 1)), np.sqrt(variance)


def _check_points(x: ArrayLike, background: ArrayLike) -> tuple[NDArray, NDArray]:
    rows = check_array(np.atleast_2d(x), dtype=np.float64, input_name="x")
    reference = check_array(background, dtype=np.float64, input_name="background")
    if rows.shape[1] != reference.shape[1]:
        raise ValueError(
            f"x has {rows.shape[1]} features and the background {reference.shape[1]}; both need "
            "the features that the model was fitted on."
        )
    return rows, reference


def _check_groups(groups: Groups | None, n_features: int) -> list[list[int]]:
    """The features of each column as lists; each feature must belong to one column."""
    if groups is None:
        return [[j] for j in range(n_features)]
    found = [list(group) for group in groups]
    if sorted(j for group in found for j in group) != list(range(n_features)) or not all(found):
        raise ValueError(
            f"groups must contain each feature from 0 to {n_features - 1} once, and no empty "
            f"group; got {found}."
        )
    return found
