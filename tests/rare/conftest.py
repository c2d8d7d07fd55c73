"""A small problem, and a model with all default candidates that several tests share."""

import numpy as np
import pytest

from raremetric import RareClassifier

SOON = 1e-6  # seconds: the cross-validation is made once


def rare_problem(seed=0, n_samples=60, n_positive=14, shift=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) < n_positive).astype(int)
    return rng.normal(size=(n_samples, 3)) + shift * y[:, np.newaxis], y


@pytest.fixture(scope="session")
def fitted():
    """A model with all default candidates, on labels that are strings."""
    X, y = rare_problem()
    words = np.where(y == 1, "fraud", "fine")
    return RareClassifier(SOON, random_state=0).fit(X, words), X, words
