"""Text with many levels as a few numbers: latent semantic analysis of n-grams of characters.

Levels that are written alike, such as a level and its misspelling, or levels with a word in common,
are encoded alike. The target is not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from raremetric.datasets.level_features import levels_and_codes
from raremetric.datasets.levels import MISSING_LEVEL

N_COMPONENTS = 10
N_BUCKETS = 2**12  # of hashed n-grams, so that a model has a limited size


def fit_ngrams(levels: list[str], counts: list[int]) -> dict[str, NDArray]:
    """Learn the encoding of a column.

    Parameters
    ----------
    levels : list of str
    counts : list of int
        Number of rows of each level.

    Returns
    -------
    dict
        ``buckets``: the hashed n-grams that occur, of shape (n_ngrams,); ``idf``: their weights;
        ``components``: the directions of largest variance, of shape (n_components, n_ngrams);
        ``vectors``: the encoded levels, of shape (n_levels, n_components).

    Notes
    -----
    The result is that of `TfidfVectorizer` and `TruncatedSVD` on all rows. It is computed on the
    levels, weighted by their counts.
    """
    hashed = _hash_ngrams(levels)
    buckets = np.flatnonzero(hashed.getnnz(axis=0))
    weights = np.asarray(counts, dtype=np.float64)
    n_rows_with = (hashed[:, buckets] > 0).T @ weights
    idf = np.log((1 + weights.sum()) / (1 + n_rows_with)) + 1
    state = {"buckets": buckets, "idf": idf}
    scores = _tfidf(hashed, state)
    svd = TruncatedSVD(min(N_COMPONENTS, *scores.shape), random_state=0)
    state["components"] = svd.fit(sparse.diags_array(np.sqrt(weights)) @ scores).components_
    state["vectors"] = scores @ state["components"].T
    return state


def fill_ngrams(
    out: NDArray[np.float64], column: Any, levels: list[str], state: dict[str, NDArray]
) -> None:
    """Encode a column; a level that was not seen in `fit` by the n-grams that were."""
    texts, codes = levels_and_codes(column)
    texts = [*texts, MISSING_LEVEL]  # for code -1
    position = {level: index for index, level in enumerate(levels)}
    known = np.array([position.get(text, -1) for text in texts], dtype=np.int64)
    features = state["vectors"][known]
    new = np.flatnonzero(known < 0)
    if len(new):
        hashed = _hash_ngrams([texts[i] for i in new])
        features[new] = _tfidf(hashed, state) @ state["components"].T
    out[:] = features[codes]


def decode_ngrams(features: NDArray, levels: list[str], state: dict[str, NDArray]) -> str | None:
    """The level of an encoded row; None if it was not seen in `fit`."""
    distances = np.abs(state["vectors"] - features).max(axis=1)
    nearest = int(np.argmin(distances))
    return levels[nearest] if distances[nearest] < 1e-9 else None


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


def _tfidf(hashed: Any, state: dict[str, NDArray]) -> Any:
    """Weighted n-grams with a Euclidean norm of 1 for each text, (n_texts, n_ngrams)."""
    weighted = hashed[:, state["buckets"]] @ sparse.diags_array(state["idf"])
    return normalize(weighted)
