"""Where a study and the paper disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raremetric.extras import import_optional

if TYPE_CHECKING:
    from pandas import DataFrame

    from raremetric.report.summarize import Table

HALF_A_DIGIT = 0.05  # the paper prints one decimal


def find_differences(tables: list[Table]) -> DataFrame:
    """The cells whose mean is more than two standard errors away from the paper's.

    The standard error is that of our mean, s / √n with the sample standard deviation s over n
    splits (so n ≥ 2); the paper's own error is not added. A difference within half a unit of the
    paper's printed decimal is none.

    Returns
    -------
    DataFrame
        table, dataset, learner, n_splits, mean, paper_mean, difference, standard_error,
        standard_errors (the difference counted in them), the largest first.
    """
    pandas = import_optional("pandas")
    cells = pandas.concat(
        [table.cells.assign(table=table.name, resampling=table.resampling) for table in tables]
    )
    cells = cells[cells["paper_mean"].notna() & (cells["n_splits"] >= 2)]
    # The same may stand in Table 2 and again beyond the paper.
    cells = cells.drop_duplicates(["resampling", "dataset", "learner"])
    difference = cells["mean"] - cells["paper_mean"]
    # The population's deviation over √(n−1) is the sample's over √n.
    error = cells["std"] / np.sqrt(cells["n_splits"] - 1)
    found = cells.assign(
        difference=difference,
        standard_error=error,
        standard_errors=np.divide(
            difference.abs(), error, out=np.full(len(cells), np.inf), where=error > 0
        ),
    )[difference.abs() > np.maximum(2 * error, HALF_A_DIGIT)]
    columns = ["table", "dataset", "learner", "n_splits", "mean", "paper_mean"]
    columns += ["difference", "standard_error", "standard_errors"]
    order = found.sort_values("standard_errors", ascending=False, kind="stable")
    return order[columns].reset_index(drop=True)
