import numpy as np
import pytest

from raremetric.losses.large_margin import find_targets, make_large_margin_loss
from raremetric.pairs import draw_anchors
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.large_margin import lmnn_loss

LINE = np.array([[0.0], [1.0], [1.5], [3.5]])
LINE_LABELS = np.array([0, 0, 1, 1])


def make_loss(X, y, *, k=3, mu=0.5, weights=None, anchors=None):
    """The loss of all rows, or of anchors with their weights."""
    labels = check_labels(y, "test")
    weights = np.ones(len(X)) if weights is None else weights
    rows = None
    if anchors is not None:
        rows, weights = anchors.rows, anchors.weights
    targets = find_targets(X, labels, k, anchors=rows)
    return make_large_margin_loss(X, labels, targets, weights, push_weight=mu)


@pytest.mark.kernels
def test_four_points_on_a_line():
    # The radii are 2, 2, 5, 5; the impostors are 1.75, 2.75 and 4.75 inside of them.
    loss = make_loss(LINE, LINE_LABELS, k=1, mu=0.25)
    value, _ = loss.value_and_gradient(np.eye(1))
    assert value == pytest.approx(0.75 * 10 + 0.25 * (1.75**2 + 2.75**2 + 4.75**2))


@pytest.mark.kernels
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])  # nearly all pairs are impostors, or only a few
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_agrees_with_the_definition(scale, mu, weighted):
    X, y = make_problem(1, n_samples=14, n_classes=3)
    X, y = np.vstack([X, X[:1] + 0.1]), np.append(y, 3)  # a class without targets
    w = np.resize([0.5, 1.0, 3.0], 15) if weighted else None
    L = scale * np.random.RandomState(2).normal(size=(2, 3))
    value, _ = make_loss(X, y, k=2, mu=mu, weights=w).value_and_gradient(L)
    targets = find_targets(X, check_labels(y, "test"), 2)
    assert value == pytest.approx(lmnn_loss(L, X, y, targets, mu, w))


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])  # nearly all pairs are impostors, or only a few
def test_more_rows_than_a_tile(scale):
    X, y = make_problem(4, n_samples=2400, n_features=2)
    L, targets = scale * np.eye(2), find_targets(X, check_labels(y, "test"), 2)
    distances = scale**2 * ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    radii = 1 + np.take_along_axis(distances, targets, axis=1)
    push = sum(
        np.sum(np.maximum(radius[:, np.newaxis] - distances, 0) ** 2 * (y[:, np.newaxis] != y))
        for radius in radii.T
    )
    value, _ = make_loss(X, y, k=2, mu=0.5).value_and_gradient(L)
    assert value == pytest.approx(0.5 * np.sum(radii - 1) + 0.5 * push)


@pytest.mark.parametrize("mu", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3)])
@pytest.mark.parametrize("anchors", ["all", "weighted", "sample"])
def test_gradient_agrees_with_central_differences(mu, shape, anchors):
    X, y = make_problem(5, n_classes=3)
    weights = np.resize([0.5, 1.0, 3.0], len(X)) if anchors == "weighted" else None
    drawn = draw_anchors(check_labels(y, "test"), np.ones(len(X)), 12, 0)
    loss = make_loss(X, y, mu=mu, weights=weights, anchors=drawn if anchors == "sample" else None)
    rng = np.random.RandomState(0)
    L = rng.normal(size=shape)
    _, gradient = loss.value_and_gradient(L)
    step = 1e-6  # smaller than the distance from this L to the kinks of the hinges
    for _ in range(5):
        direction = rng.normal(size=shape)
        above, _ = loss.value_and_gradient(L + step * direction)
        below, _ = loss.value_and_gradient(L - step * direction)
        assert np.sum(gradient * direction) == pytest.approx((above - below) / (2 * step), rel=1e-5)


def test_without_impostors_only_the_pull_term_remains():
    X = np.array([[0.0, 0], [0, 1], [100, 0], [100, 1]])
    value, gradient = make_loss(X, [0, 0, 1, 1], k=1, mu=0.5).value_and_gradient(np.eye(2))
    assert value == pytest.approx(0.5 * 4)
    np.testing.assert_allclose(gradient, [[0, 0], [0, 4]])


@pytest.mark.parametrize("scale", [1.0, 1e25])  # in single precision, squares overflow
def test_all_impostors_are_found_far_from_the_origin_and_far_apart(scale):
    X, y = make_problem(6)
    X = scale * np.vstack([X, X + 1e5])
    y = np.append(y, y)
    value, _ = make_loss(X, y, mu=1.0).value_and_gradient(np.eye(3))
    targets = find_targets(X, check_labels(y, "test"), 3)
    assert value == pytest.approx(lmnn_loss(np.eye(3), X, y, targets, 1.0), rel=1e-6)
    shifted, _ = make_loss(X + 1e5 * scale, y, mu=1.0).value_and_gradient(np.eye(3))
    assert shifted == pytest.approx(value, rel=1e-6)
