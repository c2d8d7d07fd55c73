import logging
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
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


def test_fitting_twice_gives_an_identical_result(problem):
    first, second = IML().fit(*problem), IML().fit(*problem)
    assert first.components_.tobytes() == second.components_.tobytes()
    assert first.objective_ == second.objective_
    again = IML(pairs="random", random_state=0).fit(*problem)
    assert (
        again.components_.tobytes()
        == IML(pairs="random", random_state=0).fit(*problem).components_.tobytes()
    )


def test_threads_do_not_change_the_result(problem):
    one, two = IML(n_jobs=1).fit(*problem), IML(n_jobs=2).fit(*problem)
    assert one.components_.tobytes() == two.components_.tobytes()


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
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "projected"])
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


def test_warm_start_continues_from_the_last_fit(problem):
    iml = IML(warm_start=True, solver="lbfgs", tol=1e-6, max_iter=2000).fit(*problem)
    cold = iml.n_iter_
    assert iml.fit(*problem).n_iter_ < cold


def test_sample_weight_multiplies_an_examples_pairs(problem):
    X, y = problem
    plain = IML().fit(X, y)
    equal = IML().fit(X, y, sample_weight=np.full(len(X), 7.0))
    assert equal.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    weights = np.ones(len(X))
    weights[np.flatnonzero(y == 0)[0]] = 50.0
    heavy = IML().fit(X, y, sample_weight=weights)
    assert abs(heavy.objective_ - plain.objective_) > 1e-3 * plain.objective_


def test_ablations_are_settings(problem):
    X, y = problem
    balanced = IML(regularization=0.0).fit(X, y).objective_
    uniform = IML(regularization=0.0, set_weights="uniform").fit(X, y).objective_
    assert uniform > 10 * balanced  # a sum over pairs, not a mean
    ml1 = IML(pairs="random", set_weights="uniform", random_state=1).fit(X, y)
    assert ml1.n_iter_ > 0


def test_verbose_logs_every_iteration(problem, caplog):
    with caplog.at_level(logging.INFO, logger="raremetric"):
        iml = IML(solver="lbfgs", verbose=1).fit(*problem)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == iml.n_iter_
    assert re.match(r"\[IML\] iteration +\d+ +objective ", lines[0])
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="raremetric"):
        iml = IML(verbose=1).fit(*problem)
    assert f"iteration {iml.n_iter_:4d}" in caplog.records[-1].getMessage()


def test_stopping_early_gives_a_warning(problem):
    with pytest.warns(ConvergenceWarning, match=r"2 iterations \(max_iter=2\).*Raise max_iter or"):
        IML(max_iter=2).fit(*problem)


@given(
    seed=st.integers(0, 1000),
    m=st.sampled_from([0.0, 1.0, 1e4]),
    lam=st.sampled_from([0.0, 0.1, 10.0]),
    a=st.floats(0, 1),
)
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore:IML stopped after")
def test_every_setting_gives_a_finite_psd_metric_no_worse_than_the_identity(seed, m, lam, a):
    X, y = make_problem(seed, n_classes=2 + seed % 2)
    iml = IML(margin=m, regularization=lam, similar_weight=a).fit(X, y)
    M = iml.get_mahalanobis_matrix()
    assert np.isfinite(M).all()
    assert np.linalg.eigvalsh(M).min() >= -1e-9 * max(1, np.abs(M).max())
    plain = IML(margin=m, regularization=lam, similar_weight=a, init="identity", max_iter=1)
    assert iml.objective_ <= plain.fit(X, y).objective_ * (1 + 1e-3) + 1e-12


