"""What a user can ask a fitted MetricKNNClassifier: its metric, and neighbors under it."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from raremetric.performance import one_blas_thread
from raremetric.scales import validate_rows
from raremetric.validation import check_integer
from raremetric.voting import training
from raremetric.voting.votes import Examples


class NeighborsMixin:
    """The methods of MetricKNNClassifier that show the metric and its neighbors."""

    classes_: NDArray
    metrics_: list[Any]  # fitted transformers
    n_neighbors_: int
    _examples: Examples
    _row_numbers: NDArray

    @property
    def metric_(self):
        """The fitted learner, under which distances are measured; not with one per class."""
        check_is_fitted(self)
        if len(self.metrics_) > 1:
            raise AttributeError("There is one metric for each class; use one of metrics_.")
        return self.metrics_[0]

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True, *, label=None):
        """The nearest training examples under the learned metric.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features) or None, default=None
            None for the training examples, of which none is its own neighbor.
        n_neighbors : int or None, default=None
            None for ``n_neighbors_``.
        return_distance : bool, default=True
            Whether to return the distances, too.
        label : class label or None, default=None
            With one metric per class: the class whose metric to use.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Learned distances; only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of the training data; at equal distances the lower number comes first.
        """
        check_is_fitted(self)
        metric = 0
        if len(self.metrics_) > 1:
            known = self.classes_.tolist()
            if label not in known:
                raise ValueError(
                    f"Each class has its own metric: label must be one of {known}; got {label!r}."
                )
            metric = known.index(label)
        k = self.n_neighbors_ if n_neighbors is None else n_neighbors
        k = check_integer(k, "n_neighbors", low=1, high=len(self._row_numbers) - (X is None))
        queries = None if X is None else self._map_queries(X)[metric]
        distances, indices = self._examples.searches[metric].nearest(queries, k)
        indices = self._row_numbers[indices]
        return (distances, indices) if return_distance else indices

    @one_blas_thread
    def _map_queries(self, X) -> list[NDArray]:
        """Validated rows as each metric maps them; learners check column names themselves."""
        checked = validate_rows(self, X, reset=False)
        return training.map_rows(self.metrics_, X if hasattr(X, "columns") else checked)
