"""The generalization bound of IML: the stability that it is derived from, its values, bad input."""

import math

import numpy as np
import pytest

from paper.bound import generalization_bound
from raremetric import IML
from tests.conftest import make_problem
from tests.oracles.conic import iml_minimum
from tests.oracles.neighbors import squared_distance
from tests.oracles.pair_sets import iml_loss

PROVED = {"solver": "lbfgs", "tol": 1e-6, "max_iter": 3000}
ROUNDING = 1e-6  # relative: of a solver that reports a duality gap of zero


@pytest.fixture
def problem():
    return make_problem()


def in_ball(rng, n, d):
    """Points in the unit ball, half of them close to its surface, where distances are largest."""
    X = rng.normal(size=(n, d))
    radius = np.where(rng.uniform(size=n) < 0.5, 1.0, rng.uniform(size=n))
    return X * (radius / np.linalg.norm(X, axis=1))[:, np.newaxis]


def losses(iml, pairs):
    """The loss of each pair of points, as a similar and as a dissimilar one, (2, n_pairs)."""
    squares = iml.pair_distance(pairs) ** 2
    return np.maximum([squares - 1, 1 + iml.margin - squares], 0)


def largest_change(first, second, radius=1.0):
    """How much the loss of a pair of points in a ball around 0 differs between two metrics.

    The largest over pairs of many lengths: in the directions in which the metrics differ most,
    and in random ones.
    """
    difference = first.get_mahalanobis_matrix() - second.get_mahalanobis_matrix()
    random = in_ball(np.random.RandomState(0), 100, len(difference))
    ends = radius * np.vstack([np.linalg.eigh(difference)[1].T, random])
    ends = np.concatenate([length * ends for length in np.linspace(0.05, 1, 20)])
    pairs = np.stack([ends, -ends], axis=1)
    return np.abs(losses(first, pairs) - losses(second, pairs)).max()


def solver_error(*fits, radius=1.0):
    """How much the losses can differ from those at the exact minimizers, summed over the fits."""
    lam = fits[0].regularization
    return sum((2 * radius) ** 2 * math.sqrt(iml.duality_gap_ / lam) for iml in fits)


def random_case(seed):
    """A learner, data in the unit ball, and the same data with one example replaced."""
    rng = np.random.RandomState(seed)
    n_classes, d = rng.choice([2, 2, 3]), rng.randint(1, 4)
    y = np.concatenate([np.repeat(np.arange(n_classes), 2), rng.randint(n_classes, size=20)])
    y = y[: rng.randint(2 * n_classes, len(y) + 1)]
    X = in_ball(rng, len(y), d)
    if rng.uniform() < 0.4:  # the extreme case: almost all examples at two opposite points
        X = np.sign(X[:, :1]) * np.eye(d)[0]
    i = rng.randint(len(y))
    replaced = X.copy()
    # Far away from where it was, at the place of an example of another class, or anywhere.
    replaced[i] = [-np.sign(X[i]) / math.sqrt(d), X[y != y[i]][0], in_ball(rng, 1, d)[0]][seed % 3]
    iml = IML(
        int(rng.choice([1, 2, 3])),
        margin=float(rng.choice([0.0, 1.0, 10.0])),
        similar_weight=float(rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])),
        regularization=float(rng.choice([0.1, 1.0, 10.0])),
        pairs=str(rng.choice(["neighbors", "all"])),
        dissimilar=str(rng.choice(["refreshed", "fixed"])),
        **PROVED,
    )
    return iml, X, replaced, y, i


@pytest.mark.filterwarnings("ignore:IML uses n_neighbors")
@pytest.mark.filterwarnings("ignore:IML stopped after")
@pytest.mark.parametrize("seed", range(60))
def test_replacing_an_example_changes_no_loss_by_more_than_the_worst_change(seed):
    iml, X, replaced, y, i = random_case(seed)
    other = IML(**iml.get_params()).fit(replaced, y)
    beta = generalization_bound(iml.fit(X, y), X, y, radius=1.0).worst_change[y[i]]
    assert largest_change(iml, other) <= (1 + ROUNDING) * beta + solver_error(iml, other)
    # Nor is an eigenvalue larger than the bound assumes; here, D = 2.
    pushed = (1 - iml.similar_weight) / iml.regularization
    largest = min(1 + pushed, (1 + math.sqrt(1 + pushed * (1 + iml.margin))) / 2)
    found = np.linalg.eigvalsh(iml.get_mahalanobis_matrix())[-1]
    assert found <= (1 + ROUNDING) * largest + solver_error(iml) / 4


def at_poles(at_left, n_right_class):
    """Class 0 at −1 or +1 on a line, class 1 at −1."""
    X = np.concatenate([np.where(at_left, -1.0, 1.0), np.full(n_right_class, -1.0)])
    return X[:, np.newaxis], np.repeat([0, 1], [len(at_left), n_right_class])


