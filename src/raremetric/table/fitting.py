"""fit_table: from a file or a DataFrame to a fitted model of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

import raremetric
from raremetric.contenders import CONTENDERS, Contender, Tuned, find_contender
from raremetric.datasets import read_table
from raremetric.extras import installed_versions
from raremetric.performance import one_blas_thread
from raremetric.rare import RareClassifier
from raremetric.table.doubts import summarize_columns
from raremetric.table.model import TableModel
from raremetric.validation import check_option, check_real, quiet_repeats
from raremetric.voting import check_aim

MAX_FOLDS = 5
MIN_RARE = 4  # examples of the rarer class that tuning needs
FEW_POSITIVES = 20
MAX_SAMPLES = RareClassifier().max_samples  # rows, where all pairwise distances are computed
N_RADIUS = 2000  # training examples whose nearest neighbor is found, to know what is far


def fit_table(
    path: Any,
    target: str | int | None = None,
    positive: Any = None,
    *,
    method: str = "rare",
    scoring: Any = "f1",
    threshold: float | None = None,
    max_rows: int | None = None,
    row_names: str | None = None,
    keep_names: bool = True,
    seed: int = 0,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
) -> TableModel:
    """Read a table, encode its columns, and tune and fit a model on all rows.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.datasets.read_table`. Instead of a file, `path` can be a table of pandas,
        polars or Arrow.
    method : str, default="rare"
        A method such as "rare", "iml" or "logistic", see `model_names`; or the import path of a
        class with scikit-learn's interface, such as ``"mypackage.module:MyLearner"``.
    scoring : str or array of shape (2, 2), default="f1"
        What to maximize, see `RareClassifier`; or costs as text, such as ``"cost:fp=1,fn=20"``.
        Methods in which neighbors vote have no threshold, and can maximize F1 only.
    threshold : float or None, default=None
        Predict the positive class from this probability on; None to choose the best one for
        `scoring`.
    max_rows : int or None, default=None
        Maximum number of rows to learn from. From more rows, the same number is drawn from each
        class, and probabilities and threshold are corrected. None for 10,000 if the time grows
        with the square of the number of rows ("rare", "iml-score", "svm"), otherwise for all rows.
    row_names : str or None, default=None
        Column with the names of the rows; None to number them.
    keep_names : bool, default=True
        Whether the model contains the names of the training rows. If not, they are numbered.
    seed : int, default=0
        Seed for the folds of the tuning and the candidates.

    Returns
    -------
    TableModel

    Warns
    -----
    UserWarning
        There are fewer than 20 positive rows.
    """
    contender = find_contender(_known_model(method))
    scoring = _check_scoring(scoring, contender)
    if threshold is not None:
        check_real(threshold, "threshold", low=0, high=1)
    start = time.perf_counter()
    table = read_table(
        path, target, positive, categorical=categorical, ignore=ignore, row_names=row_names
    )
    X, y = table.encoder.transform(table.data), table.target
    _warn_few_positives(y, table)
    if max_rows is None and contender.name.startswith("SVM"):
        max_rows = MAX_SAMPLES
    tuned = fit_method(method, X, y, seed=seed, scoring=scoring, max_rows=max_rows)
    named = keep_names and table.row_names is not None
    model = TableModel(
        method=method,
        encoder=table.encoder,
        classifier=tuned.model,
        X=X,
        y=y,
        ids=np.array(table.row_names) if named else np.arange(1, len(X) + 1),
        id_name=row_names,
        target_name=table.target_name,
        class_names=class_names(table),
        versions={"raremetric": raremetric.__version__, **installed_versions()},
        scoring=scoring,
        fixed_threshold=threshold,
        columns=summarize_columns(table.data),
    )
    model.radius = _training_radius(model)
    model.training = {
        "rows": len(y),
        "positive": int(y.sum()),
        "classes": [str(label) for label in table.classes],
        "rows_used": _n_rows_used(tuned.model, len(y), max_rows),
        "seed": seed,
        "chosen": describe_choice(tuned.chosen),
        **_expected_quality(tuned, contender, seed, len(y), not isinstance(scoring, str)),
        "seconds": round(time.perf_counter() - start, 3),
    }
    return model


def model_names() -> list[str]:
    """Short names of the methods that can be fitted and saved."""
    return [each.alias for each in CONTENDERS.values() if each.alias]


def _known_model(method: str) -> str:
    return method if ":" in method else check_option(method, "model", model_names())


def parse_scoring(text: str) -> Any:
    """What to maximize, as `RareClassifier` takes it, from the text of an option.

    Parameters
    ----------
    text : str
        A name such as "f1", or costs such as "cost:fp=1,fn=20"; also ``tn`` and ``tp``, which are
        0 by default, can be given.
    """
    if not text.startswith("cost:"):
        return text
    costs = {"tn": 0.0, "fp": 1.0, "fn": 1.0, "tp": 0.0}
    for part in text.removeprefix("cost:").split(","):
        name, _, value = part.partition("=")
        try:
            costs[check_option(name.strip(), "cost", costs)] = float(value)
        except ValueError as error:
            raise ValueError(
                f"Costs must be given like 'cost:fp=1,fn=20'; got {text!r}."
            ) from error
    return [[costs["tn"], costs["fp"]], [costs["fn"], costs["tp"]]]


def _check_scoring(scoring: Any, contender: Contender) -> Any:
    scoring = parse_scoring(scoring) if isinstance(scoring, str) else np.asarray(scoring).tolist()
    check_aim(scoring)
    if scoring != "f1" and not contender.has_threshold:
        raise ValueError(
            f"The method {contender.alias or contender.name!r} is tuned for 'f1' only, because its "
            f"neighbors vote without a threshold; got scoring={scoring!r}. Choose another method, "
            "such as 'rare' or 'logistic'."
        )
    return scoring


def _warn_few_positives(y: NDArray, table: Any) -> None:
    if y.sum() < FEW_POSITIVES:
        warnings.warn(
            f"Only {y.sum()} rows are {table.target_names[1]!r}. The quality of the model and its "
            "threshold are very uncertain.",
            UserWarning,
            stacklevel=3,
        )


def _training_radius(model: TableModel) -> float | None:
    """99th percentile of the distances from training examples to the nearest other one."""
    if not model.has_neighbors:
        return None
    examples = model.examples()
    step = -(-len(examples) // N_RADIUS)
    distances, _ = model._kneighbors(model.X[examples[::step]], 2)
    return float(np.quantile(distances[:, 1], 0.99))


def _n_rows_used(classifier: Any, n_rows: int, max_rows: int | None) -> int:
    if isinstance(classifier, RareClassifier):
        return len(classifier.ensemble_.rows)
    return n_rows if max_rows is None else min(n_rows, max_rows)


def _expected_quality(
    tuned: Tuned, contender: Contender, seed: int, n_rows: int, is_cost: bool
) -> dict[str, Any]:
    """The cross-validated score, its standard error, and other measures, if they are known."""
    model = tuned.model[-1] if isinstance(tuned.model, Pipeline) else tuned.model
    score = getattr(model, "best_score_", None)
    if score is None:  # the mean F1 over the folds of the chosen candidate
        tried = contender.with_budget("quick").candidates(seed)
        names = [each.name for each in tried if each.params == tuned.chosen]
        score = tuned.validation.get(names[0]) if names else None
    selection = getattr(model, "selection_", None)
    spread = getattr(model, "score_std_", getattr(selection, "score_std", None))
    # Costs are summed over all rows and repeats; their mean per row is easier to read.
    unit = model.n_repeats_ * n_rows if is_cost else 1
    measures = getattr(model, "validation_", getattr(selection, "validation", None))
    return {
        "score": None if score is None else float(score) / unit,
        "score_std": None if spread is None else float(spread) / unit,
        "validation": {name: float(value) for name, value in dict(measures or {}).items()},
    }


def describe_choice(chosen: Mapping[str, Any]) -> str:
    """The chosen parameters, or the members of an average with their weights, in one line."""
    if "members" not in chosen:
        return ", ".join(f"{name}={value}" for name, value in chosen.items()) or "no parameters"
    members = chosen["members"]
    name, weight = max(members.items(), key=lambda item: item[1])
    number = f"{len(members)} members" if len(members) > 1 else "1 member"
    return f"{number}; the largest weight ({weight:.2f}) has {name}"


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
