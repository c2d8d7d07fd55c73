"""Features on any scale: the same answer, or one sentence."""

import numpy as np
import pytest
from sklearn.base import clone

from raremetric import (
    GMML,
    IML,
    ITML,
    BalancedDiscriminant,
    Euclidean,
    ImportanceWeights,
    KernelLandmarks,
    MetricKNNClassifier,
    RareClassifier,
)
from raremetric.scales import unit_of
from tests.conftest import make_problem
from tests.estimators import ESTIMATORS

SCALES = [1e-29, 1e-12, 1e-6, 1e6, 1e12, 1e29]
VOTES = [
    MetricKNNClassifier(Euclidean(), 5),
    MetricKNNClassifier(Euclidean(), vote="adjusted", cv=2, random_state=0),
    MetricKNNClassifier(Euclidean(), "auto", vote="score", cv=2, random_state=0),
    MetricKNNClassifier(BalancedDiscriminant(), vote="score", cv=2, random_state=0),
]


def test_units_are_powers_of_two_above_sizes_that_are_not_moderate():
    sizes = [0, 0.5, 8, 8.1, 0.49]
    units = [1, 1, 1, 16, 0.5]
    np.testing.assert_array_equal(unit_of(sizes, -1, 3), units)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
class TestRefused:
    @pytest.mark.parametrize("scale", [1e31, 1e307, 1e-31, 1e-300])
    def test_features_that_are_too_large_or_too_small(self, estimator, scale, problem):
        X, y = problem
        message = r"X contains numbers as large as .* Divide the features by a large number"
        if scale < 1:
            message = r"differ by .* at most; .* Multiply the features by a large number"
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(scale * X, y)

    @pytest.mark.usefixtures("few_candidates")
    def test_queries(self, estimator, problem):
        X, y = problem
        fitted = clone(estimator).fit(X, y)
        ask = fitted.predict if hasattr(fitted, "predict") else fitted.transform
        with pytest.raises(ValueError, match="X contains numbers as large as 1e"):
            ask(np.full((1, 3), 1e31))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("classifier", VOTES, ids=["majority", "adjusted", "score", "whitened"])
def test_votes_do_not_depend_on_the_scale(classifier, scale, problem):
    X, y = problem
    expected = clone(classifier).fit(X, y).predict_proba(X)
    found = clone(classifier).fit(scale * X, y).predict_proba(scale * X)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("scale", SCALES)
def test_the_ensemble_does_not_depend_on_the_scale(scale, problem):
    X, y = problem
    expected = RareClassifier(1e-6, random_state=0).fit(X, y)
    found = RareClassifier(1e-6, random_state=0).fit(scale * X, y)
    p = found.predict_proba(scale * X)
    np.testing.assert_allclose(p, expected.predict_proba(X), atol=1e-6)
    assert found.threshold_ == pytest.approx(expected.threshold_, abs=1e-6)


@pytest.mark.parametrize("scale", SCALES)
def test_maps_do_not_depend_on_the_scale(scale, problem):
    X, y = problem
    forest = ImportanceWeights(n_estimators=10, random_state=0)
    expected = clone(forest).fit(X, y).weights_
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(clone(forest).fit(scale * X, y).weights_, expected, rtol=1e-6)
    for kernel in ("laplacian", "rbf"):
        Z = KernelLandmarks(kernel).fit_transform(X)
        other = KernelLandmarks(kernel).fit_transform(scale * X)
        np.testing.assert_allclose(other @ other.T, Z @ Z.T, atol=1e-9)


@pytest.mark.parametrize("vote", ["adjusted", "score"])
@pytest.mark.parametrize("far", [1e10, 1e30])
def test_probabilities_of_queries_far_away_are_finite(vote, far, problem):
    X, y = problem
    model = MetricKNNClassifier(BalancedDiscriminant(), vote=vote, cv=2, random_state=0)
    p = model.fit(1e-29 * X, y).predict_proba([[far, 0, 0], [-far, far, far]])
    np.testing.assert_allclose(p.sum(axis=1), 1)


