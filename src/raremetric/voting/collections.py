"""MetricKNNClassifier on Dask collections: learned from a sample, calibrated on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.partitions import draw_sample, has_held_out, has_left
from raremetric.voting.fitting import recalibrate

MAX_SAMPLES = 10_000  # rows to learn from


def fit_collection(
    classifier: Any, X: Any, y: Any, sample_weight: Any, fit_params: Mapping[str, Any]
) -> Any:
    """Fit on a Dask collection, see the notes of `MetricKNNClassifier`."""
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be used with a Dask collection. Leave it out.")
    sample = draw_sample(X, y, MAX_SAMPLES, classifier.random_state)
    classifier._fit(sample.X, sample.y, sample.weights, fit_params, sample.counts)
    classifier._row_numbers = sample.rows[classifier._row_numbers]
    if classifier.vote != "majority" and has_held_out(sample.plan).all():
        scores, codes, weights = sample.score_held_out(_vote_scores, classifier)
        if has_left(codes, len(classifier.classes_)).all():
            classifier._set_vote(recalibrate(classifier._vote, scores, codes, weights))
    return classifier


def _vote_scores(classifier: Any, X: Any) -> NDArray[np.float64]:
    """What the vote of a fitted classifier calibrates, (n_rows, n_classes)."""
    if not len(X):
        return np.empty((0, len(classifier.classes_)))
    return classifier._vote.scores(classifier._examples, classifier._map_queries(X))
