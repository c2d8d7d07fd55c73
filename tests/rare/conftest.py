"""A small problem, and a model with all default candidates that several tests share."""

import numpy as np
import pytest

from raremetric import RareClassifier
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.selection import TrainingData
from raremetric.validation import check_labels

SOON = 1e-6  # seconds: the cross-validation is made once


def rare_problem(seed=0, n_samples=60, n_positive=14, shift=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) < n_positive).astype(int)
    return rng.normal(size=(n_samples, 3)) + shift * y[:, np.newaxis], y


def tuning_set(X, y, max_samples=None, weights=None, **given):
    """The tuning set that a classifier with ``random_state=0`` makes of examples."""
    data = TrainingData(X, check_labels(y, "A test"), weights, np.arange(len(X)), **given)
    return make_tuning_set(data, np.asarray(y) == 1, max_samples, 0)


@pytest.fixture(scope="session")
def fitted():
    """A model with all default candidates, on labels that are strings."""
    X, y = rare_problem()
    words = np.where(y == 1, "fraud", "fine")
    return RareClassifier(SOON, random_state=0).fit(X, words), X, words
