"""Small problems that several tests share."""

import os

# Must be set before SciPy is imported: lets scikit-learn's array API checks run.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# HYPOTHESIS_PROFILE=nightly generates many more cases, other ones each time; quick generates fewer.
settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("quick", settings.get_profile("default"))
settings.register_profile(
    "nightly",
    max_examples=10_000,
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Left out of `make test-quick`: whole commands, documentation, benchmarks, scikit-learn's checks.
LONG = (
    *("benchmarks", "cli", "study", "table", "report/test_write.py", "test_common.py"),
    "test_docs",
)


def pytest_collection_modifyitems(items):
    root = Path(__file__).parent
    for item in items:
        path = os.path.relpath(item.path, root)
        if path.startswith(LONG) or "sklearn_checks" in item.name:
            item.add_marker("long")


def make_problem(seed=0, n_samples=24, n_features=3, n_classes=2):
    """Standardized points in overlapping classes, at least four of each."""
    rng = np.random.RandomState(seed)
    y = np.concatenate([np.repeat(np.arange(n_classes), 4), rng.randint(n_classes, size=n_samples)])
    y = rng.permutation(y[:n_samples])
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=(n_classes, n_features))[y]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture
def problem():
    return make_problem()


@pytest.fixture
def few_candidates(monkeypatch):
    """RareClassifier with three cheap metrics, for tests that do not depend on what is tried."""
    from sklearn.preprocessing import StandardScaler

    from raremetric import BalancedDiscriminant, Euclidean, KernelLandmarks
    from raremetric.rare import classifier
    from raremetric.rare.candidates import MetricSpec

    def metrics(*given):
        scaled = (StandardScaler(),)
        mapped = (*scaled, KernelLandmarks(n_landmarks=30, n_components=10))
        return [
            MetricSpec("linear", "standard", scaled, Euclidean()),
            MetricSpec("linear", "standard", scaled, BalancedDiscriminant()),
            MetricSpec("importance, laplacian", "laplacian 1", mapped, Euclidean()),
        ]

    monkeypatch.setattr(classifier, "default_metrics", metrics)
