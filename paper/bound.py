"""A bound on the loss of a metric learned by IML on new examples, by stability.

docs/experiments/generalization.md derives it, with the same symbols.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from raremetric import IML


class GeneralizationBound(NamedTuple):
    """What `generalization_bound` returns, and explains."""

    risk: float
    empirical_risk: float
    gap: float
    trivial_risk: float
    worst_change: dict  # by class label
    mean_change: dict


def generalization_bound(
    iml: IML, X: NDArray, y: NDArray, delta: float = 0.05, *, radius: float | None = None
) -> GeneralizationBound:
    """Bound the expected loss of a learned metric on new examples.

    For ``pairs="neighbors"``, this is the loss of a new example of each class with its nearest
    training examples; for ``pairs="all"``, that of two new examples. The regularization is not
    a part of it. The bound holds with probability 1 − δ over the training examples of given
    class sizes. It holds for λ > 0 and ``set_weights="balanced"``, without weights of examples, for
    a λ, m and a that were not chosen by means of the training examples.

    Parameters
    ----------
    iml : IML
        Fitted.
    X, y : ndarray
        What it was fitted on.
    delta : float, default=0.05
        δ, between 0 and 1: the bound may fail with this probability.
    radius : float or None, default=None
        The radius of a ball that contains all examples, also those that are still to come.
        None takes a small ball around the training examples, and assumes that no new example
        is outside of it.

    Returns
    -------
    bound : GeneralizationBound
        ``risk`` bounds the expected loss. It is ``empirical_risk``, the loss on the training
        examples without the regularization, plus ``gap``. ``trivial_risk`` is the expected loss of
        the metric M = 0; a bound above it says nothing. ``worst_change`` holds for each class the
        constant β of uniform stability: the loss of no pair changes by more than β when an example
        of the class is replaced by any other one. ``mean_change`` is the same for a random example
        that is replaced by a new one, in the mean.
    """
    check_is_fitted(iml)
    check_scalar(delta, "delta", (int, float), min_val=0, max_val=1, include_boundaries="neither")
    regularization = float(iml.regularization)
    counts = np.unique(y, return_counts=True)[1]
    _check_assumptions(iml, counts)
    diameter = np.float64(2 * _checked_radius(radius, X))
    M = iml.get_mahalanobis_matrix()
    penalty = regularization * float(np.sum((M - np.eye(len(M))) ** 2))
    empirical_risk = max(float(iml.objective_) - penalty, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        worst, mean = changes(iml, counts, diameter)
        sampling = sampling_gap(iml, counts, diameter, delta)
        # The loss at the metric that was found, against that at the minimum.
        optimization = diameter**2 * np.sqrt(iml.duality_gap_ / regularization)
        gap = float(np.nan_to_num(sampling + optimization, nan=np.inf, posinf=np.inf))
    labels = iml.classes_.tolist()
    return GeneralizationBound(
        risk=empirical_risk + gap,
        empirical_risk=empirical_risk,
        gap=gap,
        trivial_risk=(1 - iml.similar_weight) * (1 + iml.margin) / 2,
        worst_change=dict(zip(labels, worst.tolist(), strict=True)),
        mean_change=dict(zip(labels, mean.tolist(), strict=True)),
    )


def _check_assumptions(iml: IML, counts: NDArray) -> None:
    """Refuse fits for which the bound is not derived."""
    needs = "generalization_bound needs"
    if iml.regularization == 0:
        raise ValueError(f"{needs} regularization > 0: only it makes the metric stable.")
    if iml.set_weights != "balanced":
        raise ValueError(f"{needs} set_weights='balanced'; got {iml.set_weights!r}.")
    if iml.pairs == "random":
        raise ValueError(f"{needs} pairs='neighbors' or 'all'; got 'random'.")
    if counts.min() < 2:
        raise ValueError(f"{needs} at least two examples of each class.")


def _checked_radius(radius: float | None, X: NDArray) -> float:
    """A given radius, if a ball of this size can contain the training examples."""
    own, distance = extent(X)
    if radius is None:
        return own
    check_scalar(radius, "radius", (int, float), min_val=0)
    if 2 * radius < distance * (1 - 1e-9):
        raise ValueError(
            f"radius == {radius:g}, but two training examples are {distance:g} apart: "
            f"no ball with a radius below {distance / 2:g} contains both."
        )
    return float(radius)


def extent(X: NDArray) -> tuple[float, float]:
    """The radius of a ball that contains all examples, and the distance of two of them.

    The ball is around their mean, or around the middle between the example that is farthest
    from the mean and the one that is farthest from that: the smaller one of the two balls.
    """

    def farthest(center: NDArray) -> tuple[NDArray, float]:
        squares = np.einsum("ij,ij->i", X - center, X - center)
        return X[squares.argmax()], float(np.sqrt(squares.max()))

    X = X - X.mean(axis=0)
    first, from_mean = farthest(np.zeros(X.shape[1]))
    second, distance = farthest(first)
    _, from_middle = farthest((first + second) / 2)
    return min(from_mean, from_middle), distance


def changes(iml: IML, counts: NDArray, diameter: np.float64) -> tuple[NDArray, NDArray]:
    """The worst and the mean change of a pair's loss when an example is replaced, by class."""
    n_c, n_classes, a = counts, len(counts), iml.similar_weight
    n_others = n_c.sum() - n_c
    unit = diameter**4 / (2 * n_classes * iml.regularization)
    if iml.pairs == "all":
        own, elsewhere = 2 * a / n_c + (1 - a) / n_c, 1 / n_others
    else:
        n_similar = np.minimum(iml.n_neighbors, n_c - 1)
        own = a * (1 + (n_c - 1) / n_similar) / n_c + (1 - a) / n_c
        elsewhere = 1 / np.minimum(iml.n_neighbors, n_others)
    worst = unit * (own + (1 - a) * (elsewhere.sum() - elsewhere)) / np.sqrt(2)
    if iml.pairs == "all":
        return worst, worst
    share = np.hypot(a, 1 - a) + np.sqrt(2) * (a + (n_classes - 1) * (1 - a))
    return worst, unit * share / n_c


