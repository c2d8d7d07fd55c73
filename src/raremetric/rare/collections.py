"""RareClassifier on Dask collections: learned from a sample, calibrated on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.partitions import draw_sample, has_held_out, has_left
from raremetric.performance import OnProgress, one_blas_thread
from raremetric.scales import validate_rows
from raremetric.selection import Sample, check_aim, fit_sigmoid, standard_error, validate
from raremetric.validation import warn_user


def fit_collection(
    classifier: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    on_progress: OnProgress | None,
) -> list[tuple[Any, float]]:
    """Fit on a Dask collection; return what `RareClassifier._fit` returns."""
    given = {"sample_weight": sample_weight, "groups": groups}
    if unused := [name for name, value in given.items() if value is not None]:
        raise ValueError(f"{unused[0]} cannot be used with a Dask collection. Leave it out.")
    if classifier.cv is not None and np.iterable(classifier.cv):
        raise ValueError(
            "A list of folds cannot be used as cv with a Dask collection, of which a sample is "
            "drawn. Give a number of folds or a splitter."
        )
    sample = draw_sample(X, y, classifier.max_samples, classifier.random_state)
    missed = classifier._fit(sample.X, sample.y, None, None, on_progress, sample.counts)
    several = len(classifier.classes_) > 2
    estimators = classifier.estimators_ if several else [classifier]
    for each in estimators:
        each.ensemble_ = each.ensemble_._replace(rows=sample.rows[each.ensemble_.rows])
    enough = has_held_out(sample.plan)
    if not (enough.any() if several else enough.all()):
        return missed
    log_odds, codes, weights = sample.score_held_out(log_odds_of, classifier)
    enough = has_left(codes, len(enough))
    for c, label in enumerate(classifier.classes_):
        if several and enough[c]:
            found = recalibrate(estimators[c], log_odds[:, c], codes == c, weights)
        elif not several and enough.all() and label == classifier.pos_label_:
            found = recalibrate(classifier, log_odds[:, 0], codes == c, weights)
        else:
            continue
        missed = [each for each in missed if each[0] != label]
        missed += [] if found is None else [(label, found)]
    return missed


@one_blas_thread
def fit_sample(
    classifier: Any,
    X: NDArray,
    y: NDArray,
    weights: NDArray | None,
    class_counts: NDArray | None,
    on_progress: OnProgress | None,
    threshold: float | None = None,
) -> None:
    """Fit on rows that were drawn from a table with these numbers of rows of each class.

    If ``class_counts`` is None, the rows are the whole table; if ``threshold`` is, the best is
    chosen. Copies are kept together only by folds that are given as ``cv``: see `TuningOptions`.
    """
    missed = classifier._fit(
        X, y, weights, None, on_progress, class_counts, copies_together=False, threshold=threshold
    )
    warn_missed(classifier, missed)


def warn_missed(classifier: Any, missed: list[tuple[Any, float]]) -> None:
    """Say which classes have no threshold with the minimum precision."""
    for label, expected in missed:
        warn_user(
            f"No threshold for class {label!r} meets scoring={classifier.scoring!r}. The threshold "
            f"with the highest expected precision is used; this precision is {expected:.3g}."
        )


def log_odds_of(classifier: Any, X: Any) -> NDArray[np.float64]:
    """Log-odds of the positive class, or of each of several classes: (n_rows, n_estimators)."""
    if not len(X):
        return np.empty((0, len(getattr(classifier, "estimators_", [classifier]))))
    X = validate_rows(classifier, X, reset=False)
    estimators = getattr(classifier, "estimators_", [classifier])
    return np.column_stack([each.ensemble_.log_odds(X) for each in estimators])


def recalibrate(
    classifier: Any, log_odds: NDArray, positive: NDArray, weights: NDArray
) -> float | None:
    """Calibrate a fitted classifier of two classes on held-out rows, and choose its threshold.

    Parameters
    ----------
    classifier : RareClassifier
        Its calibration, threshold and measures are replaced.
    log_odds : ndarray of shape (n_rows,)
        What the classifier gives to the held-out rows.
    positive : ndarray of bool of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
        How many rows of all data each of them stands for.

    Returns
    -------
    float or None
        The expected value of a constrained measure, if it is too low.
    """
    aim = check_aim(classifier.scoring)
    sigmoid = fit_sigmoid(log_odds, positive, weights)
    p = sigmoid(log_odds)
    rows = Sample(positive, weights)
    threshold = aim.threshold(p, rows)
    predicted = (p >= threshold)[np.newaxis]
    calibration = sigmoid.after(classifier.ensemble_.calibration)
    classifier.ensemble_ = classifier.ensemble_._replace(calibration=calibration)
    classifier.threshold_ = threshold
    classifier.best_score_ = float(aim.value(predicted[0], rows))
    classifier.score_std_ = standard_error(predicted, rows, aim.utility)
    classifier.validation_ = validate(p[np.newaxis], rows, predicted)
    return aim.missed(p, threshold, rows)
