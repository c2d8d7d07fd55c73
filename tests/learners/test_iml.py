import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from raremetric import IML
from tests.conftest import make_problem
from tests.oracles.neighbors import dissimilar_lists, similar_lists
from tests.oracles.pair_sets import iml_loss


def different_scales(seed, n_samples=300, share=0.1):
    """A rare class that differs in one feature of small variance; the others are larger noise."""
    rng = np.random.RandomState(seed)
    y = (np.arange(n_samples) < share * n_samples).astype(int)
    X = rng.normal(size=(n_samples, 6))
    X[:, 0] = 0.35 * X[:, 0] + 1.2 * y
    return X, y


def test_the_learned_metric_finds_more_of_the_rare_class():
    X, y = different_scales(0)
    X_test, y_test = different_scales(1)
    iml = IML().fit(X, y)
    scores = {}
    for name, (train, test) in {
        "plain": (X, X_test),
        "learned": (iml.transform(X), iml.transform(X_test)),
    }.items():
        knn = KNeighborsClassifier(3).fit(train, y)
        scores[name] = f1_score(y_test, knn.predict(test))
    assert scores["learned"] > scores["plain"] + 0.1
    M = iml.get_mahalanobis_matrix()
    assert np.argmax(np.diag(M)) == 0


def test_without_similar_pairs_and_regularization_the_path_is_that_of_the_papers_program():
    # With a = 0 and λ = 0 every metric that is large enough has no loss.
    X, y = make_problem(3, n_samples=30, n_features=3)
    loss = {"k": 3, "m": 50.0, "a": 0.0, "lam": 0.0, "refreshed": True}
    found = minimize(
        lambda flat: iml_loss(flat.reshape(3, 3), X, y, **loss), np.eye(3).ravel(),
        method="L-BFGS-B",
    )  # fmt: skip
    learned = IML(margin=50.0, similar_weight=0.0, regularization=0.0).fit(X, y)
    assert learned.objective_ == 0
    np.testing.assert_allclose(learned.components_, found.x.reshape(3, 3), rtol=1e-3, atol=1e-3)
    # Not a multiple of the identity, which has no loss either.
    assert np.abs(found.x.reshape(3, 3) - found.x[0] * np.eye(3)).max() > 0.1


def test_renamed_classes_and_permuted_rows_give_the_same_metric(problem):
    X, y = problem
    rows = np.random.RandomState(0).permutation(len(X))
    names = np.array(["zebra", "ant"])
    proved = IML(solver="lbfgs", tol=1e-6, max_iter=5000)
    plain = clone(proved).fit(X, y)
    other = clone(proved).fit(X[rows], names[y[rows]])
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert other.classes_.tolist() == ["ant", "zebra"]
    np.testing.assert_allclose(
        other.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix(), rtol=1e-2, atol=1e-2
    )


def test_pair_sets_contain_the_pairs_of_the_loss():
    X, y = make_problem(2, n_classes=3)
    names = np.array(["a", "b", "c"])
    fixed = IML(dissimilar="fixed", n_neighbors=2).fit(X, names[y])
    refreshed = IML(n_neighbors=2).fit(X, names[y])
    projected = refreshed.transform(X)
    for sets, space in ((fixed.pair_sets_, X), (refreshed.pair_sets_, projected)):
        assert list(sets) == ["a", "b", "c"]
        for c, (label, pair_set) in enumerate(sets.items()):
            rows = np.flatnonzero(y == c)
            assert set(names[y[pair_set.similar.ravel()]]) == {label}
            similar = [[i, j] for i in rows for j in similar_lists(X, y, 2)[i]]
            dissimilar = [[i, j] for i in rows for j in dissimilar_lists(space, y, 2)[i]]
            assert sorted(pair_set.similar.tolist()) == sorted(similar)
            assert sorted(pair_set.dissimilar.tolist()) == sorted(dissimilar)


@pytest.mark.parametrize("pairs", ["random", "all"])
def test_other_choices_of_pairs(pairs, problem):
    X, y = problem
    iml = IML(pairs=pairs, random_state=0, tol=1e-3).fit(X, y)
    sets = iml.pair_sets_
    n_pairs = sum(len(s.similar) + len(s.dissimilar) for s in sets.values())
    assert n_pairs == (2 * len(X) * 3 if pairs == "random" else len(X) * (len(X) - 1))
    for label, pair_set in sets.items():
        assert np.all(y[pair_set.similar] == label)
        assert np.all(pair_set.similar[:, 0] != pair_set.similar[:, 1])
        assert np.all(y[pair_set.dissimilar[:, 0]] == label)
        assert np.all(y[pair_set.dissimilar[:, 1]] != label)


def test_the_gap_shrinks_with_tol_and_bounds_the_error(problem):
    loose = IML(solver="lbfgs", tol=1e-2).fit(*problem)
    tight = IML(solver="lbfgs", tol=1e-6, max_iter=2000).fit(*problem)
    assert tight.duality_gap_ <= 1e-6 * tight.objective_
    assert tight.objective_ <= loose.objective_
    assert loose.objective_ - loose.duality_gap_ <= tight.objective_ + 1e-12


