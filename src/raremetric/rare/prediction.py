"""What a user can ask a fitted RareClassifier: predictions, neighbors, reasons, candidates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from raremetric.extras import import_optional
from raremetric.rare.ensemble import Ensemble
from raremetric.rare.importances import shares_of_change
from raremetric.rare.inputs import InputMixin
from raremetric.validation import check_integer


class PredictionMixin(InputMixin):
    """The methods of a fitted RareClassifier."""

    classes_: NDArray
    pos_label_: Any
    threshold_: float
    ensemble_: Ensemble
    estimators_: list[Any]
    cv_results_: dict[str, NDArray]
    scoring: Any

    def __getattr__(self, name: str) -> Any:
        """With more than two classes, say where an attribute is that exists for two."""
        parts = vars(self).get("estimators_", [])
        if parts and (name == "metric_" or name in vars(parts[0])):
            raise AttributeError(
                f"{name} exists with two classes, and this {type(self).__name__} has one "
                f"classifier for each of its {len(parts)} classes: use estimators_[i].{name}, "
                "where i is the position in classes_."
            )
        return self.__getattribute__(name)  # raises the error of a missing attribute or property

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        X = self._check_queries(X)
        if len(self.classes_) > 2:
            p = np.column_stack([each.predict_proba(X)[:, 1] for each in self.estimators_])
            return p / p.sum(axis=1, keepdims=True)
        return self._proba_of(self.ensemble_.log_odds(X))

    def predict_log_proba(self, X) -> NDArray:
        """Logarithms of the probabilities, which are exact for the smallest of them, too.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        X = self._check_queries(X)
        if len(self.classes_) > 2:
            return np.log(self.without_encoder().predict_proba(X))
        log_odds = self.ensemble_.log_odds(X)
        sign = 1 if self.pos_label_ == self.classes_[1] else -1
        return log_expit(np.column_stack([-sign * log_odds, sign * log_odds]))

    def decision_function(self, X) -> NDArray:
        """Difference between the log-odds of a row and those of the threshold.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)

        Returns
        -------
        s : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, values above zero predict ``classes_[1]``, as in scikit-learn.
        """
        X = self._check_queries(X)
        if len(self.classes_) > 2:
            return np.column_stack([each.decision_function(X) for each in self.estimators_])
        above = self.ensemble_.log_odds(X) - logit(self.threshold_)
        return above if self.pos_label_ == self.classes_[1] else -above

    def predict(self, X) -> NDArray:
        """The positive class where its probability reaches the threshold, else the other class.

        With more than two classes: the class whose decision function is largest.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        if values.ndim == 2:
            return self.classes_[np.argmax(values, axis=1)]
        first = values < 0 if self.pos_label_ == self.classes_[1] else values <= 0
        return self.classes_[np.where(first, 0, 1)]

    def kneighbors(self, X, n_neighbors=3, return_distance=True, *, member=None, label=None):
        """The nearest training examples under ``metric_``, or under the metric of one member.

        Parameters
        ----------
        X : table or array-like of shape (n_queries, n_features)
        n_neighbors : int, default=3
        return_distance : bool, default=True
        member : int or None, default=None
            Position in ``ensemble_.members``, of a member that is no plain score; None for the
            metric with the largest weight.
        label : class label or None, default=None
            With more than two classes: the class whose members to use.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with ``return_distance``.
        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of the training data.
        """
        X, ensemble = self._check_queries(X), self._ensemble_of(label)
        member = ensemble.main_member if member is None else member
        check_integer(member, "member", low=0, high=len(ensemble.members) - 1)
        k = check_integer(n_neighbors, "n_neighbors", low=1, high=len(ensemble.rows))
        distances, indices = ensemble.kneighbors(X, k, member)
        return (distances, indices) if return_distance else indices

    def explain(self, X, *, label=None) -> list[list[dict[str, Any]]]:
        """For each row, the score of every member and the neighbors it was computed from.

        Parameters
        ----------
        X : table or array-like of shape (n_rows, n_features)
        label : class label or None, default=None
            With more than two classes: the class whose members to use.

        Returns
        -------
        reasons : list of lists of dict
            For each row one entry per member, largest weight first: its name as ``member``, its
            ``weight``, its standardized ``score`` (higher for the positive class), and the rows
            and distances of the ``positive`` and ``negative`` examples that it was computed from:
            none for a plain score. The probability is a function of the sum of weight · score.
        """
        X = self._check_queries(X)
        return self._ensemble_of(label).explain(X)

    @property
    def metric_(self) -> Pipeline:
        """The fitted pipeline of the metric with the largest weight, see the class."""
        check_is_fitted(self)
        return self.ensemble_.members[self.ensemble_.main_member].pipeline

    @cached_property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column of ``fit`` changes the log-odds, as shares that sum to one.

        It is computed from 128 training examples and their mixtures, without labels. With more than
        two classes, it is the mean over them. How much a column matters for predictions that are
        correct is what scikit-learn's ``permutation_importance`` measures on held-out data.
        """
        check_is_fitted(self)
        groups = [[j] for j in range(self._some_rows.shape[1])]
        if self.encoder_ is not None:
            if not hasattr(self.encoder_, "column_groups"):
                raise AttributeError(
                    f"{type(self.encoder_).__name__} does not say which features belong to which "
                    "column: use permutation_importance of scikit-learn."
                )
            groups = self.encoder_.column_groups()
        models = self.estimators_ if len(self.classes_) > 2 else [self]

        def log_odds(X: NDArray) -> NDArray:
            return np.column_stack([each.ensemble_.log_odds(X) for each in models])

        return shares_of_change(log_odds, self._some_rows, groups)

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
        plt = import_optional("matplotlib.pyplot")
        branches, utility, weight = (
            self.cv_results_[name] for name in ("branch", "utility", "weight")
        )
        names = list(dict.fromkeys(branches.tolist()))
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 1 + 0.45 * len(names)), layout="constrained")
        heights = np.array([names.index(name) for name in branches.tolist()], dtype=float)
        kept = weight > 0
        circles = {"facecolor": "none", "edgecolor": "tab:red", "label": "kept (area: weight)"}
        ax.scatter(utility, heights, s=12, color="0.65", label="tried")
        ax.scatter(utility[kept], heights[kept], s=600 * weight[kept], **circles)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.4, -0.6)  # the first branch on top, none at the border
        aim = "F1" if str(self.scoring) in ("f1", "average_precision") else "Utility"
        ax.set_xlabel(f"{aim} on held-out examples, at the candidate's own threshold")
        ax.legend(fontsize="small")
        return ax

    def _proba_of(self, log_odds: NDArray) -> NDArray:
        """Probabilities of both classes, from the log-odds of the positive one."""
        p = expit(log_odds)
        columns = [1 - p, p] if self.pos_label_ == self.classes_[1] else [p, 1 - p]
        return np.column_stack(columns)

    def _ensemble_of(self, label) -> Ensemble:
        """The ensemble for one class against the rest; with two classes, the only one."""
        if len(self.classes_) == 2:
            return self.ensemble_
        known = self.classes_.tolist()
        if label not in known:
            raise ValueError(
                f"Each class has its own metrics: label must be one of {known}; got {label!r}."
            )
        return self.estimators_[known.index(label)].ensemble_
