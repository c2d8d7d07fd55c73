"""Which pairs enter a loss, and the weight of each pair."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.neighbors import ClassSearch
from raremetric.sampling import even_quotas
from raremetric.validation import Labels, check_integer

DRAWING_ROUNDS = 10
MIN_SAMPLED_PAIRS = 500
ROUNDING = 1e-9  # how close to 1 the chance to be drawn may be
SMALLEST = np.finfo(np.float64).tiny


class Pairs(NamedTuple):
    """Ordered pairs of rows: an anchor and the other one."""

    anchors: NDArray[np.int64]  # (n_pairs,)
    others: NDArray[np.int64]  # (n_pairs,)


class PairSet(NamedTuple):
    """The pairs of one class: with its own examples, and with those of other classes."""

    similar: NDArray[np.int64]  # (n_pairs, 2)
    dissimilar: NDArray[np.int64]  # (n_pairs, 2)


class Anchors(NamedTuple):
    """The rows whose pairs enter a loss."""

    rows: NDArray[np.int64] | None  # in increasing order; None for all
    weights: NDArray[np.float64]  # (n_samples,): sample weights, divided by the chances to be drawn
    shares: NDArray[np.float64]  # (n_classes,), drawn rows of each class, divided by all its rows


def check_max_samples(max_samples: int | None) -> None:
    """Refuse a number of anchors that has no meaning."""
    if max_samples is not None:
        check_integer(max_samples, "max_samples", low=2)


def draw_anchors(
    labels: Labels, sample_weight: NDArray, max_samples: int | None, random_state=None
) -> Anchors:
    """At most max_samples rows, drawn class by class; all rows if there are not more.

    Every class gets the same number of anchors. A class that has fewer rows keeps all of them, and
    the others get the rest. Within a class, the chance of a row is proportional to its sample
    weight, and at most 1. The weights of the drawn rows add up to the weight of the class, and a
    weighted sum over them has the same sum over all rows as its expectation.
    """
    if max_samples is None or len(labels.codes) <= max_samples:
        return Anchors(None, sample_weight, np.ones(len(labels.classes)))
    if max_samples < len(labels.classes):
        raise ValueError(
            f"max_samples == {max_samples}, but there are {len(labels.classes)} classes, and each "
            "of them needs an anchor: raise max_samples."
        )
    rng, weights = check_random_state(random_state), np.zeros(len(sample_weight))
    codes = np.where(sample_weight > 0, labels.codes, -1)
    members = [np.flatnonzero(codes == c) for c in range(len(labels.classes))]
    sizes = even_quotas(np.array([len(rows) for rows in members]), int(max_samples))
    for rows, size in zip(members, sizes, strict=True):
        drawn, chances = _draw_in_proportion(sample_weight[rows], size, rng)
        weights[rows[drawn]] = sample_weight[rows[drawn]] / chances
    return Anchors(np.flatnonzero(weights), weights, sizes / labels.counts)


def _draw_in_proportion(
    weights: NDArray, size: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw that many positions without replacement; returns also their chances to be drawn.

    Systematic sampling in random order: chances are exactly proportional to the weights, except
    that those which would exceed 1 are 1. With equal weights all samples have the same chance.
    """
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        rest = np.where(certain, 0.0, weights)
        chances = (size - np.count_nonzero(certain)) * (rest / max(rest.sum(), SMALLEST))
        exceeding = chances >= 1 - ROUNDING
        if not exceeding.any():
            break
        certain |= exceeding
    order = random_state.permutation(np.flatnonzero(~certain))
    n_drawn = size - np.count_nonzero(certain)
    ends = np.cumsum(chances[order])
    points = random_state.uniform() + np.arange(n_drawn)
    drawn = order[np.searchsorted(ends[:-1], points, side="right")]
    drawn = np.concatenate([np.flatnonzero(certain), drawn])
    return drawn, np.where(certain, 1.0, chances)[drawn]


def select_pairs(
    kind: str,
    X: NDArray,
    labels: Labels,
    k: int,
    random_state=None,
    n_jobs: int | None = None,
    anchors: NDArray[np.int64] | None = None,
) -> tuple[Pairs, Pairs]:
    """The similar and the dissimilar pairs of a kind.

    "neighbors" are those of the ``anchors``, rows in increasing order or None for all; "random" are
    2nk draws of two different rows; "all" are all n(n − 1) ordered pairs.
    """
    if kind == "neighbors":
        return neighbor_pairs(X, labels, k, n_jobs, anchors)
    n_samples = len(X)
    if kind == "random":
        rng, n_pairs = check_random_state(random_state), 2 * n_samples * k
        first = rng.randint(n_samples, size=n_pairs)
        second = rng.randint(n_samples - 1, size=n_pairs)
    else:
        first, second = np.divmod(np.arange(n_samples * (n_samples - 1)), n_samples - 1)
    second += second >= first  # skips the first row of each pair, all others equally likely
    return split_by_label(labels, first, second)


def neighbor_pairs(
    X: NDArray,
    labels: Labels,
    k: int,
    n_jobs: int | None = None,
    anchors: NDArray[np.int64] | None = None,
) -> tuple[Pairs, Pairs]:
    """Each anchor with its k nearest of its own class, and with its k nearest of the others."""
    search = ClassSearch(X, labels, n_jobs, anchors)
    return (
        _listed_pairs(search.rows, search.within(k)),
        _listed_pairs(search.rows, search.across(k)),
    )


