"""fit_table: from a file or a DataFrame to a fitted model of it."""

from __future__ import annotations

import time as clock
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline

import raremetric
from raremetric.contenders import Tuned, find_contender
from raremetric.copies import Copies
from raremetric.encoding.copies import copies_in
from raremetric.extras import installed_versions
from raremetric.files import quoted
from raremetric.performance import OnProgress, one_blas_thread
from raremetric.selection.thresholds import warn_missed
from raremetric.table import METHODS
from raremetric.table.aims import check_scoring, minimum_of, quality_figures, unmet_minimum
from raremetric.table.model import TableModel
from raremetric.table.notes import class_notes, leakage_notes, method_notes
from raremetric.table.roles import Roles, RowRoles, read_with_roles
from raremetric.table.splitting import (
    MIN_RARE,
    NO_ROLES,
    describe_tuning,
    refuse_few_rows,
    tuning_folds,
)
from raremetric.validation import check_option, check_real, quiet_repeats, warn_user

N_RADIUS = 2000  # training examples whose nearest neighbor is found, to know what is far


def fit_table(
    path: Any,
    target: str | int | None = None,
    positive: Any = None,
    *,
    method: str = "rare",
    scoring: Any = "f1",
    threshold: float | None = None,
    max_samples: int | None = None,
    max_features: int | None = None,
    row_names: str | None = None,
    keep_names: bool = True,
    time: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    seed: int = 0,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    represented: NDArray | None = None,
    on_progress: OnProgress | None = None,
) -> TableModel:
    """Read a table, encode its columns, and tune and fit a model on all rows.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.table.read_table`. Instead of a file, `path` can be a table of pandas,
        polars or Arrow.
    method : str, default="rare"
        A method such as "rare", "iml" or "logistic", see `METHODS`; or the import path of a
        class with scikit-learn's interface, such as ``"mypackage.module:MyLearner"``.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize, see `RareClassifier`; or costs as text, such as ``"cost:fp=1,fn=20"``.
    threshold : float or None, default=None
        Predict the positive class from this probability on; None to choose the best one for
        `scoring`.
    max_samples : int or None, default=None
        Maximum number of rows to learn from. From more rows, the same number is drawn from each
        class, and probabilities and threshold are corrected. None for 5,000 ("rare", "svm"), 10,000
        ("plain" and other metrics), 200,000 ("boosting") or all rows.
    max_features : int or None, default=None
        Maximum number of features, which are columns after encoding, that metrics are learned
        from: of more features, those are selected, in each fold again, whose distributions differ
        most between the classes. None for 500 ("rare"), 300 (other methods that learn a metric) or
        all features (other methods, which refuse a number).
    row_names : str or None, default=None
        Column with the names of the rows; None to number them.
    keep_names : bool, default=True
        Whether the model contains the names of the training rows. If not, they are numbered.
    time, group, weight : str or None, default=None
        Columns that say how candidates and threshold are chosen, see `compare_table`. The final
        model is fitted on all rows.
    seed : int, default=0
        Seed for the folds of the tuning and the candidates.
    represented : ndarray of shape (n_rows,) or None, default=None
        If the rows were drawn from a larger table, how many of its rows each of them represents, as
        a weight. Not together with `weight`.
    on_progress : callable (n_done, n_steps) or None, default=None
        Called during the tuning with the number of finished steps and of all steps.

    Returns
    -------
    TableModel

    Warns
    -----
    UserWarning
        There are more than two classes, fewer than 20 positive rows, rows of weight 0, a method
        that cannot take weights or would look at the rows to be predicted, or no threshold with
        the minimum precision.
    """
    contender = find_contender(method if ":" in method else check_option(method, "model", METHODS))
    scoring = check_scoring(scoring)
    if threshold is not None:
        check_real(threshold, "threshold", low=0, high=1)
    if max_features is not None and contender.default_max_features is None:
        with_limit = [name for name in METHODS if find_contender(name).default_max_features]
        check_option(method, "model with max_features", with_limit)
    start = clock.perf_counter()
    columns = Roles(time, group, weight)
    given = path, target, positive, categorical, ignore, columns, row_names
    table, roles = read_with_roles(*given, max_levels=contender.max_levels)
    X, y = table.encoder.transform(table.data), table.target
    refuse_few_rows(table, (MIN_RARE, MIN_RARE), "to tune and fit a model")
    copies = copies_in(table.data)
    roles = roles._replace(copies=copies.numbers)
    weights = roles.weights if represented is None else represented
    limits = {"max_samples": max_samples, "max_features": max_features}
    notes = method_notes([contender], X.shape, **limits, weighted=weight is not None)
    for sentence in (*class_notes(table), *notes):
        warn_user(sentence)
    roles = roles._replace(weights=weights)
    options: Any = {"scoring": scoring, "threshold": threshold, "on_progress": on_progress}
    tuned = fit_method(method, X, y, roles, seed=seed, **limits, **options)
    if tuned.quality is not None:
        warn_missed(scoring, tuned.quality.missed, f"class {quoted(table.target_names[1])}")
    share = float(np.average(y, weights=weights))
    is_free = isinstance(scoring, str) and minimum_of(scoring) is None and threshold is None
    _warn_of_chance(tuned, int(y.sum()), share, needs_found=is_free)
    named = keep_names and table.row_names is not None
    model = TableModel(
        method=method,
        pipeline=make_pipeline(table.encoder, tuned.model),
        data=table.data,
        y=y,
        ids=np.array(table.row_names, dtype=object) if named else table.rows,
        id_name=row_names,
        target_name=table.target_name,
        class_names=table.target_names,
        versions={"raremetric": raremetric.__version__, **installed_versions()},
        scoring=scoring,
        fixed_threshold=threshold,
    )
    model.radius = _training_radius(model, X)
    model.training = _facts(table, tuned, copies, columns, scoring, seed)
    model.training["rows_used"] = len(model.examples())
    if not model.has_neighbors:
        limit = max_samples or contender.default_max_samples or len(y)
        model.training["rows_used"] = min(limit, len(y))
    model.training["seconds"] = round(clock.perf_counter() - start, 3)
    return model


