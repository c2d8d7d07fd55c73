"""The base class of all metric learners, and where they start from."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import partial
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from raremetric.metric import (
    axis_shares,
    components_from_matrix,
    matrix_from_components,
    squared_lengths,
    symmetric_eigen,
)
from raremetric.scales import check_size, spread_of, validate_rows
from raremetric.validation import (
    Labels,
    check_integer,
    check_labels,
    check_option,
    relative_weights,
    weighted_rows,
)

logger = logging.getLogger("raremetric")

N_SHOWN = 10  # features in the table of weights
_ROW = (
    '<tr><th style="text-align:left;font-weight:normal;padding:0 .6em 0 0">{name}</th>'
    '<td style="text-align:right;padding:0 .6em 0 0">{share:.1%}</td>'
    '<td style="text-align:left;width:12em"><div style="width:{width:.1f}%;height:.7em;'
    'background:#d9541e"></div></td></tr>'
)


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all learners of a Mahalanobis metric d²(x, x') = ‖L(x − x')‖².

    A subclass sets ``components_`` (L) in ``fit``.
    """

    def transform(self, X):
        """Project the data, so that the plain distance becomes the learned one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            XLᵀ.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, reset=False)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> NDArray:
        """The matrix M = LᵀL of the learned metric, shape (n_features, n_features)."""
        check_is_fitted(self)
        return matrix_from_components(self.components_)

    def pair_distance(self, pairs):
        """Learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        pairs = check_array(pairs, allow_nd=True, ensure_2d=False, dtype=np.float64)
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(
                f"pairs.shape == {pairs.shape}, expected (n_pairs, 2, {self.n_features_in_}): "
                "two points with the features seen in fit for each pair."
            )
        check_size(pairs, "pairs")
        return np.sqrt(squared_lengths(self.components_, pairs[:, 0] - pairs[:, 1]))

    def pair_score(self, pairs):
        """Score of each pair: the negative of its learned distance, higher for similar points.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)

        Returns
        -------
        scores : ndarray of shape (n_pairs,)

        Examples
        --------
        >>> from raremetric import Euclidean
        >>> pairs = [[[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 1.0]]]
        >>> Euclidean().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).pair_score(pairs)
        array([-5., -1.])
        """
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """The learned distance as a function of two vectors.

        Returns
        -------
        metric : callable (u, v, squared=False) -> float
            Fits scikit-learn's ``metric=`` parameters; it can be pickled and does not change when
            the learner is fitted again. ``transform`` and the plain distance give the same
            neighbors many times faster.
        """
        check_is_fitted(self)
        return partial(_distance, components=self.components_.copy())

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _check_training_data(self, X, y) -> tuple[NDArray, Labels]:
        """Validated float64 data with at least two rows, and encoded labels."""
        X, y = validate_rows(self, X, y, ensure_min_samples=2)
        return X, check_labels(y, type(self).__name__)

    def _weighted_data(
        self, X: NDArray, labels: Labels, sample_weight
    ) -> tuple[NDArray, Labels, NDArray[np.int64], NDArray | None]:
        """Examples with a weight above zero, their labels, numbers and weights.

        The weights have a mean of one; they are None if they are all the same.
        """
        rows, weights = weighted_rows(sample_weight, len(X))
        if len(rows) < len(X):
            X, y = X[rows], labels.classes[labels.codes[rows]]
            labels = check_labels(y, type(self).__name__)
        return X, labels, rows, relative_weights(weights)

    def _reporter(self, verbose: int) -> Callable[[int, float], None] | None:
        """A function that logs the progress of a solver if verbose, else None."""
        if not verbose:
            return None
        if not logging.getLogger().handlers and not logger.handlers:
            logger.addHandler(logging.StreamHandler(sys.stderr))
        logger.setLevel(min(logger.level or logging.INFO, logging.INFO))
        name = type(self).__name__
        return lambda n, value: logger.info("[%s] iteration %4d  objective %.6g", name, n, value)

    # IPython's protocol: scikit-learn's diagram, and below it the weights of the features.
    @property
    def _repr_html_(self):
        diagram = super()._repr_html_  # raises AttributeError if diagrams are turned off
        return lambda: diagram() + self._weights_html()

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # absent if diagrams are turned off
            bundle["text/html"] += self._weights_html()
        return bundle

    def _weights_html(self) -> str:
        L = getattr(self, "components_", None)
        return "" if L is None else weights_html(L, feature_names(self))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def initial_components(
    init: str | ArrayLike,
    X: NDArray,
    n_components: int | None = None,
    weights: NDArray | None = None,
) -> NDArray[np.float64]:
    """Where a solver starts: unit axes, principal axes or a given matrix, (n_components, d)."""
    n_features = X.shape[1]
    if n_components is not None:
        check_integer(n_components, "n_components", low=1, high=n_features)
    shape = (n_components or n_features, n_features)
    if isinstance(init, str):
        check_option(init, "init", ("auto", "identity", "pca"))
        if init == "identity" or (init == "auto" and shape[0] == n_features):
            return np.eye(*shape)
        _, axes = symmetric_eigen(_covariance(X, weights))
        return np.ascontiguousarray(axes.T[::-1][: shape[0]])  # largest variance first
    L = check_array(init, dtype=np.float64, input_name="init", copy=True)
    if L.shape != shape:
        raise ValueError(
            f"init.shape == {L.shape}, expected (n_components, n_features) == {shape}."
        )
    return L


