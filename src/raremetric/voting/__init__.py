"""From distances to scores and votes."""

from raremetric.voting.readings import (
    POWER_NAMES,
    READINGS,
    Reading,
    class_scores,
    distance_floor,
)

__all__ = ["POWER_NAMES", "READINGS", "Reading", "class_scores", "distance_floor"]
