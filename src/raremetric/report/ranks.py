"""Which learner is better than which, over many data sets: ranks and tests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from raremetric.extras import import_optional
from raremetric.report.summarize import Table
from raremetric.study.paper_values import LEARNERS, PaperTable, paper_datasets

if TYPE_CHECKING:
    from pandas import DataFrame

LEVEL = 0.05  # of all tests together


@dataclass(frozen=True)
class AverageRanks:
    """Average ranks of the learners, 1 for the best, in both conventions.

    Parameters
    ----------
    n_datasets : int
        How many data sets all learners have finished: only those are ranked.
    over_datasets : dict
        Learner → average rank over these data sets.
    with_mean_row : dict
        The same over the data sets and the Mean row, as the paper's tables have it.
    """

    n_datasets: int
    over_datasets: dict[str, float]
    with_mean_row: dict[str, float]


@dataclass(frozen=True)
class Comparison:
    """Friedman's test, Nemenyi's and Wilcoxon's with Holm's correction.

    Parameters
    ----------
    n_datasets : int
    ranks : dict
        Learner → average rank over the data sets.
    statistic, p_value : float
        Of Friedman's test that all learners rank alike.
    critical_difference : float
        Nemenyi's: average ranks further apart than this differ at the 5 % level.
    nemenyi : DataFrame
        Learners × learners, p-values.
    pairs : DataFrame
        One row a pair, the one with the higher mean first: first, second, difference, wins,
        ties, losses, wilcoxon, holm, nemenyi (the last three p-values).
    """

    n_datasets: int
    ranks: dict[str, float]
    statistic: float
    p_value: float
    critical_difference: float
    nemenyi: DataFrame
    pairs: DataFrame


def average_ranks(table: Table) -> AverageRanks | None:
    """Rank the learners on the data sets that all of them have finished; None if there is none.

    Equal means share their average rank.
    """
    scores = table.complete()
    if scores.empty or len(table.learners) < 2:
        return None
    ranks = _ranks(scores.to_numpy())
    mean_ranks = _ranks(scores.mean().to_numpy()[None])
    return _averaged(ranks, mean_ranks, table.learners)


def paper_average_ranks(table: Table) -> AverageRanks | None:
    """The paper's average ranks for the same learners over the same data sets.

    None where the paper does not have all of them. For all 22 data sets and five learners
    these are the printed ranks, and those without the Mean row.
    """
    datasets = list(table.complete().index)
    paper = table.paper
    if not paper or not datasets or len(table.learners) < 2:
        return None
    if set(datasets) - set(paper_datasets()) or set(table.learners) - set(LEARNERS):
        return None
    ranks = np.array([paper.ranks(name, table.learners) for name in datasets], dtype=float)
    return _averaged(ranks, _paper_mean_ranks(paper, datasets, table.learners), table.learners)


def _paper_mean_ranks(
    paper: PaperTable, datasets: list[str], learners: list[str]
) -> NDArray[np.float64]:
    if set(datasets) == set(paper_datasets()):
        return np.array([paper.ranks("Mean", learners)], dtype=float)
    means = [paper.mean_over(datasets, learner).mean for learner in learners]
    return _ranks(np.array([means]))


def _averaged(
    ranks: NDArray[np.float64], mean_ranks: NDArray[np.float64], learners: list[str]
) -> AverageRanks:
    with_mean = np.vstack([ranks, mean_ranks]).mean(axis=0)
    return AverageRanks(
        n_datasets=len(ranks),
        over_datasets=dict(zip(learners, ranks.mean(axis=0).tolist(), strict=True)),
        with_mean_row=dict(zip(learners, with_mean.tolist(), strict=True)),
    )


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks in each row, 1 for the highest score. Rounding keeps equal means equal."""
    from scipy.stats import rankdata

    return rankdata(-np.round(scores, 9), axis=1)


def why_no_comparison(table: Table) -> str:
    """Why the tests cannot be made, or an empty string."""
    n_datasets, n_learners = len(table.complete()), len(table.learners)
    if n_learners >= 3 and n_datasets >= 2:
        return ""
    return (
        "Friedman's test needs at least three learners and two data sets that all of them have "
        f"finished; here are {n_learners} learner{'s' * (n_learners != 1)} and {n_datasets} such "
        f"data set{'s' * (n_datasets != 1)}."
    )


def compare(table: Table) -> Comparison | None:
    """Test whether the learners differ, over the data sets that all of them have finished.

    Returns
    -------
    Comparison or None
        None where `why_no_comparison` gives a reason.

    Notes
    -----
    The critical difference is q √(k (k + 1) / (6 N)) for k learners and N data sets, q the 95 %
    point of the studentized range for k groups over √2 (Demšar 2006).
    """
    if why_no_comparison(table):
        return None
    from scipy.stats import friedmanchisquare, studentized_range

    means = table.complete()
    scores = means.round(9)
    n, k = scores.shape
    ranks = dict(zip(table.learners, _ranks(scores.to_numpy()).mean(axis=0).tolist(), strict=True))
    statistic, p_value = 0.0, 1.0
    if scores.nunique(axis=1).max() > 1:  # the statistic is 0/0 where all learners tie everywhere
        statistic, p_value = friedmanchisquare(*(scores[name] for name in table.learners))
    nemenyi = import_optional("scikit_posthocs").posthoc_nemenyi_friedman(scores.to_numpy())
    nemenyi.index = nemenyi.columns = table.learners
    quantile = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return Comparison(
        n_datasets=n,
        ranks=ranks,
        statistic=float(statistic),
        p_value=float(p_value),
        critical_difference=float(quantile * np.sqrt(k * (k + 1) / (6 * n))),
        nemenyi=nemenyi,
        pairs=_pairs(means, nemenyi),
    )


def _pairs(scores: DataFrame, nemenyi: DataFrame) -> DataFrame:
    best_first = scores.mean().sort_values(ascending=False, kind="stable").index
    rows = []
    for first, second in combinations(best_first, 2):
        # Rounded after the subtraction: equal differences must stay equal, they share a rank.
        difference = (scores[first] - scores[second]).to_numpy().round(6)
        rows.append(
            {
                "first": first,
                "second": second,
                "difference": difference.mean(),
                "wins": int((difference > 0).sum()),
                "ties": int((difference == 0).sum()),
                "losses": int((difference < 0).sum()),
                "wilcoxon": _wilcoxon(difference),
                "nemenyi": float(nemenyi.loc[first, second]),
            }
        )
    pairs = import_optional("pandas").DataFrame(rows)
    pairs.insert(7, "holm", holm(pairs["wilcoxon"].to_numpy()))
    return pairs


def _wilcoxon(difference: NDArray[np.float64]) -> float:
    """Two-sided p-value of the signed-rank test; data sets without a difference are left out."""
    from scipy.stats import wilcoxon

    difference = difference[difference != 0]
    return float(wilcoxon(difference).pvalue) if len(difference) else 1.0


def holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down correction: the i-th smallest of m times m − i + 1, never falling."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted
