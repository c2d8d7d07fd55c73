"""Votes and scores, one query and one neighbor at a time."""

import math

import numpy as np

from tests.oracles.neighbors import squared_distance


def adjusted_vote(Z, codes, query, gamma, k):
    """Votes for each class among the k nearest, class c at gamma[c] times its distance."""
    ranked = sorted(
        (gamma[c] * math.sqrt(squared_distance(query, row)), c)
        for row, c in zip(Z, codes, strict=True)
    )
    votes = [0] * len(gamma)
    for _, c in ranked[:k]:
        votes[c] += 1
    return votes


def nearness(Z, codes, query, gamma, m):
    """For each class: log of the m-th distance to the others less that to the class itself."""
    own = np.array([math.sqrt(squared_distance(query, row)) for row in Z]) * np.take(gamma, codes)
    return [
        math.log(sorted(own[codes != c])[m - 1] / sorted(own[codes == c])[m - 1])
        for c in range(len(gamma))
    ]


def winner(Z, codes, query, gamma, k):
    """Most votes; ties go to the class that is nearest compared with the others."""
    votes = adjusted_vote(Z, codes, query, gamma, k)
    near = nearness(Z, codes, query, gamma, (k + 1) // 2)
    return max(range(len(gamma)), key=lambda c: (votes[c], near[c]))
