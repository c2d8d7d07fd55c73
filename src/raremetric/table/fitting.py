"""fit_table: from a file to a fitted model of it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

import raremetric
from raremetric.contenders import CONTENDERS, Tuned, find_contender
from raremetric.datasets import read_table
from raremetric.extras import installed_versions
from raremetric.performance import one_blas_thread
from raremetric.table.model import TableModel
from raremetric.validation import check_option, quiet_repeats

MAX_FOLDS = 5
MIN_RARE = 4  # examples of the rarer class that tuning needs


def fit_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    method: str = "rare",
    row_names: str | None = None,
    seed: int = 0,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
) -> TableModel:
    """Read a file, encode its columns, and tune and fit a model on all rows.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.datasets.read_table`.
    method : str, default="rare"
        A method that has neighbors, such as "rare", "iml" or "plain": see `model_names`.
    row_names : str or None, default=None
        Column with the names of the rows; None to number them.
    seed : int, default=0
        Seed for the folds of the tuning and the candidates.

    Returns
    -------
    TableModel
    """
    check_option(method, "model", model_names())
    table = read_table(
        path, target, positive, categorical=categorical, ignore=ignore, row_names=row_names
    )
    X = table.encoder.transform(table.data)
    return TableModel(
        method=method,
        encoder=table.encoder,
        classifier=fit_method(method, X, table.target, seed=seed).model,
        X=X,
        y=table.target,
        ids=np.arange(1, len(X) + 1) if table.row_names is None else np.array(table.row_names),
        id_name=row_names,
        target_name=table.target_name,
        class_names=class_names(table),
        versions={"raremetric": raremetric.__version__, **installed_versions()},
    )


def model_names() -> list[str]:
    """Short names of the methods whose decisions can be explained by neighbors."""
    return [each.alias for each in CONTENDERS.values() if each.alias and each.has_neighbors]


@one_blas_thread
def fit_method(
    name: str,
    X: NDArray,
    y: NDArray,
    *,
    seed: int = 0,
    resampling: str = "none",
    scoring: str = "f1",
    max_rows: int | None = None,
) -> Tuned:
    """Tune a method by cross-validation and fit it on all rows.

    Parameters
    ----------
    name : str
        Name of a contender, or the import path of a class; see `find_contender`.
    X : ndarray of shape (n_samples, n_features)
        Encoded rows.
    y : ndarray of shape (n_samples,)
        0 or 1.
    seed : int, default=0
    resampling : {"none", "smote", "rus"}, default="none"
        Applied to the rows that are learned from, within each fold.
    scoring : str, default="f1"
        What to maximize, for methods with a threshold.
    max_rows : int or None, default=None
        Maximum number of rows to learn from; see `Contender.fit`.

    Returns
    -------
    Tuned
        With a fitted classifier of encoded rows.
    """
    contender = find_contender(name, budget="quick")
    cv = StratifiedKFold(n_tuning_folds(y), shuffle=True, random_state=seed)
    with quiet_repeats():
        return contender.fit(
            contender.candidates(seed),
            X,
            y,
            folds=list(cv.split(X, y)),
            seed=seed,
            resampling=resampling,
            scoring=scoring,
            max_rows=max_rows,
        )


def n_tuning_folds(y: NDArray) -> int:
    """Number of folds for tuning: two rare examples per fold, and at most `MAX_FOLDS` folds."""
    n_rare = int(np.bincount(y).min())
    if n_rare < MIN_RARE:
        raise ValueError(
            f"The rare class has {n_rare} examples; at least {MIN_RARE} are needed to tune and fit "
            "a model."
        )
    return min(MAX_FOLDS, n_rare // 2)


def class_names(table: Any) -> list[str]:
    """Names of the classes 0 and 1; several other classes together are "not" the positive one."""
    other, positive = table.target_names
    n_other = len(table.classes) - len(table.positive)
    return [str(other) if n_other == 1 else f"not {positive}", str(positive)]
