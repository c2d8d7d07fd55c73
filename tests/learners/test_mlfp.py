import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from raremetric import Euclidean, MetricKNNClassifier
from raremetric.contenders import CONTENDERS
from raremetric.learners.mlfp import MLFP, make_loss
from raremetric.metric import matrix_from_components
from raremetric.selection import shuffled_folds
from tests.conftest import make_problem
from tests.oracles.few_positives import mlfp_loss, mlfp_optimum


def rare_problem(seed=0, n_samples=40, d=3):
    """Every fifth example is positive."""
    X, _ = make_problem(seed, n_samples=n_samples)
    X = np.column_stack([X, np.random.default_rng(seed).normal(size=(n_samples, d))])[:, :d]
    return X, (np.arange(n_samples) % 5 == 0).astype(int)


def test_a_case_solved_by_hand():
    """Positives at 0 and 2, negatives at 3 and 5, one feature: M is a number from 0 to 1.

    With k = 1, the terms are, for the example at 0: [s + 4M − 9]₊ = 0 and at 2: [s + 4M − 1]₊;
    at 3: [s + 4 − M]₊ and at 5: [s + 4 − 9M]₊. Each has the weight 1/2 · 1/4.
    """
    X, y = np.array([[0.0], [2.0], [3.0], [5.0]]), [1, 1, 0, 0]
    for s, mu in ((0.5, 0.01), (1.0, 1.0), (0.2, 0.1)):
        grid = np.linspace(0, 1, 100_001)
        hinges = [s + 4 * grid - 9, s + 4 * grid - 1, s + 4 - grid, s + 4 - 9 * grid]
        values = np.maximum(hinges, 0).sum(axis=0) / 8 + mu * (grid - 1) ** 2
        mlfp = MLFP(1, s, mu, pos_label=1, tol=1e-4, max_iter=5000).fit(X, y)
        assert mlfp.objective_ == pytest.approx(values.min(), rel=1e-4)
        assert mlfp.get_mahalanobis_matrix().item() == pytest.approx(
            grid[values.argmin()], abs=1e-2
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 3, 12])  # more than there are positives
@pytest.mark.filterwarnings("ignore:MLFP uses n_neighbors")
def test_the_loss_is_that_of_the_formula(k, weighted):
    X, y = rare_problem(3)
    weights = np.resize([1.0, 2.0, 0.5], len(X)) if weighted else None
    mlfp = MLFP(k, margin=0.7, regularization=0.2).fit(X, y, weights)
    assert mlfp.pos_label_ == 1
    expected = mlfp_loss(mlfp.get_mahalanobis_matrix(), X, y == 1, k, 0.7, 0.2, weights)
    assert mlfp.objective_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_the_gradient_is_that_of_the_value(width):
    X, y = rare_problem(5)
    loss = make_loss(MLFP(2, 0.3, 0.1), X, y == 1, np.ones(len(X)))
    L = np.random.default_rng(0).normal(size=(3, 3)) / 2
    _, over_M = loss.value_and_gradient(L, width)
    found = approx_fprime(
        L.ravel(), lambda x: loss.value_and_gradient(x.reshape(3, 3), width)[0], 1e-7
    )
    np.testing.assert_allclose(found.reshape(3, 3), 2 * L @ over_M, rtol=1e-3, atol=1e-4)


def test_the_loss_is_convex_and_its_bound_holds():
    X, y = rare_problem(7)
    rng = np.random.default_rng(1)
    for mu in (0.0, 0.1):
        loss = make_loss(MLFP(2, 0.5, mu), X, y == 1, np.ones(len(X)))
        metrics = []
        for _ in range(20):
            axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
            metrics.append(np.sqrt(rng.random(3))[:, np.newaxis] * axes)
        values = [loss.value_and_gradient(L)[0] for L in metrics]
        for L, value in zip(metrics[1:], values[1:], strict=True):
            middle = matrix_from_components(metrics[0]) + matrix_from_components(L)
            root = np.linalg.cholesky(middle / 2).T
            assert loss.value_and_gradient(root)[0] <= (values[0] + value) / 2 + 1e-12
        for width in (0.0, 0.1):
            assert max(loss.lower_bound(L, width) for L in metrics) <= min(values)


