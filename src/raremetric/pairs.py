"""Which pairs enter the loss, and what each of them weighs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.neighbors import nearest_across_classes, nearest_within_class
from raremetric.validation import Labels

DRAWING_ROUNDS = 10
MIN_SAMPLED_PAIRS = 500


class Pairs(NamedTuple):
    """Ordered pairs of rows: an anchor and the other one."""

    anchors: NDArray[np.int64]  # (n_pairs,)
    others: NDArray[np.int64]  # (n_pairs,)


class PairSet(NamedTuple):
    """The pairs of one class: with its own examples, and with those of other classes."""

    similar: NDArray[np.int64]  # (n_pairs, 2)
    dissimilar: NDArray[np.int64]  # (n_pairs, 2)


def neighbor_pairs(
    X: NDArray, labels: Labels, k: int, n_jobs: int | None = None
) -> tuple[Pairs, Pairs]:
    """Each example with its k nearest of its own class, and with its k nearest of the others."""
    within = nearest_within_class(X, labels, k, n_jobs)
    across = nearest_across_classes(X, labels, k, n_jobs)
    return _pairs_from_lists(labels, within), _pairs_from_lists(labels, across)


def random_pairs(
    labels: Labels, n_pairs: int, random_state: np.random.RandomState
) -> tuple[Pairs, Pairs]:
    """n_pairs draws of two different rows, told apart by their labels."""
    n_samples = len(labels.codes)
    anchors = random_state.randint(n_samples, size=n_pairs)
    others = random_state.randint(n_samples - 1, size=n_pairs)
    others += others >= anchors  # skips the anchor, all others equally likely
    return _split_by_label(labels, anchors, others)


def all_pairs(labels: Labels) -> tuple[Pairs, Pairs]:
    """Every ordered pair of different rows: n (n − 1) of them."""
    n_samples = len(labels.codes)
    anchors, others = np.divmod(np.arange(n_samples * (n_samples - 1)), n_samples - 1)
    others += others >= anchors
    return _split_by_label(labels, anchors, others)


def draw_pairs(
    labels: Labels, n_pairs: int, same: bool, random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """Different pairs of rows of one class or of two, anchors uniform, shape (≤ n_pairs, 2).

    An anchor that has no partner, or a pair drawn before, is made up for in a few more rounds.
    """
    members = [np.flatnonzero(labels.codes == c) for c in range(len(labels.classes))]
    strangers_before = [rows - np.arange(len(rows)) for rows in members]
    n_samples = len(labels.codes)
    pairs: dict[tuple[int, int], None] = {}
    for _ in range(DRAWING_ROUNDS):
        for anchor in random_state.randint(n_samples, size=n_pairs - len(pairs)).tolist():
            c = labels.codes[anchor]
            own = members[c]
            n_partners = len(own) - 1 if same else n_samples - len(own)
            if n_partners == 0:
                continue
            rank = random_state.randint(n_partners)
            if same:  # the rank-th member that is not the anchor
                other = own[rank + (rank >= np.searchsorted(own, anchor))]
            else:  # the rank-th row that is not a member
                other = rank + np.searchsorted(strangers_before[c], rank, side="right")
            pairs[anchor, int(other)] = None
        if len(pairs) == n_pairs:
            break
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)


def sample_rows(
    n_samples: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of at least 500 pairs, whose distances stand for all of them."""
    n_draws = max(MIN_SAMPLED_PAIRS, -(-(n_samples // 10) // 2))
    draws = random_state.randint(n_samples, size=2 * n_draws)
    return draws[::2], draws[1::2]


def pair_weights(
    pairs: Pairs, labels: Labels, sample_weight: NDArray, scheme: str
) -> NDArray[np.float64]:
    """Weight of each pair in its set, the set being the pairs of one anchor class.

    ``"balanced"`` gives each of the 2C sets a total of 1/(2C), ``"uniform"`` gives each pair a
    weight of one, and ``"inverse"`` the share of the examples that are not of its anchor's class.
    A sample weight multiplies the pairs of its anchor; the set's total stays.
    """
    n_classes = len(labels.classes)
    set_of_pair = labels.codes[pairs.anchors]
    weights = sample_weight[pairs.anchors]
    totals = np.bincount(set_of_pair, weights, minlength=n_classes)
    sizes = np.bincount(set_of_pair, minlength=n_classes)
    target = {
        "balanced": np.full(n_classes, 1 / (2 * n_classes)),
        "uniform": sizes,
        "inverse": sizes * (1 - labels.counts / labels.counts.sum()),
    }[scheme]
    # A set that is empty or whose examples all weigh nothing adds nothing.
    factors = np.divide(target, totals, out=np.zeros(n_classes), where=totals > 0)
    return weights * factors[set_of_pair]


def pair_sets(labels: Labels, similar: Pairs, dissimilar: Pairs) -> dict:
    """The pairs by class label, as (n_pairs, 2) arrays of row indices."""
    return {
        label: PairSet(_of_class(labels, similar, c), _of_class(labels, dissimilar, c))
        for c, label in enumerate(labels.classes.tolist())
    }


def _of_class(labels: Labels, pairs: Pairs, c: int) -> NDArray[np.int64]:
    chosen = labels.codes[pairs.anchors] == c
    return np.column_stack([pairs.anchors[chosen], pairs.others[chosen]])


def _pairs_from_lists(labels: Labels, neighbors: list[NDArray[np.int64]]) -> Pairs:
    anchors = [
        np.repeat(np.flatnonzero(labels.codes == c), lists.shape[1])
        for c, lists in enumerate(neighbors)
    ]
    return Pairs(np.concatenate(anchors), np.concatenate([lists.ravel() for lists in neighbors]))


def _split_by_label(labels: Labels, anchors: NDArray, others: NDArray) -> tuple[Pairs, Pairs]:
    same = labels.codes[anchors] == labels.codes[others]
    return Pairs(anchors[same], others[same]), Pairs(anchors[~same], others[~same])
