"""What RareClassifier tried, drawn."""

from __future__ import annotations

import numpy as np

from raremetric.extras import import_optional


def plot_candidates(results: dict, ax=None):
    """One line a branch: its candidates by utility, those that count with their weight as size."""
    plt = import_optional("matplotlib.pyplot")
    names = list(dict.fromkeys(results["branch"].tolist()))
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 1 + 0.45 * len(names)), layout="constrained")
    heights = np.array([names.index(name) for name in results["branch"].tolist()], dtype=float)
    counted = results["weight"] > 0
    ax.scatter(results["utility"], heights, s=12, color="0.65", label="tried")
    ax.scatter(
        results["utility"][counted],
        heights[counted],
        s=600 * results["weight"][counted],
        facecolor="none",
        edgecolor="tab:red",
        label="counts, by its weight",
    )
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("out-of-fold utility at the candidate's own threshold")
    ax.legend(loc="lower left", fontsize="small")
    return ax
