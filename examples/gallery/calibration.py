"""
Calibrated probabilities
========================

If 100 test examples have a predicted probability of about 0.3, about 30 of them should belong to
the class. The share of votes among three neighbors is not calibrated in this sense: it has only
four values. ``vote="score"`` is calibrated on held-out examples inside ``fit``.

Each dot is the share of the rare class among held-out examples with about the same predicted
probability, over several repeats of the cross-validation. Larger dots are for more examples; the
bar is the 95 % interval of the share. The Brier score is the mean squared error of the
probabilities: lower is better.

``python examples/gallery/calibration.py docs/images/reliability.png`` writes the picture to a
file.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, MetricKNNClassifier, load_dataset

BINS = np.linspace(0, 1, 11)
N_REPEATS = 10


def held_out_probabilities(classifier, X, y):
    """Probability of the rare class for each example when held out, (n_repeats, n_samples)."""
    model = make_pipeline(StandardScaler(), classifier)
    repeats = [StratifiedKFold(5, shuffle=True, random_state=s) for s in range(N_REPEATS)]
    return np.stack(
        [cross_val_predict(model, X, y, cv=cv, method="predict_proba")[:, 1] for cv in repeats]
    )


def draw_reliability(axes, p, y, title):
    """Draw observed shares against predicted ones, with the number of rows as the size."""
    truth = np.tile(y, (len(p), 1))
    bins = np.clip(np.digitize(p, BINS) - 1, 0, len(BINS) - 2)
    axes.plot([0, 1], [0, 1], color="#b9c0c9", lw=1, zorder=0)
    for i in np.unique(bins):
        inside = bins == i
        n, hits = inside.sum() / len(p), truth[inside].sum() / len(p)  # per repeat
        low, high = beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
        predicted = p[inside].mean()
        axes.plot([predicted, predicted], [low, high], color="#d1495b", lw=1.2)
        axes.scatter(predicted, hits / n, s=8 + 60 * np.sqrt(n / len(y)), color="#d1495b", zorder=2)
    loss = np.mean([brier_score_loss(y, row) for row in p])
    axes.set_title(f"{title}\nBrier score {loss:.3f}")
    axes.set_xlabel("predicted probability of the rare class")
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_aspect("equal")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(dataset):
    """Draw the share of votes beside the calibrated score; return the figure."""
    X, y = load_dataset(dataset, return_X_y=True)
    metric = BalancedDiscriminant()
    models = {
        "Share of three votes": MetricKNNClassifier(metric),
        "Calibrated score": MetricKNNClassifier(metric, "auto", vote="score", random_state=0),
    }
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained", sharey=True)
    for axes, (title, model) in zip(panels, models.items(), strict=True):
        draw_reliability(axes, held_out_probabilities(model, X, y), y, title)
    panels[0].set_ylabel("observed share of the rare class")
    figure.suptitle(f"{dataset}: {len(y)} examples, {y.mean():.0%} of the rare class")
    return figure


if __name__ == "__main__":
    figure = draw("yeast3")
    if len(sys.argv) > 1:
        figure.savefig(sys.argv[1], dpi=130)
    plt.show()
