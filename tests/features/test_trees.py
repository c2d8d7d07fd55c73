import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from raremetric import BalancedDiscriminant, BoostedLeaves, MetricKNNClassifier
from raremetric.features.trees import bin_rows, read_trees
from tests.conftest import make_problem

xgboost = pytest.importorskip("xgboost")


def grow(model, X, codes, weights=None):
    """XGBoost's own model with the parameters of a transformer."""
    rounds, parameters = model._parameters(len(np.unique(codes)))
    data = xgboost.QuantileDMatrix(X, codes, weight=weights, nthread=1)
    return xgboost.train(parameters, data, rounds)


@pytest.mark.kernels
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("missing", [False, True])
def test_values_are_those_of_the_leaves_that_xgboost_finds(n_classes, missing):
    X, y = make_problem(0, n_samples=120, n_features=4, n_classes=n_classes)
    X = np.round(X, 1).astype(np.float32)  # values equal to thresholds
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = BoostedLeaves(8, random_state=3).fit(X[:80], y[:80])
    booster = grow(model, X[:80], y[:80])
    Z = model.transform(X)
    assert Z.shape == (120, 8 if n_classes == 2 else 24)
    leaves = booster.predict(xgboost.DMatrix(X), pred_leaf=True).reshape(120, -1)
    table = booster.trees_to_dataframe()
    values = table[table.Feature == "Leaf"].set_index(["Tree", "Node"]).Gain
    expected = [[values[tree, int(leaf)] for tree, leaf in enumerate(row)] for row in leaves]
    np.testing.assert_allclose(Z, expected, rtol=1e-5, atol=1e-7)
    assert len(np.unique(Z[:, 0])) > 2


def test_models_that_share_rows_are_those_of_separate_fits():
    X, y = make_problem(2, n_samples=90)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=90)
    rows = bin_rows(X, y, weights, "A test")
    for settings in ({"max_leaves": 5}, {"learning_rate": 0.3, "subsample": 1.0}):
        shared = BoostedLeaves(10, random_state=1, **settings).fit_binned(rows)
        alone = BoostedLeaves(10, random_state=1, **settings).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(shared.transform(X), alone.transform(X))


@pytest.mark.parametrize("scale", [1e-29, 2.0**-20, 1e29])
def test_any_scale(scale):
    X, y = make_problem(3, n_samples=60)
    unscaled = BoostedLeaves(10, random_state=1).fit(X, y)
    scaled = BoostedLeaves(10, random_state=1).fit(X * scale, y)
    assert (unscaled.transform(X) == scaled.transform(X * scale)).mean() > 0.99


def test_rows_far_outside_of_the_training_data():
    X, y = make_problem(3, n_samples=60)
    model = BoostedLeaves(10, random_state=1).fit(X, y)
    largest = np.abs(X).max() + 1
    far = np.where(X > 0, 1e30, -1e30)
    np.testing.assert_array_equal(model.transform(far), model.transform(np.sign(X) * largest))


def test_weights():
    X, y = make_problem(4, n_samples=80)
    model, weights, X = (
        BoostedLeaves(10, random_state=0),
        np.where(y == 1, 50.0, 1.0),
        X.astype(np.float32),
    )
    margin = grow(model, X, y, weights).predict(xgboost.DMatrix(X), output_margin=True)
    difference = margin - model.fit(X, y, sample_weight=weights).transform(X).sum(axis=1)
    np.testing.assert_allclose(difference, difference[0], atol=1e-5)
    assert np.ptp(margin - model.fit(X, y).transform(X).sum(axis=1)) > 0.1


def test_axis_parallel_borders():
    """A checkerboard: neighbors in the space of the leaves, not in that of the features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(600, 6))
    y = ((X[:, 0].astype(int) + X[:, 1].astype(int)) % 4 == 0).astype(int)
    vote = MetricKNNClassifier(BalancedDiscriminant())
    leaves = make_pipeline(BoostedLeaves(random_state=0), vote)
    with_leaves, without = (
        cross_val_score(model, X, y, cv=3, scoring="f1").mean() for model in (leaves, vote)
    )
    assert with_leaves > 0.8
    assert with_leaves > without + 0.2


def test_a_fitted_map_needs_no_xgboost(tmp_path):
    X, y = make_problem(5, n_samples=60)
    model = BoostedLeaves(5, random_state=0).fit(X, y)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps((model, X)))
    code = (
        "import sys, pickle, pathlib, numpy; sys.modules['xgboost'] = None\n"
        f"model, X = pickle.loads(pathlib.Path({str(path)!r}).read_bytes())\n"
        "print(repr(float(model.transform(X).sum())))\n"
        "try: model.fit(X, [0, 1] * 30)\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    total, message = done.stdout.splitlines()
    assert float(total) == float(model.transform(X).sum())
    sentence = "BoostedLeaves needs xgboost, but it is not installed: pip install"
    assert message == f'{sentence} ".[trees]" in a clone of raremetric'


def test_an_unknown_order_of_nodes_is_refused():
    model = {"learner": {"gradient_booster": {"model": {"trees": [{
        "left_children": [2, -1, -1], "right_children": [1, -1, -1],
        "split_conditions": [0.5, 1.0, 2.0], "split_indices": [0, 0, 0],
        "default_left": [0, 0, 0],
    }]}}}}  # fmt: skip

    class Booster:
        def save_raw(self, kind):
            import json

            return bytearray(json.dumps(model).encode())

    with pytest.raises(ValueError, match="unknown order"):
        read_trees(Booster())