class TestIML:
    @pytest.mark.filterwarnings("ignore:IML stopped after")  # the proof is not always as tight
    @pytest.mark.parametrize("solver", ["auto", "lbfgs"])
    @pytest.mark.parametrize("scale", [1e6, 1e10, 1e29])
    def test_of_large_features_is_that_without_regularization(self, solver, scale):
        # M is tiny, so that λ‖M − I‖² is λ times the number of features.
        X, y = make_problem(3)
        expected = IML(regularization=0.0, solver="lbfgs", max_iter=2000).fit(X, y).objective_
        iml = IML(regularization=0.1, solver=solver, max_iter=400).fit(scale * X, y)
        assert iml.objective_ == pytest.approx(expected + 0.3, rel=1e-3)
        assert iml.duality_gap_ <= 2e-3 * iml.objective_
        assert np.isfinite(iml.transform(scale * X)).all()

    @pytest.mark.parametrize("scale", [1e-29, 1e-12, 1e12, 1e29])
    def test_without_regularization_the_scale_does_not_matter(self, scale):
        X, y = make_problem(3)
        expected = IML(regularization=0.0).fit(X, y)
        iml = IML(regularization=0.0).fit(scale * X, y)
        assert iml.objective_ == pytest.approx(expected.objective_, rel=1e-3)
        size = np.linalg.norm(expected.components_)
        assert np.linalg.norm(scale * iml.components_) == pytest.approx(size, rel=0.2)

    @pytest.mark.parametrize("scale", [1e6, 1e29])
    def test_features_that_nothing_attracts_keep_a_weight_of_one(self, scale):
        # The penalty pulls M toward the identity where no similar pairs differ.
        X, y = make_problem(3)
        X = np.column_stack([scale * X, np.ones(len(X))])
        M = IML(regularization=0.1).fit(X, y).get_mahalanobis_matrix()
        assert M[3, 3] == pytest.approx(1, rel=0.01)
        assert M[0, 0] < 1e-6
        M = IML(similar_weight=0.0, regularization=0.1).fit(X, y).get_mahalanobis_matrix()
        np.testing.assert_allclose(M, np.eye(4), atol=1e-6)

    @pytest.mark.filterwarnings("ignore:IML stopped after")  # it cannot know how large M may be
    @pytest.mark.parametrize("solver", ["auto", "lbfgs"])
    def test_of_large_classes_of_equal_examples(self, solver):
        y = np.arange(8) % 2
        iml = IML(1, solver=solver).fit(1e29 * (y[:, np.newaxis] - 0.5), y)
        assert 0 <= iml.objective_ <= 0.02
        assert iml.duality_gap_ >= iml.objective_ - 0.01  # λ is all that a better metric could save

    def test_of_equal_examples(self):
        for X in (np.ones((6, 2)), np.full((6, 2), 0.1), np.full((6, 2), -8.4e-31)):
            iml = IML(2, regularization=0.0).fit(X, np.arange(6) % 2)
            assert iml.objective_ == pytest.approx(0.5 * 101 / 2)
            np.testing.assert_array_equal(iml.get_mahalanobis_matrix(), np.eye(2))

    @pytest.mark.parametrize("weight", [1e308, 1e150, 1e-150, 5e-324])
    def test_weights_that_are_all_the_same(self, weight, problem):
        X, y = problem
        expected = IML().fit(X, y)
        iml = IML().fit(X, y, sample_weight=np.full(len(X), weight))
        np.testing.assert_array_equal(iml.components_, expected.components_)
        assert iml.duality_gap_ == expected.duality_gap_

    def test_weights_of_very_different_sizes_are_refused(self, problem):
        X, y = problem
        weights = np.ones(len(X))
        weights[0] = 5e-324
        with pytest.raises(ValueError, match=r"sample_weight holds 4.94066e-324 and 1; weights"):
            IML().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("scale", [1, 1e-29])
