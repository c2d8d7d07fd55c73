"""with_minority_share: the same data with a rarer or a more frequent minority class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from raremetric.validation import check_labels, check_real, take_rows

MIN_MINORITY = 20


class TooFewMinorityError(ValueError):
    """The requested share would keep fewer than 20 minority examples, the paper's limit."""


def with_minority_share(
    X: Any, y: ArrayLike, share: float, random_state: Any = None
) -> tuple[Any, Any]:
    """Drop examples of one class so that the minority has a given share, as in the paper.

    Both classes are shuffled. If `share` is larger than the minority's share of the data, all n⁺
    minority examples and the first ``int(n⁺/share − n⁺)`` majority examples are kept; otherwise
    all n⁻ majority examples and the first ``int(share·n⁻/(1−share))`` minority examples.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Examples.
    y : array-like of shape (n_samples,)
        Labels of two classes. The rarer class is the minority; if both are equally frequent, the
        class with the larger label.
    share : float
        Requested share of the minority, strictly between 0 and 1.
    random_state : int, RandomState instance or None, default=None
        With the same integer, the classes are shuffled in the same order for every share, so that
        the smaller of two variants is contained in the larger.

    Returns
    -------
    X, y : as given
        The remaining examples, in their original order.

    Raises
    ------
    TooFewMinorityError
        If fewer than 20 minority examples would remain; the paper stops there.

    Examples
    --------
    >>> from raremetric.datasets import load_dataset, with_minority_share
    >>> X, y = load_dataset("pima", return_X_y=True)
    >>> X, y = with_minority_share(X, y, 0.05, random_state=1)
    >>> len(y), int(y.sum())
    (526, 26)
    """
    check_real(share, "share", low=0, high=1, closed="neither")
    check_consistent_length(X, y)
    labels = check_labels(column_or_1d(y), "with_minority_share")
    if len(labels.classes) > 2:
        raise ValueError(
            f"with_minority_share needs two classes; y holds {len(labels.classes)}. Turn them into "
            "one class against the rest first."
        )
    minority = int(labels.counts[0] < labels.counts[1])
    rare = np.flatnonzero(labels.codes == 1 - minority)
    common = np.flatnonzero(labels.codes == minority)
    rng = check_random_state(random_state)
    rng.shuffle(rare)
    rng.shuffle(common)
    n_rare, n_common = len(rare), len(common)
    if share > n_rare / (n_rare + n_common):
        n_common = int(n_rare / share - n_rare)
    else:
        n_rare = int(share * n_common / (1 - share))
    if n_rare < MIN_MINORITY:
        raise TooFewMinorityError(
            f"share={share:g} would keep {n_rare} of {len(rare)} minority examples; at least "
            f"{MIN_MINORITY} are required, as in the paper."
        )
    kept = np.sort(np.concatenate([rare[:n_rare], common[:n_common]]))
    return tuple(take_rows(v if hasattr(v, "shape") else np.asarray(v), kept) for v in (X, y))