def largest_losses(iml: IML, diameter: np.float64) -> tuple[float, float]:
    """Bounds on the loss of any similar and of any dissimilar pair under a minimizer of F."""
    pushed, limit, lam = 1 - iml.similar_weight, 1 + iml.margin, iml.regularization
    eigenvalue = min(
        1 + pushed * diameter**2 / (4 * lam), (1 + np.sqrt(1 + pushed * limit / lam)) / 2
    )
    return max(diameter**2 * eigenvalue - 1, 0.0), limit


def sampling_gap(iml: IML, counts: NDArray, diameter: np.float64, delta: float) -> float:
    """With probability 1 − δ, the expected loss exceeds the empirical one by at most this."""
    n_c, a = counts, iml.similar_weight
    similar, dissimilar = largest_losses(iml, diameter)
    n_sets, n_others = 2 * len(n_c), n_c.sum() - n_c
    worst, mean = changes(iml, counts, diameter)
    if iml.pairs == "neighbors":
        largest = a * similar + (1 - a) * dissimilar
        second_moments = largest * (largest / n_c + 4 * mean + 6 * a * similar / (n_c - 1))
        return np.sqrt(second_moments).sum() / (n_sets * np.sqrt(delta))
    of_others = ((n_c * worst).sum() - n_c * worst) / n_others
    expected = ((1 + a) * worst + (1 - a) * of_others).sum() / n_sets
    touched = 1 / n_c + (1 / n_others).sum() - 1 / n_others
    own = (2 * a * similar / n_c + (1 - a) * dissimilar * touched) / n_sets
    return expected + np.sqrt((n_c * (worst + own) ** 2).sum() * np.log(1 / delta) / 2)