@pytest.mark.parametrize("n", [3, 12, 48])
@pytest.mark.parametrize("pairs", ["all", "neighbors"])
def test_the_worst_change_is_attained_up_to_the_root_of_two(pairs, n):
    # Only dissimilar pairs count, and all of them have a loss. With all pairs, one of the examples
    # at −1 moves away from all of class 1. With neighbors, it is the only one at −1: the nearest
    # neighbor of all of class 1, which then have to look at +1.
    first = np.arange(n) == 0
    before, after = (first | True, ~first) if pairs == "all" else (first, first & False)
    iml = IML(1, 10.0, 0.0, 1.0, pairs=pairs, **PROVED)
    old, new = (IML(**iml.get_params()).fit(*at_poles(rows, 2 * n)) for rows in (before, after))
    data = at_poles(before, 2 * n)
    beta = generalization_bound(old, *data, radius=1.0).worst_change[0]
    assert largest_change(old, new) == pytest.approx(beta / math.sqrt(2), rel=1e-4)
    # With all pairs the influence of an example vanishes, with neighbors it does not.
    expected = 16 / (4 * math.sqrt(2)) * (2 / n if pairs == "all" else 1 / n + 1)
    assert beta == pytest.approx(expected)


def test_replacing_a_random_example_changes_the_losses_by_the_mean_change_at_most():
    # One example in n of class 0 is at −1, so that each is sometimes the neighbor of all others.
    rng, n = np.random.RandomState(0), 6
    iml, total = IML(1, 10.0, 0.0, 1.0, **PROVED), []
    for _ in range(100):
        at_left = rng.uniform(size=n) < 1 / n
        data = at_poles(at_left, 15)
        old = IML(**iml.get_params()).fit(*data)
        at_left[rng.randint(n)] = rng.uniform() < 1 / n
        new = IML(**iml.get_params()).fit(*at_poles(at_left, 15))
        total.append(largest_change(old, new))
    bound = generalization_bound(old, *data, radius=1.0)
    assert 0.1 * bound.mean_change[0] < np.mean(total) < bound.mean_change[0]
    assert max(total) > bound.mean_change[0]  # it is a mean indeed
    assert max(total) < bound.worst_change[0]


@pytest.mark.parametrize(("seed", "refreshed"), [(0, True), (1, True), (2, False)])
def test_leaving_out_an_example_moves_the_metric_by_half_the_mean_change_at_most(seed, refreshed):
    # For every sample, in the mean over the examples of a class: so it is derived.
    X, y = make_problem(seed, n_samples=12, n_features=2)
    X /= np.linalg.norm(X, axis=1).max()
    settings = {"k": 1 + seed % 2, "m": 2.0, "a": 0.4, "lam": 0.5, "refreshed": refreshed}
    dissimilar = "refreshed" if refreshed else "fixed"
    iml = IML(settings["k"], 2.0, 0.4, 0.5, dissimilar=dissimilar, **PROVED).fit(X, y)
    M = iml.get_mahalanobis_matrix()
    allowed = generalization_bound(iml, X, y, radius=1.0).mean_change
    for label in (0, 1):
        moved = [
            np.linalg.norm(M - iml_minimum(X, y, left_out=i, **settings)[1])
            for i in np.flatnonzero(y == label)
        ]
        changed = 2**2 * np.mean(moved)  # of the loss of the longest pairs
        assert changed <= allowed[label] / 2 * (1 + 1e-3) + solver_error(iml)
        assert changed > allowed[label] / 200


@pytest.mark.parametrize("pairs", ["neighbors", "all"])
@pytest.mark.parametrize("dissimilar", ["refreshed", "fixed"])
def test_the_empirical_risk_is_the_loss_without_the_regularization(pairs, dissimilar):
    X, y = make_problem(1, n_classes=3)
    iml = IML(2, margin=3.0, regularization=0.2, pairs=pairs, dissimilar=dissimilar).fit(X, y)
    k = len(X) if pairs == "all" else 2
    refreshed = pairs == "neighbors" and dissimilar == "refreshed"
    loss = iml_loss(iml.components_, X, y, k=k, m=3.0, a=0.5, lam=0.0, refreshed=refreshed)
    bound = generalization_bound(iml, X, y, 0.1)
    assert bound.empirical_risk == pytest.approx(loss)
    assert bound.risk == bound.empirical_risk + bound.gap