@pytest.mark.parametrize("seed", range(6))
def test_reaches_the_conic_optimum(seed):
    X, y = rare_problem(seed, n_samples=25)
    k, s, mu = 1 + seed % 3, [0.0, 0.5, 1.0][seed % 3], [0.01, 0.1, 1.0][seed // 2]
    optimum = mlfp_optimum(X, y == 1, k, s, mu)
    mlfp = MLFP(k, s, mu, tol=1e-4, max_iter=5000).fit(X, y)
    assert mlfp.objective_ == pytest.approx(optimum, rel=2e-4)
    assert mlfp.objective_ - mlfp.duality_gap_ <= optimum * (1 + 1e-6)
    assert mlfp.duality_gap_ <= 1e-4 * mlfp.objective_
    values = np.linalg.eigvalsh(mlfp.get_mahalanobis_matrix())
    assert values.min() >= -1e-12
    assert values.max() <= 1 + 1e-12


class TestVote:
    """The votes of `MetricKNNClassifier` under both distances."""

    def distances(self, X, y, queries, components):
        """Of each query to all positives, and to all negatives, sorted."""
        mapped = cdist(queries @ components.T, X[y == 1] @ components.T)
        return np.sort(mapped), np.sort(cdist(queries, X[y == 0]))

    @pytest.mark.parametrize("wrapped", [False, True])
    def test_the_majority_is_that_of_both_distances(self, wrapped):
        X, y = rare_problem(8, n_samples=120)
        X, queries = X[:80], X[80:]
        y, learner = y[:80], MLFP(1, regularization=0.001)
        expected = learner.fit(X, y).components_
        if wrapped:  # behind a scaler that changes nothing but doubles the features
            learner = make_pipeline(FunctionTransformer(lambda Z: 2 * Z), learner)
            X, queries = X / 2, queries / 2
        model = MetricKNNClassifier(learner, 3).fit(X, y)
        factor = 2 if wrapped else 1
        positives, negatives = self.distances(factor * X, y, factor * queries, expected)
        # Two of the three nearest are positives if the second positive beats the second negative.
        wins = positives[:, 1] < negatives[:, 1]
        np.testing.assert_array_equal(model.predict(queries), wins.astype(int))
        assert wins.any()
        plain = MetricKNNClassifier(Euclidean(), 3).fit(X, y).predict(queries)
        assert (plain <= wins).all()  # positives only came nearer
        assert (plain < wins).any()
        near, rows = model.kneighbors(queries, 5)
        both = np.sort(np.hstack([positives, negatives]))[:, :5]
        np.testing.assert_allclose(near, both)
        assert rows.max() < len(X)

    @pytest.mark.parametrize("vote", ["adjusted", "score"])
    def test_tuned_votes_work_with_any_labels(self, vote):
        X, y = rare_problem(9, n_samples=120)
        expected = MetricKNNClassifier(MLFP(), vote=vote, random_state=0).fit(X, y)
        names = np.array(["ok", "bad"])[y]
        found = MetricKNNClassifier(MLFP(), vote=vote, random_state=0).fit(X, names)
        np.testing.assert_array_equal(found.predict(X) == "bad", expected.predict(X) == 1)

    def test_a_frozen_metric_votes_on_other_examples(self):
        X, y = rare_problem(10, n_samples=120)
        learner = MLFP().fit(X[:60], y[:60])
        model = MetricKNNClassifier(FrozenEstimator(learner)).fit(X, y)
        positives, negatives = self.distances(X, y, X + 0.1, learner.components_)
        wins = positives[:, 1] < negatives[:, 1]
        np.testing.assert_array_equal(model.predict(X + 0.1), wins.astype(int))

    def test_what_one_sided_metrics_cannot_do_is_said(self):
        X, y = rare_problem(11)
        three = np.arange(len(X)) % 3
        MetricKNNClassifier(MLFP()).fit(X, three).predict(X)
        with pytest.raises(ValueError, match="one-sided learner has one metric"):
            MetricKNNClassifier(MLFP(), multiclass="one_vs_rest").fit(X, three)
        export = pytest.importorskip("raremetric.export")
        with pytest.raises(ValueError, match="toward one class only, such as MLFP"):
            export.to_onnx(MetricKNNClassifier(MLFP()).fit(X, y))

    def test_as_a_contender(self):
        X, y = rare_problem(12, n_samples=100)
        contender = CONTENDERS["MLFP"]
        folds = shuffled_folds(y[:80], 4, 0)
        tuned = contender.fit(contender.candidates(1)[:4], X[:80], y[:80], seed=0, folds=folds)
        model = make_pipeline(StandardScaler(), MetricKNNClassifier(MLFP(**tuned.chosen)))
        model[-1].learner.set_params(**contender.settings)
        expected = model.fit(X[:80], y[:80]).predict(X[80:])
        np.testing.assert_array_equal(tuned.answer(X[80:]).predicted, expected)
