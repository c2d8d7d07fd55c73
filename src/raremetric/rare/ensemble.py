"""What decides in the end: a few metrics, read and weighted, and one calibrated score."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.rare.candidates import ClassNeighbors, Neighborhood
from raremetric.rare.evidence import Part, combine
from raremetric.voting import Reading, Sigmoid


class Member(NamedTuple):
    """One metric with one reading, and its part in the final score."""

    name: str
    place: int  # of its neighborhood
    reading: Reading
    part: Part


class Ensemble(NamedTuple):
    """Members, the fitted metrics that they share, and the calibration of their average."""

    members: list[Member]
    neighborhoods: list[Neighborhood]
    calibration: Sigmoid
    rows: NDArray[np.int64]  # of the training data: the examples

    @property
    def n_examples(self) -> int:
        """How many examples there are to be near to."""
        return len(self.rows)

    def log_odds(self, X: NDArray) -> NDArray:
        """Log-odds of the positive class, (n_rows,)."""
        found = self._neighbors(X)
        total = combine(
            [member.part for member in self.members],
            [self._scores(member, found) for member in self.members],
        )
        return self.calibration.log_odds(total)

    def kneighbors(self, X: NDArray, k: int, member: int) -> tuple[NDArray, NDArray]:
        """Distances and rows of the k nearest examples, of any class, under a member's metric."""
        found = self.neighborhoods[self.members[member].place].neighbors(X, k)
        distances, indices = np.hstack(found.distances), np.hstack(found.indices)
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        indices = self.rows[np.take_along_axis(indices, order, 1)]
        return np.take_along_axis(distances, order, 1), indices

    def reasons(self, X: NDArray) -> list[list[dict[str, Any]]]:
        """For each row what every member says, and the examples that it says it by."""
        found = self._neighbors(X)
        columns = [self._reasons_of(member, found) for member in self.members]
        return [list(row) for row in zip(*columns, strict=True)]

    def _neighbors(self, X: NDArray) -> list[ClassNeighbors]:
        return [neighborhood.neighbors(X) for neighborhood in self.neighborhoods]

    def _scores(self, member: Member, found: list[ClassNeighbors]) -> NDArray:
        neighborhood = self.neighborhoods[member.place]
        return neighborhood.scores(found[member.place], [member.reading])[0]

    def _reasons_of(self, member: Member, found: list[ClassNeighbors]) -> list[dict[str, Any]]:
        part, count, near = member.part, member.reading.size, found[member.place]
        scores = (self._scores(member, found) - part.mean) / part.spread

        def side(c: int, i: int) -> dict[str, NDArray]:
            return {
                "rows": self.rows[near.indices[c][i, :count]],
                "distances": near.distances[c][i, :count],
            }

        return [
            {
                "member": member.name,
                "weight": part.weight,
                "score": float(score),
                "positive": side(1, i),
                "negative": side(0, i),
            }
            for i, score in enumerate(scores)
        ]