def test_values_by_hand():
    # r = ½, so D = 1; m = 1, a = ½, λ = ¼: μ = min(1.5, (1 + √5) / 2) = 1.5, B = ½, H = 1¼.
    X, y = np.repeat([[-0.5], [0.5]], 4, axis=0), np.arange(8) % 2
    iml = IML(2, margin=1.0, regularization=0.25, solver="lbfgs", tol=1e-9).fit(X, y)
    assert iml.duality_gap_ < 1e-12
    bound = generalization_bound(iml, X, y, 0.04)
    assert bound.trivial_risk == 0.5
    # ½ (1 + 3/2) / 4 of similar pairs, ½ / 4 + ½ / 2 of dissimilar pairs.
    assert bound.worst_change == {c: pytest.approx((5 / 16 + 3 / 8) / math.sqrt(2)) for c in (0, 1)}
    kappa = math.sqrt(0.5) + math.sqrt(2)
    assert bound.mean_change == {c: pytest.approx(kappa / 4) for c in (0, 1)}
    second_moment = 1.25**2 / 4 + 1.25 * (kappa + 6 * 0.5 * 0.5 / 3)
    expected = 2 * math.sqrt(second_moment) / (4 * 0.2)
    assert bound.gap == pytest.approx(expected, abs=1e-4)
    # All pairs: ½ (2 + 1) / 4 with the example as the first or second one, ½ / 4 with it elsewhere.
    iml = IML(**iml.get_params() | {"pairs": "all"}).fit(X, y)
    bound = generalization_bound(iml, X, y, 0.04)
    beta = 0.5 / math.sqrt(2)
    assert bound.worst_change == bound.mean_change == {c: pytest.approx(beta) for c in (0, 1)}
    own = (0.5 / 4 + 0.5 * 2 * 0.5) / 4
    expected = 2 * beta * 2 / 4 + math.sqrt(8 * (beta + own) ** 2 * math.log(25) / 2)
    assert bound.gap == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.filterwarnings("ignore:IML stopped after")
def test_the_expected_loss_is_below_the_bound(seed):
    rng = np.random.RandomState(seed)
    y, y_new = np.repeat([0, 1], [50, 6]), np.repeat([0, 1], 200)
    X, X_new = in_ball(rng, len(y), 2), in_ball(rng, len(y_new), 2)
    iml = IML(2, margin=1.0, regularization=0.5, **PROVED).fit(X, y)
    total = 0.0
    for x, label in zip(X_new, y_new, strict=True):
        own = sorted(X[y == label], key=lambda other, x=x: squared_distance(x, other))
        similar = losses(iml, np.array([[x, other] for other in own[:2]]))[0].mean()
        dissimilar = losses(iml, np.array([[x, other] for other in X[y != label]]))[1]
        total += (0.5 * similar + 0.5 * np.sort(dissimilar)[-2:].mean()) / (4 * 200)
    bound = generalization_bound(iml, X, y, radius=1.0)
    assert total < bound.risk
    # The same quantity as the training loss, so that the two are close.
    assert total == pytest.approx(bound.empirical_risk, rel=0.5)


@pytest.mark.filterwarnings("ignore:IML stopped after")
def test_the_duality_gap_is_a_part_of_the_bound(problem):
    exact = IML(regularization=0.1, **PROVED).fit(*problem)
    early = IML(regularization=0.1, solver="lbfgs", max_iter=3).fit(*problem)
    first, second = (generalization_bound(iml, *problem, radius=4.0) for iml in (exact, early))
    added = solver_error(early, radius=4.0) - solver_error(exact, radius=4.0)
    assert added > 1
    assert second.gap - first.gap == pytest.approx(added)


@pytest.mark.parametrize("seed", range(10))
def test_the_default_radius_is_that_of_a_small_ball_around_the_examples(seed):
    rng = np.random.RandomState(seed)
    y = np.repeat([0, 1], [60, 4])  # most examples are on one side
    X = in_ball(rng, 64, 1 + seed % 4) + 3 * y[:, np.newaxis] - 7
    iml = IML(regularization=1.0).fit(X, y)
    diameter = max(np.linalg.norm(X[i] - X[j]) for i in range(64) for j in range(i))
    smallest = generalization_bound(iml, X, y, radius=diameter / 2).mean_change[1]
    ratio = generalization_bound(iml, X, y).mean_change[1] / smallest
    assert 1 - 1e-9 <= ratio <= 1.2**4  # the change grows like the fourth power of the radius


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({"regularization": 0.0}, {}, r"needs regularization > 0"),
        ({"set_weights": "uniform"}, {}, r"needs set_weights='balanced'; got 'uniform'"),
        ({"pairs": "random"}, {}, r"needs pairs='neighbors' or 'all'; got 'random'"),
        ({}, {"radius": 0.1}, r"radius == 0.1, but two training examples are .* apart"),
        ({}, {"delta": 1.0}, r"delta == 1.0, must be < 1"),
    ],
)
@pytest.mark.filterwarnings("ignore:IML stopped after")
def test_says_what_is_wrong(parameters, given, message, problem):
    with pytest.raises(ValueError, match=message):
        generalization_bound(IML(**parameters).fit(*problem), *problem, **given)
