import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raremetric import IML
from raremetric.learners import iml
from raremetric.learners.problem import LossParameters
from raremetric.losses.dual import DualBound, DualPoint, dual_value
from raremetric.losses.pair_sets import best_multiple
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.pair_sets import iml_loss

FIVE_POINTS = np.array([[0.0, 0], [1, 0], [3, 0], [3, 1], [5, 0]])
FIVE_LABELS = np.array([1, 1, 0, 0, 0])


def make_loss(
    X, y, *, k=3, m=1.0, a=0.5, lam=0.01, refreshed=True, scheme="balanced", w=None, smooth=False
):
    labels = check_labels(y, "test")
    weights = np.ones(len(X)) if w is None else np.asarray(w, dtype=float)
    learner = IML(k, dissimilar="refreshed" if refreshed else "fixed", set_weights=scheme)
    problem = iml.make_problem(learner, X, labels, weights)
    return problem.loss(LossParameters(m, a, lam), smooth_exchange=smooth)


def scaled(L, loss):
    return best_multiple(L, loss.ray(L), loss)


@pytest.mark.parametrize(
    ("scheme", "weights", "expected"),
    [
        # With L = 2I squared distances are four times the Euclidean ones. Hinges for m = 40:
        # Sim+ {3, 3}, Sim- {3, 3, 15}, Dis+ {5, 25}, Dis- {25, 21, 0}; λ‖4I − I‖² = 9.
        ("balanced", None, 0.25 / 4 * (3 + 7) + 0.75 / 4 * (15 + 46 / 3) + 9),
        ("uniform", None, 0.25 * (6 + 21) + 0.75 * (30 + 46) + 9),
        # The first point has weight 3, the last 2; the total weight of each set is unchanged.
        (
            "balanced",
            [3, 1, 1, 1, 2],
            0.25 / 4 * (12 / 4 + 36 / 4) + 0.75 / 4 * (40 / 4 + 46 / 4) + 9,
        ),
        (
            "uniform",
            [3, 1, 1, 1, 2],
            0.25 * (2 * 3 + 3 * 9) + 0.75 * (2 * 10 + 3 * 11.5) + 9,
        ),
        # Sums in which pairs of the class of two have weight 3/5, of the class of three 2/5; a = ½.
        ("inverse", None, 3 / 5 * (6 + 30) + 2 / 5 * (21 + 46) + 9),
        ("inverse", [3, 1, 1, 1, 2], 3 / 5 * 2 * (3 + 10) + 2 / 5 * 3 * (9 + 11.5) + 9),
    ],
)
@pytest.mark.parametrize("refreshed", [False, True])
def test_five_points_by_hand(scheme, weights, expected, refreshed):
    a = 0.5 if scheme == "inverse" else 0.25
    settings = {"k": 1, "m": 40.0, "a": a, "lam": 0.5, "refreshed": refreshed}
    loss = make_loss(FIVE_POINTS, FIVE_LABELS, scheme=scheme, w=weights, **settings)
    assert loss.value_and_gradient(2 * np.eye(2))[0] == pytest.approx(expected, rel=1e-14)


def test_refreshed_neighbors_follow_the_metric():
    # From (0, 0) the other class is nearest at (2, 0), but at (0, 3) once x is stretched by 3.
    X = np.array([[0.0, 0], [0, 0.1], [2, 0], [0, 3]])
    y = np.array([1, 1, 0, 0])
    L = np.diag([3.0, 1.0])
    settings = {"k": 1, "m": 99.0, "a": 0.0, "lam": 0.0}
    fixed = make_loss(X, y, refreshed=False, **settings).value_and_gradient(L)[0]
    refreshed = make_loss(X, y, refreshed=True, **settings).value_and_gradient(L)[0]
    dis_pos_fixed = (100 - 36 + 100 - 36.01) / 2
    dis_pos_refreshed = (100 - 9 + 100 - 2.9**2) / 2
    dis_neg = (100 - 36 + 100 - 2.9**2) / 2
    assert fixed == pytest.approx((dis_pos_fixed + dis_neg) / 4)
    assert refreshed == pytest.approx((dis_pos_refreshed + dis_neg) / 4)


