"""What the transformers of a single column have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


class ColumnEncoder(ABC, BaseEstimator):
    """Encode one column of a DataFrame as a few numbers.

    Unlike a transformer of scikit-learn, it takes a Series, and is told the name of its column only
    to name the encoded features.
    """

    kind: ClassVar[str]

    @abstractmethod
    def fit(self, column: Any) -> Self:
        """Learn the encoding."""

    @abstractmethod
    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column, as an array of shape (n_rows, n_features)."""

    @abstractmethod
    def feature_names(self, name: str) -> list[str]:
        """Names of the encoded features of a column of this name."""
