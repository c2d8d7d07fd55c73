"""Text with many levels as a few numbers: latent semantic analysis of n-grams of characters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from raremetric.encoding.columns import MISSING_LEVEL, count_levels, levels_and_codes

N_COMPONENTS = 10
N_BUCKETS = 2**12  # of hashed n-grams, so that a model has a limited size


class TextEncoder(BaseEstimator):
    """Encode text by its n-grams of characters, on their directions of largest variance.

    Levels that are written alike, such as a level and its misspelling, are encoded alike.

    The result is that of `TfidfVectorizer` and `TruncatedSVD` on all rows. It is computed on the
    levels, weighted by their counts.
    """

    kind = "ngrams"

    def fit(self, column: Any) -> TextEncoder:
        """Learn the n-grams, their weights and the directions."""
        counts = count_levels(column)
        self.levels_ = sorted(counts, key=lambda level: (-counts[level], level))
        weights = np.array([counts[level] for level in self.levels_], dtype=np.float64)
        hashed = _hash_ngrams(self.levels_)
        self.buckets_ = np.flatnonzero(hashed.getnnz(axis=0))  # of the n-grams that occur
        n_rows_with = (hashed[:, self.buckets_] > 0).T @ weights
        self.idf_ = np.log((1 + weights.sum()) / (1 + n_rows_with)) + 1
        scores = self._tfidf(hashed)
        svd = TruncatedSVD(min(N_COMPONENTS, *scores.shape), random_state=0)
        self.components_ = svd.fit(sparse.diags_array(np.sqrt(weights)) @ scores).components_
        self.vectors_ = scores @ self.components_.T  # the encoded levels
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column."""
        texts, codes = levels_and_codes(column)
        texts = [*texts, MISSING_LEVEL]  # for code -1
        position = {level: index for index, level in enumerate(self.levels_)}
        known = np.array([position.get(text, -1) for text in texts], dtype=np.int64)
        features = self.vectors_[known]
        new = np.flatnonzero(known < 0)
        if len(new):
            hashed = _hash_ngrams([texts[i] for i in new])
            features[new] = self._tfidf(hashed) @ self.components_.T
        return features[codes]

    def feature_names(self, name: str) -> list[str]:
        """Such as ``city text 1`` for the first direction of a column ``city``."""
        return [f"{name} text {i + 1}" for i in range(len(self.components_))]

    def _tfidf(self, hashed: Any) -> Any:
        """Weighted n-grams with a Euclidean norm of 1 for each text, (n_texts, n_ngrams)."""
        return normalize(hashed[:, self.buckets_] @ sparse.diags_array(self.idf_))


def _hash_ngrams(texts: list[str]) -> Any:
    """Number of times that each hashed n-gram occurs, (n_texts, N_BUCKETS), sparse."""
    vectorizer = HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 4),
        n_features=N_BUCKETS,
        alternate_sign=False,
        norm=None,
    )
    return vectorizer.transform(texts)
