"""Which learners are better over many data sets: ranks, tests and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, studentized_range, t, wilcoxon

from raremetric.datasets import dataset_origin
from raremetric.study.report.tables import Table, ranks_of

LEVEL = 0.05  # significance level of all tests
EQUIVALENT = 1.0  # points that are too few to matter
PLAIN = "Euclidean"  # the learner of plain 3-NN


def average_ranks(table: Table) -> dict[str, float] | None:
    """Average rank of each learner, 1 for the best, over the data sets that all have finished.

    Learners with equal means get the average of their ranks. None if there is nothing to compare.
    """
    scores = table.complete()
    if scores.empty or len(table.learners) < 2:
        return None
    return dict(zip(table.learners, ranks_of(scores).mean(axis=0).tolist(), strict=True))


class RankTests(NamedTuple):
    """Friedman's test, Nemenyi's test, and Wilcoxon's test with Holm's correction."""

    n_datasets: int
    ranks: dict[str, float]  # learner → average rank over the data sets
    statistic: float  # of Friedman's test, whose null hypothesis is that all these are equal
    p_value: float
    critical_difference: float  # of average ranks, at the 5 % level
    nemenyi: pd.DataFrame  # p-values, learners × learners
    pairs: pd.DataFrame  # see `pair_tests`, and the p-value nemenyi


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
    pairs = pair_tests(means, table.study.leader)
    pairs["nemenyi"] = [
        nemenyi.loc[a, b] for a, b in zip(pairs["first"], pairs["second"], strict=True)
    ]
    quantile = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return RankTests(
        n_datasets=n,
        ranks=dict(zip(table.learners, ranks_of(scores).mean(axis=0).tolist(), strict=True)),
        statistic=float(statistic),
        p_value=float(p_value),
        critical_difference=float(quantile * np.sqrt(k * (k + 1) / (6 * n))),
        nemenyi=nemenyi,
        pairs=pairs,
    )


def pair_tests(means: pd.DataFrame, leader: str | None = None) -> pd.DataFrame:
    """Compare all pairs of learners; `means` is data sets × learners.

    One row per pair, the learner with the higher mean first: first, second, the fields of `Paired`,
    and holm, the p-value with Holm's correction. For the pairs with the leader, which was chosen in
    advance, it is corrected for their number, and otherwise for the number of all pairs.
    """
    best_first = means.mean().sort_values(ascending=False, kind="stable").index
    pairs = _compared(means, combinations(best_first, 2))
    own = (pairs["first"] == leader) | (pairs["second"] == leader)
    if own.any():
        pairs.loc[own, "holm"] = holm(pairs.loc[own, "wilcoxon"])
    return pairs


def leads(means: pd.DataFrame, leader: str) -> pd.DataFrame:
    """One learner minus each other one: learner, `Paired`, and holm, for these comparisons."""
    pairs = _compared(means, ((leader, name) for name in means if name != leader))
    return pairs.drop(columns="first").rename(columns={"second": "learner"})


def _compared(means: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    found = pd.DataFrame(
        {"first": first, "second": second, **paired(differences(means, first, second))._asdict()}
        for first, second in pairs
    )
    return found.assign(holm=holm(found["wilcoxon"]))


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Holm's correction of p-values for their number."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(p_values, method="holm")[1]


class Paired(NamedTuple):
    """Summary of the differences between two learners over data sets.

    Data sets of one origin are not independent. The standard error is clustered by origin: it is
    that of the mean over data sets if each has an origin of its own. The signed-rank test takes
    the mean difference of each origin.
    """

    n_datasets: int
    n_origins: int
    difference: float  # mean over the data sets
    standard_error: float  # NaN for one origin
    wins: int
    ties: int
    losses: int
    wilcoxon: float  # p-value of the two-sided signed-rank test, without ties
    equivalent: float  # the larger p-value of two one-sided t tests against ±1 point


def differences(means: pd.DataFrame, first: str, second: str) -> pd.Series:
    """Mean of the first learner minus that of the second, on each data set.

    Rounded after the subtraction, so that equal differences stay equal and share a rank.
    """
    return (means[first] - means[second]).round(6)


def paired(difference: pd.Series) -> Paired:
    """Summarize the differences between two learners, indexed by data set.

    With the deviations of the differences from their mean, summed over each of the g origins, the
    clustered standard error is √(g / (g − 1) Σ sum²) / n.
    """
    origins = difference.groupby([dataset_origin(name) for name in difference.index])
    mean, n, g = float(difference.mean()), len(difference), len(origins)
    squares = ((origins.sum() - origins.size() * mean) ** 2).sum()
    error = float(np.sqrt(squares * g / (g - 1)) / n) if g > 1 else np.nan
    each = origins.mean().round(6)
    each = each[each != 0]
    return Paired(
        n_datasets=n,
        n_origins=g,
        difference=mean,
        standard_error=error,
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
        wilcoxon=float(wilcoxon(each).pvalue) if len(each) else 1.0,
        equivalent=t_test(EQUIVALENT - abs(mean), error, g),
    )


def t_test(distance: float, error: float, n: int) -> float:
    """The p-value of a one-sided t test: of a mean of n values, at this distance from a bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(t.sf(np.divide(distance, error), n - 1))


def lead_table(table: Table) -> pd.DataFrame | None:
    """The leader minus each other learner; None if there is no leader or nothing to compare."""
    leader, means = table.study.leader, table.complete()
    if leader is None or leader not in means or len(means.columns) < 2 or means.empty:
        return None
    return leads(means, leader)


def few_table(table: Table) -> pd.DataFrame | None:
    """Means over the data sets with few positives, and the differences from plain 3-NN there.

    None if the study does not ask for it, or lacks such data sets or plain 3-NN.
    """
    means = table.complete()
    few = means[means.index.isin(table.few)]
    if few.empty or PLAIN not in means or len(means.columns) < 2:
        return None
    against = leads(few, PLAIN).set_index("learner").reindex(table.learners)
    return pd.DataFrame(
        {
            "learner": table.learners,
            "n_datasets": len(means),
            "mean": means.mean().to_list(),
            "n_few": len(few),
            "mean_few": few.mean().to_list(),
            "difference": -against["difference"].fillna(0.0).to_numpy(),
            "standard_error": against["standard_error"].to_numpy(),
            "holm": against["holm"].to_numpy(),
        }
    )