def test_the_gap_is_computed_lazily_and_after_pickling(problem):
    with pytest.raises(NotFittedError):
        _ = IML().duality_gap_
    iml = pickle.loads(pickle.dumps(IML(regularization=0.1).fit(*problem)))
    gap = iml.set_params(regularization=0.0).duality_gap_  # of the fit, not of new parameters
    assert 0 <= gap < iml.objective_
    assert np.isnan(iml.fit(*problem).duality_gap_)


def test_a_tight_tolerance_is_met_in_double_precision(problem):
    tight = IML(tol=1e-8, regularization=1.0, max_iter=2000).fit(*problem)
    reference = IML(solver="lbfgs", tol=1e-7, regularization=1.0, max_iter=2000).fit(*problem)
    assert tight.objective_ == pytest.approx(reference.objective_, rel=1e-4)


@pytest.mark.parametrize("dissimilar", ["fixed", "refreshed"])
@pytest.mark.parametrize("lam", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("scheme", ["balanced", "inverse"])
@pytest.mark.filterwarnings("ignore:IML stopped after")
def test_the_fast_solver_agrees_with_the_reference(lam, dissimilar, scheme):
    X, y = make_problem(3, n_samples=80, n_features=6, n_classes=3)
    settings = {"margin": 10.0, "regularization": lam, "dissimilar": dissimilar}
    settings["set_weights"] = scheme
    reference = IML(solver="lbfgs", max_iter=3000, **settings).fit(X, y)
    fast = IML(**settings).fit(X, y)
    assert fast.objective_ <= reference.objective_ * (1 + 1e-3)
    if lam > 0:
        assert fast.objective_ - fast.duality_gap_ <= reference.objective_ + 1e-12
        assert fast.objective_ >= reference.objective_ - reference.duality_gap_


@pytest.mark.filterwarnings("ignore:IML stopped after")
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_low_rank(solver, problem):
    X, y = problem
    full = IML(regularization=0.1, solver="lbfgs", max_iter=500).fit(X, y)
    low = IML(regularization=0.1, n_components=2, solver=solver, max_iter=500).fit(X, y)
    assert low.components_.shape == (2, 3)
    assert low.transform(X).shape == (len(X), 2)
    assert np.linalg.matrix_rank(low.get_mahalanobis_matrix()) == 2
    assert low.objective_ >= full.objective_ - full.duality_gap_
    assert low.objective_ - low.duality_gap_ <= full.objective_


@pytest.mark.parametrize("init", ["auto", "identity", "pca", np.diag([3.0, 1.0, 0.2])])
def test_every_start_ends_at_the_same_optimum(init, problem):
    reference = IML(solver="lbfgs", max_iter=1000).fit(*problem)
    for solver, accuracy in {"lbfgs": 2e-4, "auto": 1e-3}.items():
        iml = IML(init=init, solver=solver, max_iter=1000).fit(*problem)
        assert iml.objective_ == pytest.approx(reference.objective_, rel=accuracy)


class TestUnusualInput:
    @pytest.mark.parametrize("n_rare", [1, 2, 3])
    def test_a_class_with_fewer_than_k_plus_one_examples(self, n_rare, problem):
        X, y = problem[0], np.where(np.arange(24) < n_rare, "rare", "common")
        with pytest.warns(UserWarning, match=rf"n_neighbors=3.*\('rare': {n_rare}\): fewer"):
            sets = IML(tol=1e-3).fit(X, y).pair_sets_
        assert sets["rare"].similar.shape == (n_rare * (n_rare - 1), 2)
        assert sets["rare"].dissimilar.shape == (n_rare * 3, 2)
        # Each common example is paired with all of the rare ones.
        assert sets["common"].dissimilar.shape == ((24 - n_rare) * n_rare, 2)

    def test_constant_and_duplicate_features(self, problem):
        X, y = problem
        X = np.column_stack([X, np.ones(len(X)), X[:, 0]])
        iml = IML(tol=1e-3).fit(X, y)
        M = iml.get_mahalanobis_matrix()
        assert np.isfinite(M).all()
        # The loss does not depend on a constant feature, so its weight is that of the start.
        np.testing.assert_allclose(M[3, [0, 1, 2, 4]], 0, atol=1e-9)

    def test_duplicate_points_are_neighbors_of_each_other_not_of_themselves(self):
        X = np.repeat(np.array([[0.0, 0], [1, 0], [3, 0]]), 4, axis=0)
        y = np.repeat([0, 1, 1], 4)
        iml = IML(tol=1e-3).fit(X, y)
        for pair_set in iml.pair_sets_.values():
            assert np.all(pair_set.similar[:, 0] != pair_set.similar[:, 1])
        assert iml.pair_sets_[0].similar[:3].tolist() == [[0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize("size", [1e2, 1e3, 1e6, 1e9])
def test_a_start_that_is_far_too_large_is_left_or_reported(size):
    X, y = make_problem(0, n_samples=60)
    best = IML().fit(X, y).objective_
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = IML(init=size * np.eye(X.shape[1])).fit(X, y)
    if found.objective_ > 1.01 * best:
        assert [each.category for each in caught] == [ConvergenceWarning]
    else:
        assert not caught


def test_a_tolerance_below_rounding_is_tried():
    X, y = make_problem(0, n_samples=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = IML(solver="lbfgs", tol=1e-14, max_iter=500).fit(X, y)
    assert found.n_iter_ > 1
    assert found.objective_ <= IML().fit(X, y).objective_ * (1 + 1e-4)