def test_equal_examples_have_no_covariance(scale):
    # Neither those of a class, nor all of them: by rounding, their means differ.
    y = np.arange(11) % 2
    X = scale * (0.1 + 0.3 * y[:, np.newaxis])
    np.testing.assert_allclose(BalancedDiscriminant(stretch=1.0).fit(X, y).components_, [[1]])
    L = BalancedDiscriminant().fit(np.full((7, 2), 0.1), np.arange(7) % 2).components_
    np.testing.assert_allclose(L, np.eye(2))


class TestGMML:
    @pytest.mark.parametrize("scale", [1e3, 1e9])
    def test_solves_its_equation_at_any_large_scale(self, scale, problem):
        X, y = 1e20 * problem[0], problem[1]  # so large that the identity in S and D is lost
        gmml = GMML(random_state=0)
        expected = clone(gmml).fit(X, y)
        gmml.fit(scale * X, y)  # at t = 1/2, M does not depend on the scale, and MSM = D
        M, S = gmml.get_mahalanobis_matrix(), gmml.similar_scatter_
        np.testing.assert_allclose(M, expected.get_mahalanobis_matrix(), rtol=1e-8)
        np.testing.assert_allclose(M @ S @ M, gmml.dissimilar_scatter_, rtol=1e-8)
        # The eigenvalues of SD grow with the fourth power of the scale.
        S, D = expected.similar_scatter_, expected.dissimilar_scatter_
        logs = np.log(np.linalg.eigvals(S @ D).real) + 4 * np.log(scale)
        assert gmml.objective_ == pytest.approx(np.sum(logs**2) / 4)

    def test_is_the_identity_at_small_scales(self, problem):
        X, y = problem
        M = GMML(random_state=0).fit(1e-29 * X, y).get_mahalanobis_matrix()
        np.testing.assert_allclose(M, np.eye(3), atol=1e-15)

    def test_objective_of_features_on_very_different_scales(self):
        X = np.random.default_rng(0).normal(size=(40, 5)) * [1e-6, 1, 1e6, 1, 0]
        y = np.arange(40) % 2
        gmml = GMML(pairs="neighbors").fit(X, y)
        S, D = gmml.similar_scatter_, gmml.dissimilar_scatter_
        largest = np.log(S[2, 2] * D[2, 2]) ** 2  # the scatter of the other features is smaller
        assert largest / 4 < gmml.objective_ < 5 * largest / 4


@pytest.mark.parametrize("scale", [1e-29, 1e-8, 1e8, 1e29])
def test_itml_is_the_same_at_any_scale(scale, problem):
    X, y = problem
    expected = ITML(random_state=0).fit(X, y)
    itml = ITML(random_state=0).fit(scale * X, y)
    np.testing.assert_allclose(itml.components_, expected.components_, rtol=1e-6)
    assert itml.objective_ == pytest.approx(expected.objective_)
    np.testing.assert_allclose(itml.pair_bounds_, scale**2 * expected.pair_bounds_)
    # The products of multipliers and bounds have no unit.
    products = expected.multipliers_ * expected.pair_bounds_
    np.testing.assert_allclose(itml.multipliers_ * itml.pair_bounds_, products, atol=1e-6)


def test_itml_says_so_if_its_bounds_cannot_be_met(problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"are too far from the squared Euclidean distances"):
        ITML(bounds=(1e-300, 1e300), random_state=0).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_of_a_start_far_from_the_optimum_is_finite(solver):
    """The dual point proves nothing here, but the loss is never below zero."""
    X = 1e29 * np.array([[-2.0, -1.0, 2.0], [1.0, -2.0, 1.0], [-2.0, 0.0, 1.0], [-2.0, -1.0, 1.0]])
    iml = IML(1, 0.0, 0.0, 1e-3, n_components=1, init="identity", solver=solver, max_iter=5)
    iml.fit(X, [0, 1, 1, 0])
    assert 0 <= iml.duality_gap_ <= iml.objective_
