"""
Neighborhoods before and after
==============================

Lines lead from each test point of the rare class to the three training points that vote on it:
green if the neighbor is rare, too, and red if it is common. If two of the three are common, the
vote misses the point. Fewer neighbors are common under the metric that :class:`raremetric.IML` has
learned from the training points than under the Euclidean distance.

The data set is libras: 24 of 360 hand movements are of the rare class, described by 90 features.
Of nine random splits into halves, the one with the median gain in F1 is shown. Both panels are
projections to a plane: the difference of the class means, and the largest variance orthogonal to
it.

This example draws the picture of the home page: ``python examples/gallery/neighborhoods.py
docs/images/neighborhoods.png``. With a second file, docs/images/neighborhoods-narrow.png, it also
draws the one for narrow screens.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from raremetric import IML, Euclidean, MetricKNNClassifier, load_dataset

COMMON, RARE, GOOD, BAD = "#b9c0c9", "#d1495b", "#2a9d5c", "#d1495b"


def viewing_plane(Z, y):
    """Two axes: the difference of the class means, and the largest variance orthogonal to it."""
    between = Z[y == 1].mean(axis=0) - Z[y == 0].mean(axis=0)
    between /= np.linalg.norm(between)
    rest = Z - Z.mean(axis=0)
    rest = rest - np.outer(rest @ between, between)
    _, _, directions = np.linalg.svd(rest, full_matrices=False)
    return np.stack([between, directions[0]])


def draw_neighborhoods(axes, model, X_train, y_train, X_test, y_test, title):
    """Draw training points, and lines from each rare test point to the neighbors that vote."""
    Z_train, Z_test = model.metric_.transform(X_train), model.metric_.transform(X_test)
    plane = viewing_plane(Z_train, y_train)
    train, test = Z_train @ plane.T, Z_test[y_test == 1] @ plane.T
    rows = model.kneighbors(X_test[y_test == 1], return_distance=False)
    found = model.predict(X_test[y_test == 1]) == 1
    for point, neighbors in zip(test, rows, strict=True):
        for row in neighbors:
            color = GOOD if y_train[row] == 1 else BAD
            axes.plot(
                *zip(point, train[row], strict=True), color=color, lw=0.9, alpha=0.7, zorder=1
            )
    axes.scatter(*train[y_train == 0].T, s=12, color=COMMON, label="common, training")
    axes.scatter(*train[y_train == 1].T, s=26, color=RARE, label="rare, training")
    axes.scatter(*test[found].T, s=60, marker="D", color=GOOD, ec="white", label="rare, found")
    axes.scatter(*test[~found].T, s=60, marker="X", color="black", ec="white", label="rare, missed")
    f1 = f1_score(y_test, model.predict(X_test))
    axes.set_title(f"{title}\n{found.sum()} of {len(found)} rare points found, F1 {f1:.2f}")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def fit_both(X, y, random_state):
    """The gain in F1, both models, and the split that they were fitted and tested on."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=random_state
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    models = [MetricKNNClassifier(m).fit(X_train, y_train) for m in (Euclidean(), IML())]
    plain, learned = (f1_score(y_test, model.predict(X_test)) for model in models)
    return learned - plain, models, (X_train, y_train, X_test, y_test)


def draw(dataset, n_splits=9, narrow=False):
    """Draw both metrics side by side, on the split with the median gain; return the figure."""
    X, y = load_dataset(dataset, return_X_y=True)
    splits = sorted((fit_both(X, y, s) for s in range(n_splits)), key=lambda split: split[0])
    _, models, data = splits[n_splits // 2]
    shape, size = ((2, 1), (5, 8.6)) if narrow else ((1, 2), (11, 4.6))
    figure, panels = plt.subplots(*shape, figsize=size, layout="constrained")
    for axes, model, title in zip(
        panels, models, ("Euclidean distance", "Learned by IML"), strict=True
    ):
        draw_neighborhoods(axes, model, *data, title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2 if narrow else 4, frameon=False
    )
    return figure


if __name__ == "__main__":
    figure = draw("libras")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=130)
    if len(sys.argv) > 2:
        plt.close(figure)
        draw("libras", narrow=True).savefig(sys.argv[2], dpi=130)
    plt.show()
