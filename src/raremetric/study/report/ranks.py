"""Which learners are better over many data sets: ranks, tests and paired differences."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, studentized_range, wilcoxon

from raremetric.study.report.tables import Table, ranks_of

LEVEL = 0.05  # significance level of Nemenyi's test, and of Holm's correction over all pairs


class AverageRanks(NamedTuple):
    """Average ranks of the learners, 1 for the best, over what all of them have finished."""

    n_datasets: int
    over_datasets: dict[str, float]  # learner → average rank over these data sets
    with_mean_row: dict[str, float]  # over the data sets and the Mean row, as in the paper


def average_ranks(table: Table) -> AverageRanks | None:
    """Rank the learners on the data sets that all of them have finished; None if there are none.

    Learners with equal means get the average of their ranks.
    """
    scores = table.complete()
    if scores.empty or len(table.learners) < 2:
        return None
    return _averaged(ranks_of(scores), ranks_of(scores.mean()), table.learners)


def published_average_ranks(table: Table) -> AverageRanks | None:
    """The published average ranks of the same learners over the same data sets.

    None if some of their scores were not published.
    """
    datasets, learners, known = list(table.complete().index), table.learners, table.published
    if not known or not datasets or len(learners) < 2:
        return None
    if any((name, who) not in known.scores for name in datasets for who in learners):
        return None
    ranks = np.array([known.ranks(name, learners) for name in datasets])
    return _averaged(ranks, np.array(known.mean_ranks(datasets, learners)), learners)


def _averaged(ranks: NDArray, mean_ranks: NDArray, learners: list[str]) -> AverageRanks:
    """Average ranks from those on each data set, and those of the Mean row."""
    over_datasets, with_mean_row = ranks.mean(axis=0), np.vstack([ranks, mean_ranks]).mean(axis=0)
    return AverageRanks(
        n_datasets=len(ranks),
        over_datasets=dict(zip(learners, over_datasets.tolist(), strict=True)),
        with_mean_row=dict(zip(learners, with_mean_row.tolist(), strict=True)),
    )


class RankTests(NamedTuple):
    """Friedman's test, Nemenyi's test, and Wilcoxon's test with Holm's correction."""

    n_datasets: int
    ranks: dict[str, float]  # learner → average rank over the data sets
    statistic: float  # of Friedman's test, whose null hypothesis is that all these are equal
    p_value: float
    critical_difference: float  # of average ranks, at the 5 % level
    nemenyi: pd.DataFrame  # p-values, learners × learners
    pairs: pd.DataFrame  # one row per pair, the learner with the higher mean first


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
    """Test whether the learners differ; None if `why_no_tests` gives a reason.

    The critical difference is q √(k (k + 1) / (6 N)) for k learners and N data sets, where q is
    the 95 % quantile of the studentized range for k groups divided by √2 (Demšar 2006).
    """
    if why_no_tests(table):
        return None
    from scikit_posthocs import posthoc_nemenyi_friedman

    means = table.complete()
    scores = means.round(9).to_numpy()
    n, k = scores.shape
    # Friedman's statistic is 0/0 if all learners tie everywhere.
    differ = (scores != scores[:, :1]).any()
    statistic, p_value = friedmanchisquare(*scores.T) if differ else (0.0, 1.0)
    nemenyi = posthoc_nemenyi_friedman(scores)
    nemenyi.index = nemenyi.columns = table.learners
    quantile = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return RankTests(
        n_datasets=n,
        ranks=dict(zip(table.learners, ranks_of(scores).mean(axis=0).tolist(), strict=True)),
        statistic=float(statistic),
        p_value=float(p_value),
        critical_difference=float(quantile * np.sqrt(k * (k + 1) / (6 * n))),
        nemenyi=nemenyi,
        pairs=_pairs(means, nemenyi),
    )


def _pairs(means: pd.DataFrame, nemenyi: pd.DataFrame) -> pd.DataFrame:
    from statsmodels.stats.multitest import multipletests

    best_first = means.mean().sort_values(ascending=False, kind="stable").index
    rows = []
    for first, second in combinations(best_first, 2):
        difference = differences(means, first, second)
        unequal = difference[difference != 0]
        p_values = {
            "wilcoxon": float(wilcoxon(unequal).pvalue) if len(unequal) else 1.0,
            "holm": np.nan,
            "nemenyi": float(nemenyi.loc[first, second]),
        }
        rows.append({"first": first, "second": second, **paired(difference)._asdict(), **p_values})
    pairs = pd.DataFrame(rows).drop(columns=["n_datasets", "standard_error"])
    pairs["holm"] = multipletests(pairs["wilcoxon"], method="holm")[1]
    return pairs


class Paired(NamedTuple):
    """Summary of the differences between two learners over data sets."""

    n_datasets: int
    difference: float  # mean
    standard_error: float  # s / √n with the sample standard deviation s; NaN for one data set
    wins: int
    ties: int
    losses: int


def differences(means: pd.DataFrame, first: str, second: str) -> NDArray[np.float64]:
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
