"""Does `RareClassifier` find as many positives as it announces? Fifty generated tables.

    python -m benchmarks.announced [--tables N]

Half of the tables are noisy. They have 1,000 to 8,000 rows, 20 to 500 of them positive, and 10,000
further rows to predict. Prints one line for each table and the summary.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, f1_score, log_loss

from raremetric import RareClassifier

N_NEW = 10_000


def tables(n_tables: int = 50) -> Iterator[tuple[NDArray, NDArray, NDArray, NDArray]]:
    """Training rows with their classes, and new rows with theirs."""
    rng = np.random.RandomState(0)
    for number in range(n_tables):
        n_rows = int(np.exp(rng.uniform(np.log(1000), np.log(8000))))
        most = min(500, n_rows // 5)
        share = int(np.exp(rng.uniform(np.log(20), np.log(most)))) / n_rows
        n_features, n_informative = int(rng.choice([8, 15, 20, 30])), int(rng.choice([3, 4, 6]))
        noise = {"class_sep": 0.4, "flip_y": min(0.02, share / 2)} if number % 2 else {"flip_y": 0}
        X, y = make_classification(
            n_rows + N_NEW,
            n_features,
            n_informative=n_informative,
            n_redundant=0,
            weights=[1 - share],
            random_state=number,
            **noise,
        )
        yield X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def measure(
    model: ClassifierMixin, X: NDArray, y: NDArray, X_new: NDArray, y_new: NDArray
) -> dict[str, float]:
    """What a fitted model announced, and what it finds in new rows."""
    model.fit(X, y)
    p, called = model.predict_proba(X_new)[:, 1], model.predict(X_new)
    announced, error = (model.validation_[f"alerts_per_1000{end}"] for end in ("", "_std"))
    found = 1000 * called.mean()
    # New rows are a sample, too.
    spread = np.hypot(error, np.sqrt(found * (1000 - found) / len(X_new)))
    return {
        "rows": len(X),
        "positives": int(y.sum()),
        "announced": announced,
        "error": error,
        "found": found,
        "errors apart": (found - announced) / max(spread, 1e-9),
        "mean p / share": p.mean() / y_new.mean(),
        "AP": 100 * average_precision_score(y_new, p),
        "F1": 100 * f1_score(y_new, called),
        "log-loss": 100 * log_loss(y_new, p),
    }


def main() -> None:
    """Measure `RareClassifier` and print what is found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=50)
    found = []
    for number, table in enumerate(tables(parser.parse_args().tables)):
        found.append(measure(RareClassifier(random_state=number), *table))
        if number == 0:
            print(" | ".join(found[0]))
        print(" | ".join(f"{value:.4g}" for value in found[-1].values()), flush=True)
    apart, ratio = (
        np.array([each[key] for each in found]) for key in ("errors apart", "mean p / share")
    )
    print(
        f"Alerts within two standard errors: {np.mean(np.abs(apart) < 2):.0%}; "
        f"mean probability / share: {ratio.mean():.3f}"
    )


if __name__ == "__main__":
    main()
