"""How a fitted RareClassifier decides: probabilities, decision function, classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from raremetric.rare.ensemble import Ensemble
from raremetric.scales import validate_rows


class PredictionMixin:
    """The methods of RareClassifier that classify rows."""

    classes_: NDArray
    pos_label_: Any
    threshold_: float
    ensemble_: Ensemble
    estimators_: list[Any]

    def predict_proba(self, X) -> NDArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        X = self._check_queries(X)
        if len(self.classes_) > 2:
            p = np.column_stack([each.predict_proba(X)[:, 1] for each in self.estimators_])
            return p / p.sum(axis=1, keepdims=True)
        return self._proba_of(self.ensemble_.log_odds(X))

    def _proba_of(self, log_odds: NDArray) -> NDArray:
        """Probabilities of both classes, from the log-odds of the positive one."""
        p = expit(log_odds)
        columns = [1 - p, p] if self.pos_label_ == self.classes_[1] else [p, 1 - p]
        return np.column_stack(columns)

    def decision_function(self, X) -> NDArray:
        """Difference between the log-odds of a row and those of the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

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
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        if values.ndim == 2:
            return self.classes_[np.argmax(values, axis=1)]
        first = values < 0 if self.pos_label_ == self.classes_[1] else values <= 0
        return self.classes_[np.where(first, 0, 1)]

    def proba_and_kneighbors(self, X, n_neighbors=3) -> tuple[NDArray, NDArray, NDArray]:
        """What ``predict_proba`` and ``kneighbors`` return, with one search per metric for both.

        The k nearest examples are among the k nearest of each class, from which the score of a
        member is computed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_neighbors : int, default=3

        Returns
        -------
        p : ndarray of shape (n_samples, 2)
            There must be two classes.
        distances, indices : ndarray of shape (n_samples, n_neighbors)
        """
        X, ensemble = self._check_queries(X), self.ensemble_
        scores, neighbors = ensemble._scores(X)
        p = self._proba_of(ensemble.calibration.log_odds(ensemble.average(scores)))
        main = ensemble.main_member
        near = neighbors[main]
        if min(each.indices.shape[1] for each in near) < n_neighbors:  # the score needs fewer
            return p, *ensemble.kneighbors(X, n_neighbors, main)
        distances = np.concatenate([each.distances[:, :n_neighbors] for each in near], axis=1)
        indices = np.concatenate([each.indices[:, :n_neighbors] for each in near], axis=1)
        order = np.lexsort((indices, distances))[:, :n_neighbors]  # equal distances by their rows
        nearest = np.take_along_axis(indices, order, axis=1)
        return p, np.take_along_axis(distances, order, axis=1), ensemble.rows[nearest]

    def _check_queries(self, X) -> NDArray:
        check_is_fitted(self)
        return validate_rows(self, X, reset=False)
