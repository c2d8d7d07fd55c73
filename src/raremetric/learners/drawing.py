"""Pairs drawn at random for ITML."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from raremetric.validation import Labels

DRAWING_ROUNDS = 10
MIN_SAMPLED_PAIRS = 500


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