def _listed_pairs(rows: NDArray[np.int64], lists: NDArray[np.int64]) -> Pairs:
    """Each row with all that its list holds; -1 is no row."""
    return Pairs(np.repeat(rows, np.count_nonzero(lists >= 0, axis=1)), lists[lists >= 0])


def redraw(
    n_samples: int,
    size: int,
    random_state: np.random.RandomState,
    weights: NDArray | None = None,
) -> NDArray[np.int64]:
    """Rows drawn with replacement, with chances proportional to their weights."""
    if weights is None:
        return random_state.randint(n_samples, size=size)
    return random_state.choice(n_samples, size=size, p=weights / weights.sum())


def draw_pairs(
    labels: Labels,
    n_pairs: int,
    same: bool,
    random_state: np.random.RandomState,
    weights: NDArray | None = None,
) -> NDArray[np.int64]:
    """Distinct pairs of rows of the same class or of two classes, shape (≤ n_pairs, 2).

    The chances of anchors, and of their partners, are proportional to their weights. A draw that
    gives an anchor without a partner, or a pair drawn before, is repeated in a few more rounds.
    """
    members = [np.flatnonzero(labels.codes == c) for c in range(len(labels.classes))]
    non_members_before = [rows - np.arange(len(rows)) for rows in members]
    n_samples = len(labels.codes)
    pairs: dict[tuple[int, int], None] = {}
    for _ in range(DRAWING_ROUNDS):
        for anchor in redraw(n_samples, n_pairs - len(pairs), random_state, weights).tolist():
            c = labels.codes[anchor]
            own = members[c]
            n_partners = len(own) - 1 if same else n_samples - len(own)
            if n_partners == 0:
                continue
            if weights is not None:
                chances = np.where((labels.codes == c) == same, weights, 0.0)
                chances[anchor] = 0.0
                pairs[anchor, int(redraw(n_samples, 1, random_state, chances)[0])] = None
                continue
            rank = random_state.randint(n_partners)
            if same:  # the rank-th member that is not the anchor
                other = own[rank + (rank >= np.searchsorted(own, anchor))]
            else:  # the rank-th row that is not a member
                other = rank + np.searchsorted(non_members_before[c], rank, side="right")
            pairs[anchor, int(other)] = None
        if len(pairs) == n_pairs:
            break
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def sample_rows(
    n_samples: int, random_state: np.random.RandomState, weights: NDArray | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both rows of at least 500 random pairs: a sample of all distances."""
    n_draws = max(MIN_SAMPLED_PAIRS, -(-(n_samples // 10) // 2))
    draws = redraw(n_samples, 2 * n_draws, random_state, weights)
    return draws[::2], draws[1::2]


def pair_weights(
    pairs: Pairs,
    labels: Labels,
    sample_weight: NDArray,
    scheme: str,
    shares: NDArray | float = 1.0,
) -> NDArray[np.float64]:
    """Weight of each pair in its set, the set being the pairs of one anchor class.

    ``"balanced"`` gives each of the 2C sets a total of 1/(2C), ``"uniform"`` gives each pair a
    weight of one, and ``"inverse"`` the share of the examples that are not of its anchor's class.
    A sample weight multiplies the pairs of its anchor; the total of the set does not change.
    ``shares``, of shape (n_classes,), is the share of each class that the anchors were drawn from:
    the total of a set is that of the pairs of all its rows.
    """
    n_classes = len(labels.classes)
    set_of_pair = labels.codes[pairs.anchors]
    weights = sample_weight[pairs.anchors]
    totals = np.bincount(set_of_pair, weights, minlength=n_classes)
    target = np.full(n_classes, 1 / (2 * n_classes))
    if scheme != "balanced":
        sizes = np.bincount(set_of_pair, minlength=n_classes) / np.maximum(shares, SMALLEST)
        target = sizes * (1 - labels.counts / labels.counts.sum()) if scheme == "inverse" else sizes
    # A set that is empty, or whose examples all have weight zero, contributes nothing.
    factors = np.divide(target, totals, out=np.zeros(n_classes), where=totals > 0)
    return weights * factors[set_of_pair]


def merge_mutual(pairs: Pairs, weights: NDArray, n_samples: int) -> tuple[Pairs, NDArray]:
    """Each unordered pair once, with the sum of its weights: (i, j) is as long as (j, i)."""
    low, high = np.minimum(*pairs), np.maximum(*pairs)
    keys, position = np.unique(low * n_samples + high, return_inverse=True)
    merged = np.bincount(position, weights, minlength=len(keys))
    return Pairs(*np.divmod(keys, n_samples)), merged


def pair_sets(
    labels: Labels, similar: Pairs, dissimilar: Pairs, rows: NDArray[np.int64]
) -> dict[Any, PairSet]:
    """The pairs by class label, as (n_pairs, 2) arrays of the numbers of their rows."""

    def of_class(pairs: Pairs, c: int) -> NDArray[np.int64]:
        return rows[np.column_stack(pairs)[labels.codes[pairs.anchors] == c]]

    return {
        label: PairSet(of_class(similar, c), of_class(dissimilar, c))
        for c, label in enumerate(labels.classes.tolist())
    }


def split_by_label(labels: Labels, anchors: NDArray, others: NDArray) -> tuple[Pairs, Pairs]:
    """The similar and the dissimilar among some pairs of rows."""
    same = labels.codes[anchors] == labels.codes[others]
    return Pairs(anchors[same], others[same]), Pairs(anchors[~same], others[~same])
