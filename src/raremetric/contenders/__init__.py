"""Everything that can be compared: our methods, the baselines, the alternatives, a user's class."""

from raremetric.contenders.base import (
    RESAMPLING,
    Answer,
    Candidate,
    Contender,
    Tuned,
    positive_scores,
    resample,
)
from raremetric.contenders.neighbor_vote import N_NEIGHBORS
from raremetric.contenders.registry import CONTENDERS, find_contender, make_contender

__all__ = [
    "CONTENDERS",
    "N_NEIGHBORS",
    "RESAMPLING",
    "Answer",
    "Candidate",
    "Contender",
    "Tuned",
    "find_contender",
    "make_contender",
    "positive_scores",
    "resample",
]
