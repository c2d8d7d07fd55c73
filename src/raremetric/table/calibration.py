"""Calibrate the probabilities of a model, and choose its threshold, on rows it has not seen."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from raremetric.copies import keys_to_leave_out, rows_without
from raremetric.selection import Sample, check_aim, decide, judge
from raremetric.selection.thresholds import warn_missed
from raremetric.table.aims import quality_figures, unmet_minimum
from raremetric.table.explanation import labeled_rows_of
from raremetric.table.model import TableModel
from raremetric.validation import TableError, warn_user

MIN_ROWS = 10  # of each class
CERTAIN = 1e-12  # probabilities are kept this far from 0 and 1


def recalibrate(model: TableModel, path: Any, target: str | None = None) -> TableModel:
    """The same model with the probabilities and the threshold that fit a labeled table.

    Its ranking of rows stays the same, unless they had the same probability. This needs fewer
    positive rows than a new fit, for example if their share has changed.

    Parameters
    ----------
    model : TableModel
    path : str, Path, DataFrame or Arrow table
        A table with the columns of the model and the class. Its rows represent those that the model
        will be used for; copies of training rows are left out.
    target : str or None, default=None
        The column with the class; None for the one that the model was fitted on.

    Returns
    -------
    TableModel
    """
    frame, y = labeled_rows_of(model, path, target)
    X = model.encoder.transform(frame)
    new = rows_without(keys_to_leave_out(model.X), X)
    counts = np.bincount(y[new], minlength=2)
    if counts.min() < MIN_ROWS:
        raise TableError(
            f"Of {len(new)} rows that are not in the training data, {counts[1]} are of class "
            f"{model.class_names[1]!r}; at least {MIN_ROWS} rows of each class are needed."
        )
    if len(new) < len(X):
        warn_user(f"{len(X) - len(new)} of {len(X)} rows are in the training data and left out.")
    model = deepcopy(model)
    calibrate(model, log_odds(model, X[new]), y[new] == 1)
    model.training["held_out"] = len(new)
    return model


def log_odds(model: TableModel, X: NDArray) -> NDArray[np.float64]:
    """Log-odds of the positive class, of encoded rows."""
    return logit(np.clip(model.decide(X)[1], CERTAIN, 1 - CERTAIN))


def calibrate(
    model: TableModel,
    log_odds: NDArray,
    positive: NDArray[np.bool_],
    weights: NDArray | None = None,
    kind: str = "held-out",
) -> None:
    """Change calibration, threshold and expected quality of a model to those for some rows."""
    classifier, aim = model.classifier, check_aim(model.scoring)
    sample, scores = Sample(positive, weights), log_odds[np.newaxis]
    found = decide(scores, sample, aim, model.fixed_threshold)
    quality = judge(scores, found.predicted, sample, aim)
    warn_missed(model.scoring, found.missed, f"{kind} rows")
    if model.has_neighbors:
        ensemble = classifier.ensemble_
        classifier.ensemble_ = ensemble._replace(
            calibration=found.calibration.after(ensemble.calibration)
        )
        classifier.validation_, classifier.score_std_ = quality.measures, quality.score_std
    else:
        before = classifier.decision_.calibration
        classifier.decision_ = found._replace(calibration=found.calibration.after(before))
        classifier.quality_ = quality
    classifier.threshold_, classifier.best_score_ = found.threshold, quality.score
    replaced = unmet_minimum(model.scoring, model.training["validation"])
    notes = [note for note in model.training["notes"] if note not in replaced]
    notes += unmet_minimum(model.scoring, quality.measures, kind)
    model.training |= {**quality_figures(model.scoring, *quality[:3]), "notes": notes}
