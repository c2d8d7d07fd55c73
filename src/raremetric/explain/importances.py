"""How much a model depends on each column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer
from sklearn.utils import check_array, check_random_state

from raremetric.explain.contributions import Groups, check_groups
from raremetric.explain.distances import quiet_names
from raremetric.performance import OnProgress, Progress
from raremetric.validation import check_integer


class ColumnImportances(NamedTuple):
    """How much a model depends on each column; see :func:`column_importances`."""

    mean: NDArray[np.float64]  # (n_columns,), decrease of the score when the column is permuted
    std: NDArray[np.float64]  # (n_columns,), over the repeats
    baseline: float  # score of the unchanged data


def column_importances(
    model: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    groups: Groups | None = None,
    *,
    scoring: Any = "average_precision",
    sample_weight: ArrayLike | None = None,
    n_repeats: int = 5,
    random_state: Any = None,
    on_progress: OnProgress | None = None,
) -> ColumnImportances:
    """Permutation importances of columns, each of which may consist of several features.

    .. versionadded:: 0.1

    Parameters
    ----------
    model : fitted classifier or Pipeline
    X : array-like of shape (n_samples, n_features)
        Rows that the model was **not** fitted on; on its training data, the importances are
        optimistic.
    y : array-like of shape (n_samples,)
        Classes.
    groups : sequence of sequences of int or None, default=None
        Features to permute together; None for each feature by itself.
    scoring : str or callable, default="average_precision"
        A scorer of scikit-learn.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows in the score; None for all the same.
    n_repeats : int, default=5
        Number of permutations.
    random_state : int, RandomState instance or None, default=None
        For the permutations, which are the same for all columns.
    on_progress : callable (n_done, n_steps) or None, default=None
        Called after each permutation, with the number of finished ones and of all.

    Returns
    -------
    ColumnImportances
        With the fields ``mean`` and ``std`` of shape (n_columns,), and ``baseline``.

    See Also
    --------
    column_contributions : How much each column moves the score of one row.

    Notes
    -----
    Without groups, these are the values of :func:`sklearn.inspection.permutation_importance`.
    If two columns contain the same information, the model can use the other one, and the
    importance of both is low.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from raremetric.explain import column_importances
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
    >>> groups = [range(10), range(10, 20), range(20, 30)]  # mean, error and worst value
    >>> found = column_importances(model, X[1::2], y[1::2], groups, random_state=0)
    >>> int(found.mean.argmax())
    2
    """
    check_integer(n_repeats, "n_repeats", low=1)
    data: Any = check_array(X, dtype=np.float64, input_name="X")
    groups = check_groups(groups, data.shape[1])
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    given = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max + 1)
    with quiet_names():
        baseline = float(scorer(model, data, y, **given))
        scores = np.empty((len(groups), n_repeats))
        on_step = Progress(on_progress, scores.size)
        for g, group in enumerate(groups):
            permuted, rng = data.copy(), np.random.RandomState(seed)
            order = np.arange(len(data))
            for repeat in range(n_repeats):
                rng.shuffle(order)
                permuted[:, group] = permuted[order][:, group]
                scores[g, repeat] = scorer(model, permuted, y, **given)
                on_step()
    decreases = baseline - scores
    return ColumnImportances(decreases.mean(axis=1), decreases.std(axis=1), baseline)
