"""From distances to scores and votes."""

from raremetric.voting.readings import READINGS, Reading, class_scores, distance_floor

__all__ = ["READINGS", "Reading", "class_scores", "distance_floor"]