def _covariance(X: NDArray, weights: NDArray | None) -> NDArray[np.float64]:
    """The covariance of examples; their weights have a mean of one."""
    if weights is None:
        return np.cov(X, rowvar=False).reshape(X.shape[1], X.shape[1])
    centered = X - weights @ X / len(X)
    return (centered.T * weights) @ centered / (len(X) - 1)


def _distance(u: ArrayLike, v: ArrayLike, squared: bool = False, *, components: NDArray) -> float:
    difference = np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)
    length = float(squared_lengths(components, difference[np.newaxis])[0])
    return length if squared else float(np.sqrt(length))


def prior_components(
    prior: str | ArrayLike, X: NDArray, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """L₀ with L₀ᵀL₀ the prior metric of ITML or GMML: the inverse covariance, or a given one."""
    n_features = X.shape[1]
    if isinstance(prior, str):
        check_option(prior, "prior", ("covariance", "identity"))
        if prior == "identity":
            return np.eye(n_features)
        values, vectors = symmetric_eigen(_covariance(X, weights))
        is_singular = values[0] <= values[-1] * n_features * np.finfo(float).eps
        if is_singular or (spread_of(X) == 0).any():
            raise ValueError(
                "prior='covariance' needs a covariance of full rank, but some features are "
                "constant or follow from others. Drop them, or use prior='identity'."
            )
        return (vectors / np.sqrt(values)) @ vectors.T
    M = check_array(prior, dtype=np.float64, input_name="prior")
    if M.shape != (n_features, n_features):
        raise ValueError(
            f"prior.shape == {M.shape}, expected (n_features, n_features) == "
            f"{(n_features, n_features)}."
        )
    if not np.allclose(M, M.T) or linalg.eigvalsh(M)[0] <= 0:
        raise ValueError(
            "prior must be symmetric and positive definite. Add a small multiple of the identity."
        )
    return components_from_matrix(M)


def feature_names(learner) -> NDArray:
    """The names seen in ``fit``, or x0, x1, …"""
    given = getattr(learner, "feature_names_in_", None)
    return np.array([f"x{j}" for j in range(learner.n_features_in_)]) if given is None else given


def weights_html(L: NDArray, names: NDArray) -> str:
    """A small table with bars: the share of each feature in the trace of M, largest first.

    Parameters
    ----------
    L : ndarray of shape (n_components, n_features)
    names : ndarray of shape (n_features,)
        They are escaped here.
    """
    shares = axis_shares(L)
    order = np.argsort(-shares, kind="stable")[:N_SHOWN]
    largest = max(float(shares[order[0]]), 1e-300)
    rows = "".join(
        _ROW.format(
            name=escape(str(names[j])), share=shares[j], width=100 * float(shares[j]) / largest
        )
        for j in order
    )
    rest = len(shares) - len(order)
    more = f" The other {rest} share {shares.sum() - shares[order].sum():.1%}." if rest else ""
    return (
        '<div class="raremetric-weights" style="margin-top:.5em;font-size:.9em">'
        "<table><caption style='text-align:left'>Weights of the features in the metric: shares of "
        f"the trace of M; {L.shape[1]} features, rank {L.shape[0]} or less.{more}</caption>"
        f"<tbody>{rows}</tbody></table></div>"
    )
