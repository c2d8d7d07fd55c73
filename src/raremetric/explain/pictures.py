"""Draw what separates a point from its neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from raremetric.explain.distances import (
    counterfactual_changes,
    distance_contributions,
    has_exact_split,
    metric_steps,
)
from raremetric.extras import import_optional
from raremetric.learners.base import feature_names as names_of_features
from raremetric.validation import check_integer

POSITIVE_COLOR, NEGATIVE_COLOR = "#d9541e", "#3b82c4"


def plot_neighbors(
    model: BaseEstimator,
    x: ArrayLike,
    neighbors: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    n_features: int = 8,
    axes: Any = None,
) -> Any:
    """Draw what separates a point from its neighbors, with one panel per neighbor.

    Parameters
    ----------
    model : fitted metric learner, classifier or Pipeline
        As for :func:`distance_contributions`. If there is no exact split of the distance, the
        panels show :func:`counterfactual_changes` and say so.
    x : array-like of shape (n_features,)
        The point.
    neighbors : array-like of shape (n_neighbors, n_features)
        For instance ``X_train[model.kneighbors([x])[1][0]]``.
    feature_names : array-like of shape (n_features,) or None, default=None
        None for the names seen in ``fit``, or x0, x1, …
    labels : array-like of shape (n_neighbors,) or None, default=None
        Titles of the panels, such as the neighbors' classes.
    n_features : int, default=8
        Number of features to show; the sum of the others is one more bar.
    axes : sequence of matplotlib Axes or None, default=None
        One for each neighbor; None for a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure of the axes.

    See Also
    --------
    distance_contributions : The numbers, where the distance has an exact split.
    counterfactual_changes : The numbers, where it has none.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from raremetric import GMML
    >>> from raremetric.explain import plot_neighbors
    >>> X, y = load_wine(return_X_y=True)
    >>> metric = GMML(random_state=0).fit(X, y)
    >>> figure = plot_neighbors(metric, X[0], X[1:3], labels=["first", "second"])
    >>> len(figure.axes)
    2
    """
    exact = has_exact_split(model)
    split = distance_contributions if exact else counterfactual_changes
    parts = split(model, x, np.atleast_2d(neighbors))
    given = names_of_features(metric_steps(model)[0]) if feature_names is None else feature_names
    names = np.asarray(given, dtype=object)
    if len(names) != parts.shape[1]:
        raise ValueError(f"feature_names has {len(names)} entries for {parts.shape[1]} features.")
    titles = [f"neighbor {i + 1}" for i in range(len(parts))] if labels is None else list(labels)
    if len(titles) != len(parts):
        raise ValueError(f"labels has {len(titles)} entries for {len(parts)} neighbors.")
    check_integer(n_features, "n_features", low=1)
    order = np.argsort(-np.abs(parts).sum(axis=0), kind="stable")
    n_features += len(order) == n_features + 1  # a bar for one other feature can name it
    shown, others = order[:n_features], order[n_features:]
    # Changes do not add up, contributions do.
    with_rest = bool(len(others)) and exact
    bars = np.column_stack([parts[:, shown], parts[:, others].sum(axis=1)])
    bars = bars if with_rest else bars[:, :-1]
    ticks = [str(names[j]) for j in shown] + [f"{len(others)} others"] * with_rest
    if axes is None:
        figure = import_optional("matplotlib.figure", "Drawing").Figure(
            figsize=(2.5 + 2.6 * len(parts), 1.2 + 0.3 * len(ticks)), layout="constrained"
        )
        axes = figure.subplots(1, len(parts), squeeze=False, sharex=True, sharey=True)[0]
    for ax, row, title in zip(axes, bars, titles, strict=True):
        colors = np.where(row < 0, NEGATIVE_COLOR, POSITIVE_COLOR)
        ax.barh(range(len(row)), row, color=colors)
        ax.axvline(0, color="0.4", linewidth=0.8)
        ax.set_title(title, fontsize=10, parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        ax.locator_params(axis="x", nbins=4)
    axes[0].set_yticks(range(len(ticks)), ticks)
    for text in axes[0].get_yticklabels():
        text.set_parse_math(False)
    axes[0].invert_yaxis()
    figure = axes[0].figure
    figure.supxlabel(
        "part of the squared distance"
        if exact
        else "change of the squared distance if the feature were equal (no exact split exists)",
        fontsize=10,
    )
    return figure
