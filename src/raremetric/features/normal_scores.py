"""Each feature replaced by the normal score of its rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.preprocessing import QuantileTransformer

CLOSEST = 1e-7 - np.spacing(1)  # to 0 and 1, as in scikit-learn
LARGEST = float(-ndtri(CLOSEST))


class NormalScores(QuantileTransformer):
    """`QuantileTransformer` with normal output, which maps all features at once.

    scikit-learn's calls the quantile function three times per feature. For one row, this takes
    longer than the rest of a prediction.

    Parameters
    ----------
    n_quantiles : int, default=1000
    random_state : int, RandomState instance or None, default=None
    """

    def __init__(self, n_quantiles=1000, *, random_state=None):
        super().__init__(n_quantiles=n_quantiles, random_state=random_state)

    def transform(self, X) -> NDArray[np.float64]:
        """The normal score of each value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return np.clip(ndtri(super().transform(X)), -LARGEST, LARGEST)
