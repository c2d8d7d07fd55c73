"""From a file to a fitted model of it."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from raremetric.datasets import read_table
from raremetric.study.run_task import versions
from raremetric.table.methods import METHODS, Setting
from raremetric.table.model import TableModel
from raremetric.validation import check_option


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
    """Read a file, encode, scale, tune and fit.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        As for `raremetric.datasets.read_table`.
    method : str, default="rare"
        One of those that decide by neighbors: "rare", "iml", "iml-score", "plain", "lmnn",
        "itml", "gmml".
    row_names : str or None, default=None
        Column that names the examples; None to number them.
    seed : int, default=0
        For the folds of the tuning and the draw of candidates.

    Returns
    -------
    TableModel
        Fitted on all rows.
    """
    allowed = [name for name, each in METHODS.items() if each.has_neighbors]
    check_option(method, "model", allowed)
    table = read_table(
        path, target, positive, categorical=categorical, ignore=ignore, row_names=row_names
    )
    X = table.encoder.transform(table.data)
    setting = Setting(n_folds=n_folds_for(table.target), seed=seed)
    fitted = fit_quietly(METHODS[method].build(setting), X, table.target)
    ids = np.arange(1, len(X) + 1) if table.row_names is None else np.array(table.row_names)
    return TableModel(
        method=method,
        encoder=table.encoder,
        classifier=_slim(fitted.best_estimator_ if isinstance(fitted, GridSearchCV) else fitted),
        X=X,
        y=table.target,
        ids=ids,
        id_name=row_names,
        target_name=table.target_name,
        class_names=class_names(table),
        versions=versions(),
    )


def _slim(model: Any) -> Any:
    """Without what only tuning and fitting needed: other candidates, pairs."""
    ensemble = getattr(model, "ensemble_", None)
    if ensemble is not None:
        for metric in ensemble.metrics:
            vars(metric.pipeline[-1]).pop("pair_sets_", None)
        return model
    last = model[-1]
    learner = getattr(last.learner_, "best_learner_", last.learner_)
    vars(learner).pop("pair_sets_", None)
    last.learner, last.learner_, last.learners_ = clone(learner), learner, [learner]
    return model


def fit_quietly(model: Any, X: NDArray, y: NDArray) -> Any:
    """Fit a searched model: candidates that are cut short are judged as they are.

    On one thread: the many small fits of a search are slowed down by more, several times over.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* wants n_neighbors", UserWarning)
        return model.fit(X, y)


def n_folds_for(y: NDArray, most: int = 5) -> int:
    """As many folds as the rare class has examples, at most `most`."""
    n_rare = int(np.bincount(y).min())
    if n_rare < 4:
        raise ValueError(
            f"The rare class has {n_rare} examples; at least 4 are needed to tune and to learn."
        )
    return min(most, n_rare // 2)


def class_names(table: Any) -> list[str]:
    """What 0 and 1 stand for; several classes together are called by what they are not."""
    other, positive = table.target_names
    n_other = len(table.classes) - len(table.positive)
    return [str(other) if n_other == 1 else f"not {positive}", str(positive)]
