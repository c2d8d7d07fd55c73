import numpy as np
import pytest

from raremetric.losses.large_margin import find_targets, make_large_margin_loss
from raremetric.pairs import Anchors, draw_anchors
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.large_margin import lmnn_loss

LINE = np.array([[0.0], [1.0], [1.5], [3.5]])
LINE_LABELS = np.array([0, 0, 1, 1])


def make_loss(X, y, *, k=3, mu=0.5, squared=True, weights=None, anchors=None):
    labels = check_labels(y, "test")
    if weights is not None:
        anchors = Anchors(None, weights, np.ones(len(labels.classes)))
    rows = None if anchors is None else anchors.rows
    targets = find_targets(X, labels, k, anchors=rows)
    return make_large_margin_loss(X, labels, targets, anchors, push_weight=mu, squared=squared)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("squared", "push"),
    # The radii are 2, 2, 5, 5; the impostors are 1.75, 2.75 and 4.75 inside of them.
    [(False, 1.75 + 2.75 + 4.75), (True, 1.75**2 + 2.75**2 + 4.75**2)],
)
def test_four_points_on_a_line(squared, push):
    loss = make_loss(LINE, LINE_LABELS, k=1, mu=0.25, squared=squared)
    value, _ = loss.value_and_gradient(np.eye(1))
    assert value == pytest.approx(0.75 * 10 + 0.25 * push)


@pytest.mark.kernels
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("squared", "width"), [(True, 0.0), (False, 0.0), (False, 0.5)])
def test_value_agrees_with_the_definition(squared, width, n_classes, weighted):
    X, y = make_problem(1, n_samples=14, n_classes=n_classes)
    w = np.resize([0.5, 1.0, 3.0], 14) if weighted else None
    L = np.random.RandomState(2).normal(size=(2, 3))
    loss = make_loss(X, y, k=2, mu=0.3, squared=squared, weights=w)
    value, _ = loss.value_and_gradient(L, width)
    targets = find_targets(X, check_labels(y, "test"), 2)
    assert value == pytest.approx(lmnn_loss(L, X, y, targets, 0.3, squared, width, w))


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
    loss = make_loss(X, y, k=2, mu=0.5)
    value, gradient = loss.value_and_gradient(L)
    assert value == pytest.approx(0.5 * np.sum(radii - 1) + 0.5 * push)
    estimate, estimated_gradient = loss.in_single_precision().value_and_gradient(L)
    assert estimate == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(estimated_gradient, gradient, rtol=1e-3)


@pytest.mark.parametrize(("squared", "width"), [(True, 0.0), (False, 0.3), (False, 0.0)])
@pytest.mark.parametrize("mu", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3)])
@pytest.mark.parametrize("anchors", ["all", "weighted", "sample"])
def test_gradient_agrees_with_central_differences(squared, width, mu, shape, anchors):
    X, y = make_problem(5, n_classes=3)
    weights = np.resize([0.5, 1.0, 3.0], len(X)) if anchors == "weighted" else None
    drawn = draw_anchors(check_labels(y, "test"), np.ones(len(X)), 12, 0)
    drawn = drawn if anchors == "sample" else None
    loss = make_loss(X, y, mu=mu, squared=squared, weights=weights, anchors=drawn)
    rng = np.random.RandomState(0)
    L = rng.normal(size=shape)
    _, gradient = loss.value_and_gradient(L, width)
    step = 1e-6  # smaller than the distance from this L to the kinks of the hinges
    for _ in range(5):
        direction = rng.normal(size=shape)
        above, _ = loss.value_and_gradient(L + step * direction, width)
        below, _ = loss.value_and_gradient(L - step * direction, width)
        assert np.sum(gradient * direction) == pytest.approx((above - below) / (2 * step), rel=1e-5)


def test_without_impostors_only_the_pull_term_remains():
    X = np.array([[0.0, 0], [0, 1], [100, 0], [100, 1]])
    value, gradient = make_loss(X, [0, 0, 1, 1], k=1, mu=0.5).value_and_gradient(np.eye(2))
    assert value == pytest.approx(0.5 * 4)
    np.testing.assert_allclose(gradient, [[0, 0], [0, 4]])


def test_all_impostors_are_found_far_from_the_origin():
    X, y = make_problem(6)
    value, _ = make_loss(X, y).value_and_gradient(np.eye(3))
    shifted, _ = make_loss(X + 1e5, y).value_and_gradient(np.eye(3))
    assert shifted == pytest.approx(value, rel=1e-6)


@pytest.mark.kernels
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])  # nearly all pairs are impostors, or only a few
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_components", [2, 3])
def test_single_precision_agrees_with_the_definition(scale, mu, n_components):
    X, y = make_problem(1, n_samples=30, n_classes=3)
    X, y = np.vstack([X, X[:1] + 0.1]), np.append(y, 3)  # a class without targets
    L = scale * np.random.RandomState(2).normal(size=(n_components, 3))
    loss = make_loss(X, y, k=2, mu=mu)
    value, gradient = loss.in_single_precision().value_and_gradient(L)
    assert value == pytest.approx(
        lmnn_loss(L, X, y, find_targets(X, check_labels(y, "test"), 2), mu, True), rel=1e-5
    )
    _, expected = loss.value_and_gradient(L)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