@pytest.mark.kernels
@pytest.mark.parametrize("refreshed", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scheme", ["balanced", "uniform", "inverse"])
def test_value_against_the_oracle(refreshed, n_classes, scheme):
    X, y = make_problem(3, n_classes=n_classes)
    rng = np.random.RandomState(0)
    L, weights = rng.normal(size=(2, 3)), rng.uniform(0.1, 2, size=len(X))
    settings = {"k": 3, "m": 10, "a": 0.3, "lam": 0.01, "refreshed": refreshed, "scheme": scheme}
    loss = make_loss(X, y, w=weights, **settings)
    expected = iml_loss(L, X, y, sample_weight=weights, **settings)
    assert loss.value(L) == pytest.approx(expected, rel=1e-12)
    assert loss.value_and_gradient(L)[0] == pytest.approx(expected, rel=1e-12)
    single = loss.in_precision(np.float32).value_and_gradient(L)[0]
    assert single == pytest.approx(expected, rel=1e-5)


def central_differences(f, L, step=1e-6):
    gradient = np.empty_like(L)
    for index in np.ndindex(*L.shape):
        change = np.zeros_like(L)
        change[index] = step
        gradient[index] = (f(L + change) - f(L - change)) / (2 * step)
    return gradient


@pytest.mark.kernels
@pytest.mark.parametrize("width", [0.0, 0.05])
@pytest.mark.parametrize(("refreshed", "smooth"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("rank", [2, 4])
@pytest.mark.parametrize(
    ("n_classes", "scheme"), [(2, "balanced"), (3, "balanced"), (3, "inverse")]
)
def test_gradient_by_central_differences(width, refreshed, smooth, rank, n_classes, scheme):
    X, y = make_problem(rank, n_samples=30, n_features=4, n_classes=n_classes)
    L = np.random.RandomState(rank).normal(size=(rank, 4))  # kinks have probability zero
    a = 0.4
    settings = {"refreshed": refreshed, "smooth": smooth, "scheme": scheme}
    loss = make_loss(X, y, m=10.0, a=a, lam=0.1, **settings)
    _, gradient = loss.value_and_gradient(L, width)
    numeric = central_differences(lambda A: loss.value_and_gradient(A, width)[0], L)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


@given(
    seed=st.integers(0, 10_000),
    refreshed=st.booleans(),
    m=st.sampled_from([1.0, 10.0, 10_000.0]),
    lam=st.sampled_from([0.01, 1.0, 10.0]),
    a=st.floats(0, 1),
    width=st.sampled_from([0.0, 1e-3, 0.3]),
    scheme=st.sampled_from(["balanced", "inverse"]),
    smooth=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_bound_never_exceeds_the_loss(seed, refreshed, m, lam, a, width, scheme, smooth):
    X, y = make_problem(seed, n_classes=2 + seed % 2)
    settings = {"refreshed": refreshed, "scheme": scheme, "smooth": smooth}
    loss = make_loss(X, y, m=m, a=a, lam=lam, **settings)
    rng = np.random.RandomState(seed)
    bound = DualBound(lam)
    for _ in range(3):  # one dual point, then convex combinations of several
        bound.add(loss.dual_point(loss.multipliers(rng.normal(size=(3, 3)), width)))
    for scale in (0.0, 0.1, 1.0, 5.0):  # everywhere, not only at the L of the dual point
        value, _ = loss.value_and_gradient(scale * rng.normal(size=(3, 3)))
        assert bound.value <= value * (1 + 1e-12) + 1e-9


def test_a_convex_combination_of_dual_points_is_at_least_as_good_as_the_best():
    loss = make_loss(*make_problem(0))
    rng = np.random.RandomState(0)
    points = [loss.dual_point(loss.multipliers(rng.normal(size=(3, 3)), 0.1)) for _ in range(4)]
    bound, mixed = DualBound(0.01), []
    for point in points:
        bound.add(point)
        mixed.append(bound.value)
    alone = [dual_value(point, 0.01) for point in points]
    assert np.all(mixed >= np.maximum.accumulate(alone) - 1e-3 * np.abs(alone))
    assert mixed == sorted(mixed)


@given(seed=st.integers(0, 10_000), width=st.floats(1e-4, 1.0), smooth=st.booleans())
@settings(max_examples=60, deadline=None)
def test_rounding_never_raises_the_loss_nor_lowers_it_by_more_than_its_width(seed, width, smooth):
    X, y = make_problem(seed)
    loss = make_loss(X, y, smooth=smooth)
    L = np.random.RandomState(seed).normal(size=(3, 3))
    exact, rounded = loss.value(L), loss.value_and_gradient(L, width)[0]
    # Each term is lower by at most δ/2 times the sum of the multipliers: 1 for similar pairs, and
    # (1 + m) k for the k nearest of an anchor.
    most = width / 2 * (loss.similar_weights.sum() + 2 * 3 * loss.anchor_weights.sum())
    assert exact - most - 1e-9 <= rounded <= exact * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("refreshed", [False, True])
def test_units_of_the_features_change_neither_the_loss_nor_its_gradients(refreshed):
    loss = make_loss(*make_problem(2), lam=0.1, refreshed=refreshed)
    L, units = np.random.RandomState(0).normal(size=(2, 3)), np.array([4.0, 0.5, 16.0])
    other, candidates = loss._replace(X=loss.X / units, scales=1 / units), loss.candidates(L)
    value, gradient = loss.value_and_gradient(L, 0.1, candidates)
    found, found_gradient = other.value_and_gradient(L * units, 0.1, candidates)
    assert found == pytest.approx(value)
    np.testing.assert_allclose(found_gradient, gradient / units)
    assert other.value(L * units, candidates) == pytest.approx(loss.value(L, candidates))


@pytest.mark.parametrize("refreshed", [False, True])
def test_a_loss_never_changes(refreshed):
    loss = make_loss(*make_problem(4), refreshed=refreshed)
    before = [np.copy(field) for field in loss]
    L, other = np.diag([1.0, 2.0, 0.5]), np.diag([9.0, 1.0, 1.0])
    first = loss.value_and_gradient(L, 0.1)
    loss.value_and_gradient(other, 0.1)
    loss.dual_point(loss.multipliers(other, 0.1))
    loss.value(other)
    again = loss.value_and_gradient(L, 0.1)
    assert again[0] == first[0]
    np.testing.assert_array_equal(again[1], first[1])
    for now, then in zip(loss, before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_candidates_contain_the_neighbors_of_every_metric():
    X, y = make_problem(3, n_samples=60)
    loss = make_loss(X, y, m=10.0)
    L = np.diag([1.0, 2.0, 0.5])
    candidates = loss.candidates(L)
    assert candidates.shape == (60, 6)
    expected = loss.value_and_gradient(L, 0.1)
    value, gradient = loss.value_and_gradient(L, 0.1, candidates)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    # Among other candidates the neighbors are farther: a lower bound of the loss.
    elsewhere = loss.candidates(np.diag([0.01, 0.1, 9.0]))
    assert loss.value_and_gradient(L, 0.0, elsewhere)[0] < loss.value(L)


@pytest.mark.parametrize(("m", "lam"), [(0.0, 0.05), (1.0, 0.05), (10.0, 0.05), (1.0, 1e6)])
def test_the_best_scale_is_a_minimum_along_the_ray(m, lam):
    loss = make_loss(*make_problem(6), m=m, a=0.3, lam=lam)
    L = np.diag([1.0, 2.0, 0.5])
    best = scaled(L, loss)
    assert not np.array_equal(best, L)
    lowest = loss.value(best)
    for factor in (0.8, 1.25):
        assert lowest <= loss.value(np.sqrt(factor) * best) * (1 + 1e-12)


@pytest.mark.parametrize("rank", [2, 9])
def test_single_precision_gradient(rank):
    X, y = make_problem(1, n_samples=40, n_features=9)
    L = np.random.RandomState(rank).normal(size=(rank, 9))
    loss = make_loss(X, y, m=10.0, lam=0.1)
    _, gradient = loss.value_and_gradient(L, 0.05)
    _, single = loss.in_precision(np.float32).value_and_gradient(L, 0.05)
    np.testing.assert_allclose(single, gradient, rtol=0, atol=1e-5 * np.abs(gradient).max())


def test_starts_that_are_not_scaled():
    X, y = make_problem(2)
    # With a = 0 and λ = 0 any metric that is large enough has no loss.
    L = np.diag([1.0, 2.0, 0.5])
    np.testing.assert_array_equal(scaled(L, make_loss(X, y, a=0.0, lam=0.0)), L)
    # The identity has no loss already.
    loss = make_loss(100 * X, y, m=0.1, a=0.0, lam=10.0)
    np.testing.assert_array_equal(scaled(np.eye(3), loss), np.eye(3))
    # One similar pair far apart forces every multiple of the identity to be tiny.
    X[np.flatnonzero(y == 0)[0]] += 1000.0
    loss = make_loss(X, y, m=1e4, a=0.9, lam=0.0)
    np.testing.assert_array_equal(scaled(np.eye(3), loss), np.eye(3))


@pytest.mark.parametrize("refreshed", [False, True])
def test_the_loss_on_a_ray_is_the_loss(refreshed):
    L = np.diag([1.0, 2.0, 0.5])
    loss = make_loss(*make_problem(1), m=5.0, a=0.3, lam=0.2, refreshed=refreshed)
    expected, _ = loss.value_and_gradient(3.0 * L)
    assert loss.on_ray(loss.ray(L))(9.0) == pytest.approx(expected, rel=1e-12)


def test_a_bound_is_valid_where_rounding_hides_a_negative_eigenvalue():
    """The minimum over M ⪰ 0 of ⟨A, M⟩ + ‖M − I‖², in exact arithmetic, for a diagonal A."""
    values = np.array([1e17, -1.0])
    exact = sum(1 - max(1 - a / 2, 0) ** 2 for a in values)
    assert exact == -0.25
    assert dual_value(DualPoint(np.diag(values), 0.0), 1.0) <= exact
    values = np.array([1e17, 0.0])  # known to have no negative one
    assert dual_value(DualPoint(np.diag(values), 0.0, is_psd=True), 1.0) == 1.0
