"""
The two losses of IML
=====================

The star is one example of the rare class. IML pairs it with its three nearest neighbors of its own
class (left) and with its three nearest neighbors of the other class (right).

- A similar pair has the loss [d² − 1]₊: its distance should be at most 1.
- A dissimilar pair has the loss [1 + m − d²]₊: its distance should be at least √(1 + m), here with
  m = 1.

Arrows lead to where the neighbors should be, and the numbers are the losses of the pairs. The
upper row is under the Euclidean distance, and the lower row under the metric that IML has learned
from all points. Its dissimilar pairs are different, because the neighbors of other classes are
found again under the current metric.

``python examples/gallery/two_losses.py docs/images/two-losses.png`` writes the picture to a file.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patheffects import withStroke

from raremetric import IML, Euclidean

COMMON, RARE, GRAY = "#33658a", "#d1495b", "#6b7280"
MARGIN = 1.0
ANCHOR = 0


def make_points():
    """A rare class that is long in one direction, with common examples on both sides of it."""
    rare = [[0, 0], [0.25, 0.65], [0.12, -1.35], [-0.3, 1.75], [0.3, 2.6], [-0.2, -2.3]]
    left = [[-0.9, -0.55], [-1.6, 0.6], [-1.15, 1.5], [-2.1, -0.4], [-1.3, -1.7], [-1.9, 1.9]]
    right = [[0.85, 0.25], [1.15, -0.9], [1.75, 0.8], [1.35, 2.0], [2.0, -1.6], [2.2, -0.2]]
    X = np.array([*rare, *left, *right], dtype=float)
    return X, np.repeat([1, 0], [len(rare), len(left) + len(right)])


def draw_panel(axes, Z, y, others, losses, *, limit, inward):
    """Draw one anchor at the origin, the circle of the loss, and what it asks of each neighbor."""
    for label, color in ((0, COMMON), (1, RARE)):
        axes.scatter(*Z[y == label].T, s=26, color=color, alpha=0.35, lw=0, zorder=2)
    color = RARE if inward else COMMON
    radius = np.sqrt(limit)
    axes.add_patch(plt.Circle((0, 0), radius, fc=color, ec="none", alpha=0.09, zorder=0))
    axes.add_patch(plt.Circle((0, 0), radius, fc="none", ec=color, lw=1.3, ls="--", zorder=1))
    for j, loss in zip(others, losses, strict=True):
        axes.plot([0, Z[j, 0]], [0, Z[j, 1]], color=GRAY, lw=0.8, zorder=1)
        axes.scatter(*Z[j], s=48, color=color, zorder=4)
        if loss > 0:  # an arrow to the circle
            axes.annotate(
                "", Z[j] * radius / np.linalg.norm(Z[j]), Z[j],
                arrowprops={"arrowstyle": "-|>", "color": "black", "lw": 1.6, "shrinkA": 3,
                            "shrinkB": 0, "mutation_scale": 13}, zorder=5,
            )  # fmt: skip
        across = np.array([-Z[j, 1], Z[j, 0]]) / np.linalg.norm(Z[j])
        across *= -1 if across.sum() < 0 else 1  # above the line, or to the right of it
        axes.annotate(
            f"{loss:.2f}" if loss > 0 else "0", Z[j], xytext=15 * across,
            textcoords="offset points", ha="center", va="center", fontsize=9, zorder=6,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
    axes.annotate(
        "1" if inward else "√(1 + m)", radius * np.array([0.71, 0.71]), xytext=(3, 3),
        textcoords="offset points", va="bottom", color=color,
    )  # fmt: skip
    axes.scatter(0, 0, s=130, marker="*", color=RARE, ec="white", lw=0.8, zorder=6)
    axes.set(xlim=(-2.75, 2.75), ylim=(-2.75, 2.75), xticks=[], yticks=[], aspect="equal")
    for side in axes.spines.values():
        side.set_color("#d5d9de")


def draw():
    """Draw both losses under both metrics; return the figure."""
    X, y = make_points()
    learned = IML(margin=MARGIN).fit(X, y)  # its dissimilar pairs are those of its metric
    fixed = IML(margin=MARGIN, dissimilar="fixed").fit(X, y)  # those of the Euclidean distance
    rows = {
        "Euclidean distance": (Euclidean().fit(X, y), fixed.pair_sets_[1]),
        "Metric learned by IML": (learned, learned.pair_sets_[1]),
    }
    figure, panels = plt.subplots(2, 2, figsize=(8.4, 8.8), layout="constrained")
    for row, (title, (metric, pair_set)) in zip(panels, rows.items(), strict=True):
        Z = metric.transform(X - X[ANCHOR])
        squares = np.sum(Z**2, axis=1)
        similar, dissimilar = (pairs[pairs[:, 0] == ANCHOR, 1] for pairs in pair_set)
        attract = np.maximum(squares[similar] - 1, 0)
        repel = np.maximum(1 + MARGIN - squares[dissimilar], 0)
        draw_panel(row[0], Z, y, similar, attract, limit=1, inward=True)
        draw_panel(row[1], Z, y, dissimilar, repel, limit=1 + MARGIN, inward=False)
        row[0].set_ylabel(title, fontsize=12)
        for axes, losses in zip(row, (attract, repel), strict=True):
            axes.set_xlabel(f"mean loss {losses.mean():.2f}")
    panels[0, 0].set_title("Similar pairs, ℓ₁ = [d² − 1]₊:\na distance of at most 1")
    panels[0, 1].set_title("Dissimilar pairs, ℓ₂ = [1 + m − d²]₊:\na distance of at least √(1 + m)")
    handles = [
        plt.Line2D([], [], ls="", marker=marker, color=color, ms=size, label=label)
        for marker, color, size, label in (
            ("*", RARE, 11, "the example"),
            ("o", RARE, 7, "rare class"),
            ("o", COMMON, 7, "common class"),
            (r"$\rightarrow$", "black", 14, "what the loss asks for"),
            ("$0.84$", "black", 22, "loss of the pair"),
        )
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


if __name__ == "__main__":
    figure = draw()
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=130)
    plt.show()
