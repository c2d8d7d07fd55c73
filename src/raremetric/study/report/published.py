"""Scores that were published elsewhere, to be shown beside one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from scipy.stats import rankdata


@dataclass(frozen=True)
class Score:
    """Mean and population standard deviation over splits, in percent."""

    mean: float
    std: float


@dataclass(frozen=True, kw_only=True)
class Published:
    """Scores of some learners on some data sets that were published elsewhere.

    A subclass can return a mean or a rank as it was printed, where rounding changes it.

    Parameters
    ----------
    source : str
        Where they are from, as in "its difference from the paper".
    scores : dict
        (data set, learner) → `Score`, of F1.
    resampling : {"none", "smote", "rus"}, default="none"
        The table of a study that they belong to.
    note : str
        A sentence about them, to be shown below the table.
    """

    source: str
    scores: dict[tuple[str, str], Score]
    resampling: str = "none"
    note: str = ""

    @property
    def learners(self) -> list[str]:
        """The learners that have scores."""
        return list(dict.fromkeys(learner for _, learner in self.scores))

    def mean_over(self, datasets: Iterable[str], learner: str) -> Score:
        """Average a learner's scores over some data sets."""
        rows = [self.scores[dataset, learner] for dataset in set(datasets)]
        # fmean does not depend on the order of the set.
        return Score(mean=fmean(row.mean for row in rows), std=fmean(row.std for row in rows))

    def ranks(self, dataset: str, learners: Sequence[str]) -> list[float]:
        """Rank learners on a data set, 1 for the best."""
        return _ranks([self.scores[dataset, learner].mean for learner in learners])

    def mean_ranks(self, datasets: Sequence[str], learners: Sequence[str]) -> list[float]:
        """Rank learners by their means over some data sets, 1 for the best."""
        return _ranks([self.mean_over(datasets, learner).mean for learner in learners])


def _ranks(means: Sequence[float]) -> list[float]:
    return rankdata([-round(mean, 9) for mean in means]).tolist()
