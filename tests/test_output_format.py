"""The output format of scikit-learn changes nothing but the type of what is returned."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from raremetric import Euclidean, MetricKNNClassifier
from tests.conftest import make_problem
from tests.estimators import ESTIMATORS

VOTES = [
    MetricKNNClassifier(),
    MetricKNNClassifier(multiclass="one_vs_rest", vote="adjusted", cv=2, random_state=0),
    MetricKNNClassifier(Euclidean(), "auto", vote="score", cv=2, random_state=0),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", ESTIMATORS + VOTES, ids=lambda estimator: str(estimator)[:40])
def test_the_same_bits(estimator, library, n_classes, few_candidates):
    frames = pytest.importorskip(library)
    X, y = make_problem(n_classes=n_classes)
    table = frames.DataFrame({name: X[:, j] for j, name in enumerate("abc")})
    expected, method = clone(estimator).fit(X, y), "predict_proba"
    if not hasattr(expected, method):
        method = "transform"
    for rows in (X, table):  # warnings are errors: none may come from a step inside
        with config_context(transform_output=library):
            found = getattr(clone(estimator).fit(rows, y), method)(rows)
        if method == "transform":
            assert isinstance(found, frames.DataFrame)
            found = found.to_numpy()
        np.testing.assert_array_equal(found, getattr(expected, method)(X))
