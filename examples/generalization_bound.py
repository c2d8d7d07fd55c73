"""Draw how loose the generalization bound of IML is, as n and the share of positives change.

The bound on how much the expected loss exceeds the loss on the training examples, and what
was measured with new examples: the largest of ten samples. Run
``python -m examples.generalization_bound [FILE]``; by default it draws
docs/images/generalization-bound.png. It also prints the figures, and those of the
paper's data sets.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from paper.bound import generalization_bound
from raremetric import IML, list_datasets, load_dataset

IMAGE = Path(__file__).parent.parent / "docs" / "images" / "generalization-bound.png"
SIZES = (100, 300, 1000, 3000, 10_000)
SHARES = {0.5: "#1b4965", 0.2: "#3e92a8", 0.05: "#e2a03f", 0.02: "#d1495b"}
N_SAMPLES, N_NEW, DELTA = 10, 10_000, 0.05
STRONG = {"margin": 1.0, "regularization": 10.0}
SPREAD = np.sqrt([0.392, 0.032, 0.032])  # standard deviation of the three features
SETTINGS = {  # title: (what the features are divided by, parameters of IML)
    "In the unit ball, m = 1, λ = 10": (1.0, STRONG),
    "Standardized features, m = 100, λ = 0.01 (the defaults)": (SPREAD, {}),
}


def draw_examples(rng, n_per_class, unit):
    """Examples in two balls side by side, one for each class, within the unit ball."""
    y = np.repeat([0, 1], n_per_class)
    X = rng.normal(size=(len(y), 3))
    X *= 0.4 * rng.uniform(size=(len(y), 1)) ** (1 / 3) / np.linalg.norm(X, axis=1, keepdims=True)
    X[:, 0] += np.where(y == 1, 0.6, -0.6)
    return X / unit, y


def expected_loss(iml, X, y, X_new, y_new):
    """The loss of new examples of each class with their nearest training examples."""
    total, (a, k) = 0.0, (iml.similar_weight, iml.n_neighbors)
    for label in iml.classes_:
        queries, own, others = X_new[y_new == label], X[y == label], X[y != label]
        nearest = NearestNeighbors(n_neighbors=k).fit(own).kneighbors(queries)[1]
        similar = ((iml.transform(queries)[:, None] - iml.transform(own)[nearest]) ** 2).sum(axis=2)
        search = NearestNeighbors(n_neighbors=k).fit(iml.transform(others))
        dissimilar = search.kneighbors(iml.transform(queries))[0] ** 2
        total += a * np.maximum(similar - 1, 0).mean()
        total += (1 - a) * np.maximum(1 + iml.margin - dissimilar, 0).mean()
    return total / (2 * len(iml.classes_))


def measure(n, share, unit, parameters):
    """The bound on the gap, the largest one that was measured, and the gap that says nothing."""
    n_rare, gaps = round(share * n), []
    for seed in range(N_SAMPLES):
        rng = np.random.RandomState(seed)
        X, y = draw_examples(rng, [n - n_rare, n_rare], unit)
        iml = IML(**parameters).fit(X, y)
        bound = generalization_bound(iml, X, y, DELTA)
        new = draw_examples(rng, [N_NEW, N_NEW], unit)
        gaps.append(expected_loss(iml, X, y, *new) - bound.empirical_risk)
    return bound.gap, max(gaps), bound.trivial_risk - bound.empirical_risk


def draw_setting(axes, title, unit, parameters):
    """Draw one panel, and yield the lines of a table."""
    for share, color in SHARES.items():
        sizes = [n for n in SIZES if share * n >= 4]
        bounds, measured, limits = np.transpose(
            [measure(n, share, unit, parameters) for n in sizes]
        )
        axes.plot(sizes, bounds, color=color, label=f"{share:.0%} positives")
        axes.plot(sizes, measured, "o--", color=color, ms=4, lw=1)  # none if negative
        enough = sizes[-1] * (bounds[-1] / limits[-1]) ** 2  # the bound decreases like 1/√n
        yield (
            f"| {title} | {share:.0%} | {bounds[-1]:.3g} | {measured[-1]:.1g} "
            f"| {limits[-1]:.3g} | {enough:.1g} |"
        )
    axes.axhline(limits[-1], color="#6b7280", lw=1)
    axes.annotate(
        "above this line, the bound says nothing",
        (SIZES[0], limits[-1]), xytext=(0, -13), textcoords="offset points", color="#6b7280",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="training examples", title=title)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(path):
    """Draw both settings side by side; return the lines of a table."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    lines = []
    for axes, (title, setting) in zip(panels, SETTINGS.items(), strict=True):
        lines += draw_setting(axes, title, *setting)
    panels[0].set_ylabel("expected loss − training loss")
    handles, labels = panels[0].get_legend_handles_labels()
    handles += [plt.Line2D([], [], color="black"), plt.Line2D([], [], color="black", ls="--")]
    labels += [f"bound, δ = {DELTA}", "measured"]
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return lines


def real_data(name, parameters):
    """One line: the training loss, that of the other half of the data, and the bound."""
    X, y = load_dataset(name, return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_new = scaler.transform(X), scaler.transform(X_new)
    iml = IML(**parameters).fit(X, y)
    bound = generalization_bound(iml, X, y, DELTA)
    return (
        f"| {name} | {len(y)} | {min(np.bincount(y))} | {iml.margin:g} | {iml.regularization:g} "
        f"| {bound.empirical_risk:.3g} | {expected_loss(iml, X, y, X_new, y_new):.3g} "
        f"| {bound.risk:.2g} | {bound.trivial_risk:.3g} |"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = draw(sys.argv[1] if len(sys.argv) > 1 else IMAGE)
    sys.stdout.write("| setting | positives | bound | measured | limit | n needed |\n")
    sys.stdout.write("\n".join([*table, ""]))
    sys.stdout.write("| data | n | positives | m | λ | train | new | bound | metric 0 |\n")
    for each in list_datasets("paper"):
        for parameters in ({}, STRONG):
            sys.stdout.write(real_data(each, parameters) + "\n")
