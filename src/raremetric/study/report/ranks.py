"""Which learners are better over many data sets: ranks, tests and paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from raremetric.extras import import_optional
from raremetric.study.report.summarize import Table

if TYPE_CHECKING:
    from pandas import DataFrame

LEVEL = 0.05  # significance level of Nemenyi's test, and of Holm's correction over all pairs
PLAIN = "Euclidean"  # the learner of plain 3-NN


@dataclass(frozen=True)
class AverageRanks:
    """Average ranks of the learners, 1 for the best, in both conventions.

    Parameters
    ----------
    n_datasets : int
        Number of data sets that all learners have finished. Only these are ranked.
    over_datasets : dict
        Learner → average rank over these data sets.
    with_mean_row : dict
        The same over the data sets and the Mean row, as in the paper's tables.
    """

    n_datasets: int
    over_datasets: dict[str, float]
    with_mean_row: dict[str, float]


def average_ranks(table: Table) -> AverageRanks | None:
    """Rank the learners on the data sets that all of them have finished; None if there are none.

    Learners with equal means get the average of their ranks.
    """
    scores = table.complete()
    if scores.empty or len(table.learners) < 2:
        return None
    ranks = _ranks(scores.to_numpy())
    mean_ranks = _ranks(scores.mean().to_numpy()[None])
    return _averaged(ranks, mean_ranks, table.learners)


def published_average_ranks(table: Table) -> AverageRanks | None:
    """The published average ranks of the same learners over the same data sets.

    None if some of their scores were not published.
    """
    datasets, known = list(table.complete().index), table.published
    if not known or not datasets or len(table.learners) < 2:
        return None
    if any((name, who) not in known.scores for name in datasets for who in table.learners):
        return None
    ranks = np.array([known.ranks(name, table.learners) for name in datasets])
    mean_ranks = np.array([known.mean_ranks(datasets, table.learners)])
    return _averaged(ranks, mean_ranks, table.learners)


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
    return rankdata(-np.round(scores, 9), axis=1)


@dataclass(frozen=True)
class RankTests:
    """Friedman's test, Nemenyi's test, and Wilcoxon's test with Holm's correction.

    Parameters
    ----------
    n_datasets : int
    ranks : dict
        Learner → average rank over the data sets.
    statistic, p_value : float
        Of Friedman's test. Its null hypothesis is that all learners have the same average rank.
    critical_difference : float
        Nemenyi's: average ranks that are further apart differ at the 5 % level.
    nemenyi : DataFrame
        p-values, learners × learners.
    pairs : DataFrame
        One row per pair, the learner with the higher mean first: first, second, difference,
        wins, ties, losses, and the p-values wilcoxon, holm and nemenyi.
    """

    n_datasets: int
    ranks: dict[str, float]
    statistic: float
    p_value: float
    critical_difference: float
    nemenyi: DataFrame
    pairs: DataFrame


def why_no_tests(table: Table) -> str:
    """Why the tests are not possible, or an empty string."""
    n_datasets, n_learners = len(table.complete()), len(table.learners)
    if n_learners >= 3 and n_datasets >= 2:
        return ""
    return (
        "Friedman's test needs at least three learners and two data sets that all of them have "
        f"finished; this table has {n_learners} learner{'s' * (n_learners != 1)} and {n_datasets} "
        f"such data set{'s' * (n_datasets != 1)}."
    )


def compare_ranks(table: Table) -> RankTests | None:
    """Test whether the learners differ, over the data sets that all of them have finished.

    Returns
    -------
    RankTests or None
        None if `why_no_tests` gives a reason.

    Notes
    -----
    The critical difference is q √(k (k + 1) / (6 N)) for k learners and N data sets, where q is
    the 95 % quantile of the studentized range for k groups divided by √2 (Demšar 2006).
    """
    if why_no_tests(table):
        return None
    means = table.complete()
    scores = means.round(9).to_numpy()
    n, k = scores.shape
    statistic, p_value = _friedman(scores)
    nemenyi = import_optional("scikit_posthocs").posthoc_nemenyi_friedman(scores)
    nemenyi.index = nemenyi.columns = table.learners
    quantile = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return RankTests(
        n_datasets=n,
        ranks=dict(zip(table.learners, _ranks(scores).mean(axis=0).tolist(), strict=True)),
        statistic=statistic,
        p_value=p_value,
        critical_difference=float(quantile * np.sqrt(k * (k + 1) / (6 * n))),
        nemenyi=nemenyi,
        pairs=_pairs(means, nemenyi),
    )


def _friedman(scores: NDArray[np.float64]) -> tuple[float, float]:
    """Statistic and p-value for scores of shape (n_datasets, n_learners)."""
    if (scores == scores[:, :1]).all():  # the statistic is 0/0 if all learners tie everywhere
        return 0.0, 1.0
    statistic, p_value = friedmanchisquare(*scores.T)
    return float(statistic), float(p_value)


def _pairs(means: DataFrame, nemenyi: DataFrame) -> DataFrame:
    best_first = means.mean().sort_values(ascending=False, kind="stable").index
    rows = []
    for first, second in combinations(best_first, 2):
        difference = differences(means, first, second)
        rows.append(
            {
                "first": first,
                "second": second,
                **paired(difference)._asdict(),
                "wilcoxon": _wilcoxon(difference),
                "nemenyi": float(nemenyi.loc[first, second]),
            }
        )
    pairs = import_optional("pandas").DataFrame(rows)
    adjust = import_optional("statsmodels.stats.multitest").multipletests
    pairs["holm"] = adjust(pairs["wilcoxon"], method="holm")[1]
    columns = ["first", "second", "difference", "wins", "ties", "losses"]
    return pairs[[*columns, "wilcoxon", "holm", "nemenyi"]]


def _wilcoxon(difference: NDArray[np.float64]) -> float:
    """Two-sided p-value of the signed-rank test, without the data sets that tie."""
    difference = difference[difference != 0]
    return float(wilcoxon(difference).pvalue) if len(difference) else 1.0


class Paired(NamedTuple):
    """Summary of the differences between two learners over data sets."""

    n_datasets: int
    difference: float  # mean
    standard_error: float  # s / √n with the sample standard deviation s; NaN for one data set
    wins: int
    ties: int
    losses: int


def differences(means: DataFrame, first: str, second: str) -> NDArray[np.float64]:
    """Mean of the first learner minus that of the second, on each data set.

    Rounded after the subtraction, so that equal differences stay equal and share a rank.
    """
    return (means[first] - means[second]).to_numpy().round(6)


def paired(difference: NDArray[np.float64]) -> Paired:
    """Summarize the differences between two learners."""
    n = len(difference)
    return Paired(
        n_datasets=n,
        difference=float(difference.mean()),
        standard_error=float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan,
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
    )


def lead_table(table: Table) -> DataFrame | None:
    """The leader minus each other learner; None if there is no leader or nothing to compare."""
    others = [name for name in table.learners if name != table.leader]
    if table.by_share or table.leader not in table.learners or not others:
        return None
    means = table.complete()
    if means.empty:
        return None
    rows = [
        {"learner": name, **paired(differences(means, table.leader, name))._asdict()}
        for name in others
    ]
    return import_optional("pandas").DataFrame(rows)


def few_table(table: Table) -> DataFrame | None:
    """Means over the data sets with few positives, and the differences from plain 3-NN there.

    None if the study does not ask for it, or lacks such data sets or plain 3-NN.
    """
    if not table.few or PLAIN not in table.learners:
        return None
    means = table.complete()
    few = means[means.index.isin(table.few)]
    if few.empty:
        return None
    rows = []
    for name in table.learners:
        against = paired(differences(few, name, PLAIN))
        rows.append(
            {
                "learner": name,
                "n_datasets": len(means),
                "mean": float(means[name].mean()),
                "n_few": len(few),
                "mean_few": float(few[name].mean()),
                "difference": against.difference,
                "standard_error": against.standard_error,
            }
        )
    return import_optional("pandas").DataFrame(rows)
