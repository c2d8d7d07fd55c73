"""Compare the Euclidean distance with a learned one on real data: `make demo`.

`libras` contains 15 hand movements of the Brazilian sign language, with 24 examples each.
Separating one of them from all others is a problem with 6.7 % positives and 90 features.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib
import numpy as np
from gallery.neighborhoods import draw
from rich.console import Console
from rich.table import Table
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, Euclidean, MetricKNNClassifier, load_dataset

DATASET, N_SPLITS = "libras", 10
MEASURES = {"F1": f1_score, "precision": precision_score, "recall": recall_score}


def evaluate(learner, X, y):
    """Measures of the rare class in percent, (n_splits, n_measures)."""
    splits = StratifiedShuffleSplit(N_SPLITS, test_size=0.5, random_state=0).split(X, y)
    rows = []
    for train, test in splits:
        model = make_pipeline(StandardScaler(), MetricKNNClassifier(learner))
        predicted = model.fit(X[train], y[train]).predict(X[test])
        rows.append([100 * score(y[test], predicted) for score in MEASURES.values()])
    return np.array(rows)


def main():
    console = Console()
    X, y = load_dataset(DATASET, return_X_y=True)
    console.print(
        f"Data set {DATASET!r}: {len(X)} examples, {X.shape[1]} features, "
        f"{int(y.sum())} of the rare class ({y.mean():.1%})."
    )
    console.print("Half of the data for training, half for testing; the 3 nearest neighbors vote.")
    table = Table(title=f"The rare class, mean ± standard deviation over {N_SPLITS} splits (%)")
    table.add_column("distance")
    for name in (*MEASURES, "seconds"):
        table.add_column(name, justify="right")
    for name, learner in {"Euclidean": Euclidean(), "learned by IML": IML()}.items():
        start = time.perf_counter()
        scores = evaluate(learner, X, y)
        cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(scores.mean(0), scores.std(0), strict=True)]
        table.add_row(name, *cells, f"{time.perf_counter() - start:.1f}")
    console.print(table)
    console.print("(The first run after an installation includes the compilation of IML.)")
    path = Path("demo") / "neighborhoods.png"
    path.parent.mkdir(exist_ok=True)
    matplotlib.use("Agg")  # also without a screen
    draw(DATASET).savefig(path, dpi=130)
    console.print(f"A picture of the neighborhoods under both distances is in {path}.")


if __name__ == "__main__":
    main()
