import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric import IML, BalancedDiscriminant, Euclidean, MetricKNNClassifier, RareClassifier
from raremetric.voting import READINGS, Reading
from tests.conftest import make_problem


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_plain_distance_is_scikit_learns_classifier(wine):
    X, y = wine
    ours = MetricKNNClassifier(Euclidean(), n_neighbors=4).fit(X[::2], y[::2])
    theirs = KNeighborsClassifier(4).fit(X[::2], y[::2])
    np.testing.assert_array_equal(ours.predict(X[1::2]), theirs.predict(X[1::2]))
    np.testing.assert_allclose(ours.predict_proba(X[1::2]), theirs.predict_proba(X[1::2]))


def test_votes_are_taken_under_the_learned_metric(wine):
    X, y = wine
    model = MetricKNNClassifier(IML(tol=1e-3)).fit(X[::2], y[::2])
    by_hand = KNeighborsClassifier(3).fit(model.metric_.transform(X[::2]), y[::2])
    np.testing.assert_array_equal(
        model.predict(X[1::2]), by_hand.predict(model.metric_.transform(X[1::2]))
    )
    distances, rows = model.kneighbors(X[1::2])
    pairs = np.stack([X[1::2], X[::2][rows[:, 0]]], axis=1)
    np.testing.assert_allclose(distances[:, 0], model.metric_.pair_distance(pairs))


def test_training_examples_are_not_their_own_neighbors(wine):
    X, y = wine
    model = MetricKNNClassifier(Euclidean()).fit(X, y)
    rows = model.kneighbors(n_neighbors=5, return_distance=False)
    assert rows.shape == (len(X), 5)
    assert not np.any(rows == np.arange(len(X))[:, np.newaxis])
    with pytest.raises(ValueError, match=r"n_neighbors == 178, must be <= 177"):
        model.kneighbors(n_neighbors=len(X))
    with pytest.raises(ValueError, match=r"n_neighbors == 0, must be >= 1"):
        model.kneighbors(X, 0)


def test_neighbors_at_the_same_distance_come_in_the_order_of_their_rows():
    X = np.array([[3.0], [1.0], [-1.0], [1.0], [-1.0]])
    model = MetricKNNClassifier(Euclidean()).fit(X, ["c", "b", "a", "a", "b"])
    assert model.kneighbors([[0.0]])[1].tolist() == [[1, 2, 3]]
    assert model.predict([[0.0]]).tolist() == ["a"]


@pytest.mark.parametrize(
    "model", [MetricKNNClassifier(IML(tol=1e-3)), RareClassifier(0.1, cv=2, random_state=0)]
)
def test_metric_maps_the_rows_that_fit_takes(model):
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.std(axis=0)
    model.fit(X[:200], y[:200])
    distances, rows = model.kneighbors(X[200:], 1)
    own, others = model.metric_.transform(X[200:]), model.metric_.transform(X[:200])
    expected = np.linalg.norm(own - others[rows[:, 0]], axis=1)
    np.testing.assert_allclose(distances[:, 0], expected, rtol=1e-6, atol=1e-6)


def test_a_frozen_learner_is_not_fitted_again(wine):
    X, y = wine
    learner = BalancedDiscriminant().fit(X, y)
    components = learner.components_.copy()
    half = slice(None, None, 2)
    model = MetricKNNClassifier(FrozenEstimator(learner)).fit(X[half], y[half])
    assert model.metric_.estimator is learner
    by_hand = KNeighborsClassifier(3).fit(learner.transform(X[half]), y[half])
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(learner.transform(X)))
    refitted = MetricKNNClassifier(learner).fit(X[half], y[half])
    assert refitted.metric_ is not learner
    assert not np.array_equal(refitted.metric_.components_, components)
    np.testing.assert_array_equal(learner.components_, components)


def test_a_frozen_learner_must_be_fitted_and_serve_all_classes(wine):
    with pytest.raises(NotFittedError):
        MetricKNNClassifier(FrozenEstimator(Euclidean())).fit(*wine)
    frozen = FrozenEstimator(Euclidean().fit(*wine))
    message = r"frozen learner has one metric, but .* each of the 3 classes. Use multiclass='joint'"
    with pytest.raises(ValueError, match=message):
        MetricKNNClassifier(frozen, multiclass="one_vs_rest").fit(*wine)
    X, y = wine
    two = MetricKNNClassifier(frozen, multiclass="one_vs_rest").fit(X, y == 1)
    assert two.metric_ is frozen


