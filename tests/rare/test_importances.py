"""How much each column changes the log-odds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel

from raremetric import RareClassifier
from raremetric.rare.importances import shares_of_change
from tests.rare.conftest import SOON, rare_problem


def test_shares_of_a_linear_model():
    """The change by a column is its weight, times the distance of two values."""
    rng = np.random.default_rng(0)
    rows, w = rng.normal(size=(400, 3)), np.array([3.0, -1.0, 0.0])
    found = shares_of_change(lambda X: X @ w, rows, [[0], [1], [2]])
    np.testing.assert_allclose(found, [0.75, 0.25, 0], atol=0.03)
    joined = shares_of_change(lambda X: X @ w, rows, [[1], [2, 0]])
    np.testing.assert_allclose(joined, found[[1, 0]], atol=0.03)
    assert shares_of_change(lambda X: np.zeros(len(X)), rows, [[0, 1, 2]]).tolist() == [0]


@pytest.mark.usefixtures("few_candidates")
def test_they_are_those_of_the_original_columns():
    X, y = rare_problem(n_samples=160, n_positive=40)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": rng.normal(size=160), "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    frame["class"] = np.where(rng.random(160) < 0.1, "unknown", np.where(y == 1, "u", "v"))
    model = RareClassifier(SOON, random_state=0).fit(frame, y)
    shares = model.feature_importances_
    assert shares.shape == (5,)
    assert shares.sum() == pytest.approx(1)
    assert shares.argmin() == 0
    assert model.without_encoder().feature_importances_.shape == (7,)
    np.testing.assert_array_equal(shares, model.feature_importances_)
    chosen = SelectFromModel(model, prefit=True, max_features=4, threshold=-np.inf)
    assert frame.columns[chosen.get_support()].tolist() == ["a", "b", "c", "class"]
    three = y + (X[:, 0] > 1)
    several = RareClassifier(SOON, random_state=0).fit(frame, three)
    assert several.feature_importances_.sum() == pytest.approx(1)
