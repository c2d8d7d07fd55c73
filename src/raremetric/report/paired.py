"""Beyond the paper: who is ahead by how much, data set by data set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raremetric.extras import import_optional
from raremetric.report.summarize import Table

if TYPE_CHECKING:
    from pandas import DataFrame, Series

LEADER = "RareClassifier-thorough"
PLAIN = "Euclidean"  # plain 3-NN


def paired(first: Series, second: Series) -> dict[str, Any]:
    """Mean difference of two columns of means, and its standard error over data sets.

    The standard error is the sample standard deviation of the differences over √n; NaN for one
    data set.
    """
    difference = (first - second).to_numpy().round(6)
    n = len(difference)
    return {
        "n_datasets": n,
        "difference": float(difference.mean()),
        "standard_error": float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan,
        "wins": int((difference > 0).sum()),
        "ties": int((difference == 0).sum()),
        "losses": int((difference < 0).sum()),
    }


def lead_table(table: Table) -> DataFrame | None:
    """The leader minus each other learner; None without it, or with nothing to compare."""
    others = [name for name in table.learners if name != LEADER]
    if table.by_share or LEADER not in table.learners or not others:
        return None
    scores = table.complete()
    if scores.empty:
        return None
    rows = [{"learner": name, **paired(scores[LEADER], scores[name])} for name in others]
    return import_optional("pandas").DataFrame(rows)


def few_table(table: Table) -> DataFrame | None:
    """Means where positives are few, and minus plain neighbors; None where that has no meaning."""
    if not table.few or PLAIN not in table.learners:
        return None
    scores = table.complete()
    few = scores[scores.index.isin(table.few)]
    if few.empty:
        return None
    rows = []
    for name in table.learners:
        against = paired(few[name], few[PLAIN])
        rows.append(
            {
                "learner": name,
                "n_datasets": len(scores),
                "mean": float(scores[name].mean()),
                "n_few": len(few),
                "mean_few": float(few[name].mean()),
                "difference": against["difference"],
                "standard_error": against["standard_error"],
            }
        )
    return import_optional("pandas").DataFrame(rows)