def _facts(
    table: Any, tuned: Tuned, copies: Copies, columns: Roles, scoring: Any, seed: int
) -> Any:
    """What a model records of its fit: see `Training`."""
    y = table.target
    quality: Any = {"score": None, "score_std": None, "validation": {}}
    if tuned.quality is not None:
        quality = quality_figures(scoring, *tuned.quality[:3])
    return {
        "rows": len(y),
        "positive": int(y.sum()),
        "classes": [str(label) for label in table.classes],
        "seed": seed,
        "chosen": tuned.words,
        "folds": describe_tuning(columns, copies),
        "notes": [
            *leakage_notes(table, copies, columns, seed),
            *unmet_minimum(scoring, quality["validation"]),
        ],
        "weight": columns.weight,
        **quality,
    }


@one_blas_thread
def fit_method(
    name: str,
    X: NDArray,
    y: NDArray,
    roles: RowRoles = NO_ROLES,
    *,
    seed: int = 0,
    max_samples: int | None = None,
    max_features: int | None = None,
    **options: Any,
) -> Tuned:
    """Tune a method by cross-validation, and fit it on all rows, as both `fit` and `compare` do.

    ``name`` is that of a contender, or the import path of a class, `X` are encoded rows, `y` is 0
    or 1, and ``options`` are other fields of `TuningOptions`.
    """
    contender = find_contender(name)
    with quiet_repeats():
        return contender.fit(
            contender.candidates(seed)[: contender.n_for_table],
            X,
            y,
            seed=seed,
            folds=tuning_folds(y, roles),
            weights=roles.weights,
            groups=roles.groups,
            copies=roles.copies,
            max_samples=max_samples or contender.default_max_samples,
            max_features=max_features or contender.default_max_features,
            **options,
        )


def _warn_of_chance(tuned: Tuned, n_positive: int, share: float, *, needs_found: bool) -> None:
    """Say that a model is no better than chance: by its ranking, or as it finds no positive row.

    The average precision of random scores is above the share of positive rows if these are few:
    see Bestgen, "Exact expected average precision of the random baseline" (2015). That no row is
    found counts if `needs_found`: neither a minimum nor the user decided on the threshold.
    """
    measures = {} if tuned.quality is None else tuned.quality.measures
    precision, n_rows = measures.get("average_precision", 1.0), n_positive / share
    rest = (n_positive - 1) / (n_rows - 1)
    chance = rest + (1 - rest) * (np.log(n_rows) + np.euler_gamma) / n_rows
    if precision <= chance:
        warn_user(
            "The model is no better than chance: its cross-validated average precision is "
            f"{precision:.3f}, and that of random scores is {chance:.3f} in the mean."
        )
    elif needs_found and measures.get("recall", 1.0) == 0:
        warn_user(
            "The model is no better than chance: in the cross-validation, it finds none of the "
            "positive rows."
        )


def _training_radius(model: TableModel, X: NDArray) -> float | None:
    """99th percentile of the distances from training examples to the nearest other one."""
    if not model.has_neighbors:
        return None
    examples = model.examples()
    step = -(-len(examples) // N_RADIUS)
    distances, _ = model.classifier.kneighbors(X[examples[::step]], 2)
    return float(np.quantile(distances[:, 1], 0.99))
