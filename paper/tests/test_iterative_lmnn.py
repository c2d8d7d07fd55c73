"""IterativeLMNN: which examples are selected, when the selection is stable, what is learned."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from paper.rivals import IterativeLMNN
from raremetric import LMNN
from raremetric.validation import SmallClassWarning, quiet_repeats
from tests.conftest import make_problem

# Each class varies along the second feature, and has one example (the first) that lies outward on
# the first. The classes differ in the first feature only.
SIDE = np.array([[-1.2, 0.0], [0.0, 2.0], [0.0, -2.0], [0.0, 4.0], [0.0, -5.0]])
X = np.vstack([SIDE, [3.0, 0.0] + SIDE * [-1, 1]])
Y = np.repeat([0, 1], 5)
QUERIES = np.array([[0.0, 0.0], [3.0, 0.0]])


def select(X, y, queries, L, n_selected):
    """The union of the nearest examples of each class, by sorting all distances."""
    found = set()
    for q in queries:
        for label in np.unique(y):
            rows = np.flatnonzero(y == label)
            distances = np.linalg.norm((X[rows] - q) @ L.T, axis=1)
            found |= set(rows[np.argsort(distances, kind="stable")[:n_selected]].tolist())
    return sorted(found)


def fit_lmnn(X, y):
    """LMNN, also with fewer examples of a class than target neighbors."""
    with quiet_repeats():
        return LMNN(max_iter=100).fit(X, y)


def test_the_selection_settles_in_two_rounds():
    """By hand.

    Round 1: the four nearest to a query under the Euclidean distance are those at 1.2, 2, 2 and 4,
    but not the last one at 5. The metric that separates the classes ignores the second feature.
    Round 2: under it, the example at 1.2 is the farthest and is replaced by the last one. The new
    metric also ignores the second feature, so the selection stays.
    """
    once = IterativeLMNN(2, n_selected=4, overlap=0.5, max_rounds=1).fit(X, Y, QUERIES)
    assert once.selection_.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    assert once.overlap_ == pytest.approx(6 / 10)
    learner = IterativeLMNN(2, n_selected=4, overlap=1.0).fit(X, Y, QUERIES)
    assert learner.n_rounds_ == 2
    assert learner.selection_.tolist() == [1, 2, 3, 4, 6, 7, 8, 9]
    assert learner.overlap_ == 1.0
    M = learner.lmnn_.get_mahalanobis_matrix()
    assert M[0, 0] > 0
    np.testing.assert_allclose(M / M[0, 0], [[1, 0], [0, 0]], atol=1e-3)


@pytest.mark.parametrize("n_selected", [1, 3])
def test_the_metric_is_that_of_lmnn_on_the_selection(n_selected):
    X, y = make_problem(0, 60, 4, 3)
    queries = make_problem(1, 15, 4, 3)[0]
    learner = IterativeLMNN(n_selected=n_selected, overlap=1.0, max_rounds=2)
    with quiet_repeats():
        learner.fit(X, y, queries=queries)
    first = select(X, y, queries, np.eye(4), n_selected)
    lmnn = fit_lmnn(X[first], y[first])
    second = select(X, y, queries, lmnn.components_, n_selected)
    assert second != first
    assert learner.n_rounds_ == 2
    assert learner.selection_.tolist() == second
    lmnn = fit_lmnn(X[second], y[second])
    np.testing.assert_array_equal(learner.components_, lmnn.components_)
    assert learner.lmnn_.objective_ == lmnn.objective_
    third = select(X, y, queries, lmnn.components_, n_selected)
    assert learner.overlap_ == pytest.approx(
        len(set(second) & set(third)) / len(set(second) | set(third))
    )


def test_without_queries_each_example_asks_for_the_others():
    X, y = make_problem(0, 30, 2, 2)
    learner = IterativeLMNN(n_neighbors=1, n_selected=1, overlap=0.01, max_rounds=1).fit(X, y)
    expected = set()
    for i, x in enumerate(X):
        for label in (0, 1):
            rows = np.flatnonzero((y == label) & (np.arange(30) != i))
            expected.add(int(rows[np.argmin(np.linalg.norm(X[rows] - x, axis=1))]))
    assert learner.selection_.tolist() == sorted(expected)


def test_each_class_is_selected_no_matter_how_far_it_is():
    X, y = make_problem()
    far = np.vstack([X, [[1e3, 1e3, 1e3]]]), np.append(y, 2)
    learner = IterativeLMNN(1, n_selected=1, overlap=0.01)
    with pytest.warns(SmallClassWarning, match="LMNN uses n_neighbors=1"):
        learner.fit(*far, queries=X[:3])
    assert len(X) in learner.selection_


def test_order_of_rows_and_queries_and_names_of_classes_do_not_matter():
    X, y = make_problem(0, 60, 3, 3)
    queries = make_problem(1, 20, 3, 3)[0]
    rng = np.random.RandomState(0)
    rows, other = rng.permutation(60), rng.permutation(20)
    names = np.array(["c", "d", "e"])[y]
    first = IterativeLMNN(n_selected=3, max_rounds=30).fit(X, y, queries)
    second = IterativeLMNN(n_selected=3, max_rounds=30).fit(X[rows], names[rows], queries[other])
    assert sorted(rows[second.selection_]) == first.selection_.tolist()
    np.testing.assert_allclose(
        second.lmnn_.get_mahalanobis_matrix(),
        first.lmnn_.get_mahalanobis_matrix(),
        rtol=1e-2,
        atol=1e-3,
    )


def test_the_seed_decides_which_selected_examples_are_anchors():
    X, y = make_problem(0, 60, 3, 2)
    first, again, other = (
        IterativeLMNN(max_samples=20, random_state=seed, max_rounds=30).fit(X, y).components_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert not np.allclose(first, IterativeLMNN(max_rounds=30).fit(X, y).components_)


def test_columns_of_the_queries_are_checked():
    X, y = make_problem(0, 30, 2, 2)
    table = pd.DataFrame(X, columns=["width", "height"])
    assert IterativeLMNN().fit(table, y, queries=table[:5]).n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names should match"):
        IterativeLMNN().fit(table, y, queries=table[["height", "width"]])
    with pytest.raises(ValueError, match="X has 1 features, but IterativeLMNN is expecting 2"):
        IterativeLMNN().fit(X, y, queries=X[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        IterativeLMNN().fit(X, y, queries=X * np.nan)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_selected": 0}, "n_selected == 0, must be >= 1"),
        ({"overlap": 0.0}, "overlap == 0.0, must be > 0"),
        ({"overlap": 1.1}, "overlap == 1.1, must be <= 1"),
        ({"max_rounds": 0}, "max_rounds == 0, must be >= 1"),
        ({"push_weight": 2.0}, "push_weight == 2.0, must be <= 1"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        IterativeLMNN(**params).fit(*make_problem())


def test_stopping_early_is_told():
    X, y = make_problem(0, 60, 4, 2)
    expected = r"max_rounds=1 rounds, while \d+\.\d% of the selection were unchanged"
    with pytest.warns(ConvergenceWarning, match=expected):
        IterativeLMNN(n_selected=1, overlap=1.0, max_rounds=1).fit(X, y, queries=X[:9])
    with pytest.warns(ConvergenceWarning, match="LMNN stopped after 1 iter"):
        IterativeLMNN(max_iter=1).fit(X, y)
