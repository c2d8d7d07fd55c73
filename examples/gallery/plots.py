"""Drawing that the examples of the gallery share. It is in the same folder as they are."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta
from sklearn.metrics import brier_score_loss

RARE, COMMON, GRAY, BLUE, YELLOW = "#d1495b", "#b9c0c9", "#6b7280", "#33658a", "#e2a03f"


def clean(*panels):
    """Remove the upper and the right line of each panel."""
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)


def draw_lines(axes, x, scores, colors):
    """Means over splits against x, with a band of one standard error; scores are by name."""
    for name, values in scores.items():
        mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        axes.plot(x, mean, "o-", color=colors[name], label=name)
        axes.fill_between(x, mean - error, mean + error, color=colors[name], alpha=0.12, lw=0)


def draw_bars(axes, groups, scores, colors):
    """Groups of bars, one for each name, with standard errors over the splits."""
    width = 0.8 / len(scores)
    for j, (name, values) in enumerate(scores.items()):
        places = np.arange(len(groups)) + width * (j - (len(scores) - 1) / 2)
        errors = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        axes.bar(
            places, values.mean(axis=1), 0.9 * width, yerr=errors, color=colors[name], label=name
        )
    axes.set_xticks(range(len(groups)), groups)


def viewing_plane(Z, y):
    """Two axes: the difference of the class means, and the largest variance orthogonal to it."""
    between = Z[y == 1].mean(axis=0) - Z[y == 0].mean(axis=0)
    between /= np.linalg.norm(between)
    rest = Z - Z.mean(axis=0)
    rest = rest - np.outer(rest @ between, between)
    return np.stack([between, np.linalg.svd(rest, full_matrices=False)[2][0]])


def draw_neighborhoods(axes, model, train, test):
    """Training points, and each rare test point or false alarm with the neighbors that vote."""
    (X, y), (X_new, y_new) = train, test
    Z, Z_new = model.metric_.transform(X), model.metric_.transform(X_new)
    plane = viewing_plane(Z, y)
    points, new = Z @ plane.T, Z_new @ plane.T
    alerts, voters = model.predict(X_new) == 1, model.kneighbors(X_new, return_distance=False)
    for i in np.flatnonzero(alerts | (y_new == 1)):
        for j in voters[i]:
            axes.plot(*zip(new[i], points[j], strict=True), color=GRAY, lw=0.7, zorder=1)
    axes.scatter(*points[y == 0].T, s=14, color=COMMON, label="common, training")
    axes.scatter(*points[y == 1].T, s=14, color=RARE, label="rare, training")
    kinds = {
        "rare, found": (alerts & (y_new == 1), "D", "#2a9d5c"),
        "rare, missed": (~alerts & (y_new == 1), "X", "black"),
        "false alarm": (alerts & (y_new == 0), "^", YELLOW),
    }
    for name, (chosen, marker, color) in kinds.items():
        axes.scatter(
            *new[chosen].T, s=60, marker=marker, color=color, ec="white", label=name, zorder=2
        )
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def draw_reliability(axes, p, y, bins=10):
    """Observed shares against predicted ones, p of shape (n_repeats, n_samples)."""
    truth = np.tile(y, (len(p), 1))
    number = np.clip((p * bins).astype(int), 0, bins - 1)
    axes.plot([0, 1], [0, 1], color=COMMON, lw=1, zorder=0)
    for i in np.unique(number):
        inside = number == i
        n, hits = inside.sum() / len(p), truth[inside].sum() / len(p)  # per repeat
        low, high = beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
        predicted = p[inside].mean()
        axes.plot([predicted, predicted], [low, high], color=RARE, lw=1.2)
        axes.scatter(predicted, hits / n, s=8 + 60 * np.sqrt(n / len(y)), color=RARE, zorder=2)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set_xlabel("predicted probability of the rare class")
    clean(axes)
    return np.mean([brier_score_loss(y, row) for row in p])