def test_one_metric_per_class(wine):
    X, y = wine
    model = MetricKNNClassifier(IML(tol=1e-3), multiclass="one_vs_rest").fit(X[::2], y[::2])
    assert len(model.metrics_) == 3
    assert not hasattr(model, "metric_")
    with pytest.raises(AttributeError, match=r"one metric for each class; use one of metrics_"):
        _ = model.metric_
    for label, learner in enumerate(model.metrics_):
        alone = IML(tol=1e-3).fit(X[::2], y[::2] == label)
        np.testing.assert_array_equal(learner.components_, alone.components_)
    assert model.score(X[1::2], y[1::2]) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match=r"label must be one of \[0, 1, 2\]; got None"):
        model.kneighbors(X)
    assert model.kneighbors(X[:4], label=2, return_distance=False).shape == (4, 3)


def test_two_classes_share_one_metric_in_either_scheme(problem):
    X, y = problem
    joint = MetricKNNClassifier(IML()).fit(X, y)
    split = MetricKNNClassifier(IML(), multiclass="one_vs_rest").fit(X, y)
    np.testing.assert_array_equal(joint.predict(X), split.predict(X))
    assert split.metric_ is split.metrics_[0]


def test_ties_with_one_metric_per_class():
    # Under the plain distance all three metrics agree: the votes are those of one search.
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    y = np.array(["c", "a", "b", "a", "b", "c"])
    model = MetricKNNClassifier(Euclidean(), multiclass="one_vs_rest").fit(X, y)
    assert model.predict([[1.0]]).tolist() == ["a"]  # one vote each: the first class
    assert model.predict_proba([[1.0]]).tolist() == [pytest.approx([1 / 3] * 3)]
    model.fit(X, y, sample_weight=[2.0, 2.0, 2.0, 3.0, 3.0, 3.0])
    assert model.predict([[1.0]]).tolist() == ["a"]


@pytest.mark.parametrize(
    ("package", "table_type"),
    [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")],
)
def test_tables_and_text_labels(problem, package, table_type):
    X, y = problem
    text = np.where(y == 1, "fraud", "fine")
    make_table = getattr(pytest.importorskip(package), table_type)
    table = make_table({name: X[:, j] for j, name in enumerate("abc")})
    learner = BalancedDiscriminant().set_output(transform="pandas")
    model = MetricKNNClassifier(learner, vote="score", cv=3, random_state=0)
    weights = np.arange(len(X)) % 3  # rows are left out, and taken for folds
    model.fit(table, text, sample_weight=weights)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.metric_.feature_names_in_.tolist() == ["a", "b", "c"]
    plain = clone(model).fit(X, text, sample_weight=weights)
    assert set(plain.predict(X)) == {"fraud", "fine"}
    np.testing.assert_array_equal(model.predict(table), plain.predict(X))


def test_a_reading_chosen_in_folds_grows_with_the_examples():
    """A fold of two learns from half of the examples: the same share of them is twice as many."""
    X, y = make_problem(5, n_samples=80)
    options = {"vote": "score", "cv": 2, "random_state": 0}
    in_folds = MetricKNNClassifier(Euclidean(), "auto", **options).fit(X, y)
    assert in_folds.reading_._replace(size=in_folds.reading_.size // 2) in READINGS
    assert in_folds.n_neighbors_ == min(2 * in_folds.reading_.size - 1, 80)
    given = MetricKNNClassifier(Euclidean(), 5, **options).fit(X, y)
    assert given.reading_ == Reading(3)


def test_a_second_fit_forgets_what_it_does_not_set():
    X, y = make_problem(0, n_samples=60, n_classes=3)
    model = MetricKNNClassifier(Euclidean(), vote="score", cv=2, random_state=0).fit(X, y)
    assert hasattr(model, "threshold_")
    assert hasattr(model, "metric_")
    model.set_params(vote="majority", multiclass="one_vs_rest").fit(X, y)
    for name in ("threshold_", "reading_", "metric_"):
        assert not hasattr(model, name)
