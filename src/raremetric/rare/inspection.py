"""What a user can ask a fitted RareClassifier: its metric, neighbors, reasons and candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from raremetric.extras import import_optional
from raremetric.rare.prediction import PredictionMixin
from raremetric.validation import check_integer


class InspectionMixin(PredictionMixin):
    """The methods of RareClassifier that show how it decides."""

    cv_results_: dict[str, NDArray]
    scoring: Any

    @property
    def metric_(self) -> Pipeline:
        """The fitted pipeline of the metric with the largest weight, see the class."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise AttributeError(
                f"This RareClassifier has separate metrics for each of its {len(self.classes_)} "
                "classes: use estimators_[i].metric_, where i is the position in classes_."
            )
        return self.ensemble_.members[self.ensemble_.main_member].pipeline

    def kneighbors(self, X, n_neighbors=3, return_distance=True, *, member=None, label=None):
        """The nearest training examples under ``metric_``, or under the metric of one member.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        n_neighbors : int, default=3
        return_distance : bool, default=True
        member : int or None, default=None
            Position in ``ensemble_.members``; None for the metric with the largest weight.
        label : class label or None, default=None
            With more than two classes: the class whose members to use.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of the training data.
        """
        X = self._check_queries(X)
        ensemble = self._binary(label).ensemble_
        if member is None:
            member = ensemble.main_member
        check_integer(member, "member", low=0, high=len(ensemble.members) - 1)
        k = check_integer(n_neighbors, "n_neighbors", low=1, high=len(ensemble.rows))
        distances, indices = ensemble.kneighbors(X, k, member)
        return (distances, indices) if return_distance else indices

    def explain(self, X, *, label=None) -> list[list[dict[str, Any]]]:
        """For each row, the score of every member and the neighbors it was computed from.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        label : class label or None, default=None
            With more than two classes: the class whose members to use.

        Returns
        -------
        reasons : list of lists of dict
            For each row one entry per member, largest weight first: its name as ``member``, its
            ``weight``, its standardized ``score`` (higher for the positive class), and the rows
            and distances of the ``positive`` and ``negative`` examples that it was computed from.
            The probability is a function of the sum of weight · score.
        """
        X = self._check_queries(X)
        return self._binary(label).ensemble_.explain(X)

    def _binary(self, label) -> InspectionMixin:
        """The classifier for one class against the rest; with two classes, this one."""
        if len(self.classes_) == 2:
            return self
        known = self.classes_.tolist()
        if label not in known:
            raise ValueError(
                f"Each class has its own metrics: label must be one of {known}; got {label!r}."
            )
        return self.estimators_[known.index(label)]

    def plot_candidates(self, ax=None):
        """Draw the out-of-fold utility of each candidate by branch, and mark those that are kept.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        check_is_fitted(self)
        results = self.cv_results_
        plt = import_optional("matplotlib.pyplot")
        names = list(dict.fromkeys(results["branch"].tolist()))
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 1 + 0.45 * len(names)), layout="constrained")
        heights = np.array([names.index(name) for name in results["branch"].tolist()], dtype=float)
        kept = results["weight"] > 0
        ax.scatter(results["utility"], heights, s=12, color="0.65", label="tried")
        ax.scatter(
            results["utility"][kept],
            heights[kept],
            s=600 * results["weight"][kept],
            facecolor="none",
            edgecolor="tab:red",
            label="kept (area: weight)",
        )
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.4, -0.6)  # the first branch on top, none at the border
        aim = "F1" if str(self.scoring) in ("f1", "average_precision") else "Utility"
        ax.set_xlabel(f"{aim} on held-out examples, at the candidate's own threshold")
        ax.legend(fontsize="small")
        return ax