class TestBadInput:
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_infinite_or_missing_values(self, bad, problem):
        X, y = problem
        X[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            IML().fit(X, y)

    def test_one_class(self, problem):
        X, _ = problem
        with pytest.raises(ValueError, match=r"IML needs .* two classes.* only one class: 'ok'"):
            IML().fit(X, np.full(len(X), "ok"))

    def test_a_class_with_one_example_has_no_similar_pairs(self, problem):
        X, y = problem
        y = y.copy()
        y[5] = 9
        with pytest.warns(UserWarning, match=r"n_neighbors=3.*\(9: 1\): fewer neighbors"):
            iml = IML(tol=1e-3).fit(X, y)
        assert iml.pair_sets_[9].similar.shape == (0, 2)
        assert iml.pair_sets_[9].dissimilar.shape == (3, 2)

    def test_a_class_with_fewer_than_k_plus_one_examples(self):
        X, y = make_problem(0)
        y = np.where(np.arange(len(y)) < 3, "rare", "common")
        with pytest.warns(UserWarning, match=r"\('rare': 3\)"):
            iml = IML(tol=1e-3).fit(X, y)
        assert iml.pair_sets_["rare"].similar.shape == (3 * 2, 2)
        assert iml.pair_sets_["rare"].dissimilar.shape == (3 * 3, 2)
        # Each common example is paired with all three rare ones.
        assert iml.pair_sets_["common"].dissimilar.shape == (21 * 3, 2)

    def test_fewer_others_than_neighbors(self, problem):
        X, _ = problem
        y = (np.arange(len(X)) < 2).astype(int)
        with pytest.warns(UserWarning, match=r"\(1: 2\)"):
            iml = IML(tol=1e-3).fit(X, y)
        assert iml.pair_sets_[0].dissimilar.shape == (22 * 2, 2)

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

    @pytest.mark.filterwarnings("ignore:IML stopped after")
    def test_more_features_than_examples(self):
        X, y = make_problem(0, n_samples=12, n_features=30)
        iml = IML().fit(X, y)
        assert np.isfinite(iml.components_).all()
        pca = IML(init="pca", n_components=15).fit(X, y)
        assert pca.components_.shape == (15, 30)

    def test_sparse(self, problem):
        X, y = problem
        with pytest.raises(TypeError, match=r"[Ss]parse.*dense"):
            IML().fit(sparse.csr_matrix(X), y)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"margin": -1}, ValueError, r"margin == -1, must be >= 0"),
            ({"margin": "big"}, TypeError, r"margin must be an instance of"),
            ({"margin": np.nan}, ValueError, r"margin == nan, must be finite"),
            ({"similar_weight": 1.5}, ValueError, r"similar_weight == 1.5, must be <= 1"),
            ({"regularization": -0.1}, ValueError, r"regularization == -0.1, must be >= 0"),
            ({"n_neighbors": 0}, ValueError, r"n_neighbors == 0, must be >= 1"),
            ({"n_neighbors": 2.5}, TypeError, r"n_neighbors must be an instance of"),
            ({"n_neighbors": True}, TypeError, r"n_neighbors must be .* not bool"),
            ({"n_components": 4}, ValueError, r"n_components == 4, must be <= 3"),
            ({"pairs": "some"}, ValueError, r"pairs must be one of 'all', .*got 'some'"),
            ({"dissimilar": 1}, ValueError, r"dissimilar must be one of .*got 1"),
            ({"set_weights": "x"}, ValueError, r"set_weights must be one of"),
            ({"solver": "sgd"}, ValueError, r"solver must be one of 'auto', 'lbfgs'"),
            ({"init": "random"}, ValueError, r"init must be one of 'auto', 'identity', 'pca'"),
            (
                {"init": np.eye(2)},
                ValueError,
                r"init.shape == \(2, 2\), expected .* == \(3, 3\)",
            ),
            ({"init": np.full((3, 3), np.nan)}, ValueError, r"init contains NaN"),
            ({"max_iter": 0}, ValueError, r"max_iter == 0, must be >= 1"),
            ({"tol": 0}, ValueError, r"tol == 0, must be > 0"),
        ],
    )
    def test_parameters(self, parameters, error, message, problem):
        with pytest.raises(error, match=message):
            IML(**parameters).fit(*problem)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.full(24, -1.0), r"must not be negative; row 0 has -1"),
            (np.zeros(24), r"zero for every example"),
            (np.ones(3), r"sample_weight.shape == \(3,\), expected \(24,\)"),
            (np.full(24, np.nan), r"sample_weight contains NaN"),
        ],
    )
    def test_sample_weights(self, weights, message, problem):
        with pytest.raises(ValueError, match=message):
            IML().fit(*problem, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("scale", "margin", "regularization"), [(1e80, 1.0, 0.1), (1, 1e300, 1e300)]
)
def test_the_projected_solver_ends_for_extreme_numbers(scale, margin, regularization):
    X, y = make_problem(0)
    iml = IML(margin=margin, regularization=regularization, solver="projected", max_iter=20)
    assert iml.fit(scale * X, y).n_iter_ <= 20


def test_a_class_without_weight_is_refused(problem):
    X, y = problem
    with pytest.raises(ValueError, match=r"All examples of class 1 have a sample_weight of zero"):
        IML().fit(X, y, sample_weight=1.0 - y)


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


@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
def test_a_tolerance_below_rounding_is_tried(solver):
    X, y = make_problem(0, n_samples=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = IML(solver=solver, tol=1e-14, max_iter=500).fit(X, y)
    assert found.n_iter_ > 1
    assert found.objective_ <= IML().fit(X, y).objective_ * (1 + 1e-4)
