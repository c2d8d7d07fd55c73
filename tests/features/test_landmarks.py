import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from raremetric import KernelLandmarks
from raremetric.features.landmarks import kernel_projection
from tests.conftest import make_problem

THEIRS = {"laplacian": (laplacian_kernel, "cityblock"), "rbf": (rbf_kernel, "sqeuclidean")}


@pytest.mark.parametrize("kernel", THEIRS)
@pytest.mark.parametrize("width", [0.5, 2.0])
def test_inner_products_are_the_kernel(kernel, width):
    X, _ = make_problem(0, n_samples=40)
    function, distance = THEIRS[kernel]
    w = width * np.median(pdist(X, distance))
    features = KernelLandmarks(kernel, width, n_components=40).fit(X)
    Z = features.transform(X)
    assert features.width_ == pytest.approx(w)
    np.testing.assert_allclose(Z @ Z.T, function(X, gamma=1 / w), atol=1e-6)
    new = make_problem(1, n_samples=10)[0]  # the kernel is exact between a landmark and any row
    np.testing.assert_allclose(
        features.transform(new) @ Z.T, function(new, X, gamma=1 / w), atol=1e-6
    )


def test_fewer_components_are_the_best_approximation_of_their_rank():
    X, _ = make_problem(0, n_samples=40)
    features = KernelLandmarks(n_components=5).fit(X)
    Z = features.transform(X)
    assert Z.shape == (40, 5)
    K = laplacian_kernel(X, gamma=1 / features.width_)
    lost = np.linalg.eigvalsh(K)[:-5]
    assert np.linalg.norm(Z @ Z.T - K) == pytest.approx(np.linalg.norm(lost))


def test_classes_have_the_same_number_of_landmarks_if_they_can():
    X, _ = make_problem(0, n_samples=60)
    y = np.repeat([0, 1, 2], [40, 16, 4])
    features = KernelLandmarks(n_landmarks=24, random_state=0).fit(X, y)
    rows = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in features.landmarks_]
    assert np.bincount(y[rows]).tolist() == [10, 10, 4]
    assert rows == sorted(set(rows))
    without = KernelLandmarks(n_landmarks=24, random_state=0).fit(X)
    assert without.landmarks_.shape == (24, 3)


def test_equal_eigenvalues_next_to_tiny_values():
    kernel = np.full((6, 6), 2.0**-1024)
    kernel[:4, :4] = kernel[4:, 4:] = 1.0
    projection = kernel_projection(kernel, 1)
    np.testing.assert_allclose(np.abs(projection), [[0.25]] * 4 + [[0.0]] * 2, atol=1e-12)


def test_identical_rows():
    Z = KernelLandmarks().fit(np.ones((5, 2))).transform([[1.0, 1.0], [2.0, 1.0]])
    assert Z.shape == (2, 1)
    assert abs(Z[0, 0]) == pytest.approx(1)
    assert abs(Z[1, 0]) == pytest.approx(np.exp(-1))


@pytest.mark.parametrize("n_landmarks", [5, 500])  # with and without sampling
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y[:-4], r"inconsistent numbers of samples: \[24, 20\]"),
        (lambda y: np.concatenate([y, y]), r"inconsistent numbers of samples: \[24, 48\]"),
        (lambda y: np.where(np.arange(24) == 3, np.nan, y), r"Input y contains NaN"),
    ],
    ids=["too short", "too long", "NaN"],
)
def test_labels_that_do_not_fit(change, message, n_landmarks, problem):
    X, y = problem
    with pytest.raises(ValueError, match=message):
        KernelLandmarks(n_landmarks=n_landmarks).fit(X, change(y))
