"""How long a user of a table waits: compare and fit on 3,000 rows, predict one row.

    python benchmarks/table.py

The table has 3,000 abalones (public data that comes with the package) and 12 mixed columns: seven
numbers, and five texts with 3 to 30 levels and missing values. Times are CPU seconds of one thread,
without compilation; the prediction is the median of 50 calls. Prints one line per figure and writes
``benchmarks/results/table.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from growth import ONE_THREAD

os.environ.update(ONE_THREAD)  # before NumPy is imported

import numpy as np
import pandas as pd

from raremetric import load_dataset
from raremetric.table import compare_table, fit_table, load_model, save_model

N_ROWS, N_CALLS = 3000, 50
OUT = Path(__file__).parent / "results" / "table.json"


def mixed_table() -> pd.DataFrame:
    """3,000 abalones with twelve columns; some of the numbers are repeated as text, in bins."""
    bunch = load_dataset("abalone", as_frame=True)
    frame = bunch.data.drop(columns=["Sex=M", "Sex=F", "Sex=I"])
    texts = {"sex": bunch.data[["Sex=M", "Sex=F", "Sex=I"]].idxmax(axis=1)}
    rng = np.random.default_rng(0)
    for name, n_bins in zip(frame.columns, (5, 8, 14, 30), strict=False):
        noisy = frame[name] + rng.normal(scale=frame[name].std() / 2, size=len(frame))
        texts[f"{name}_bin"] = pd.qcut(noisy, n_bins, labels=False).map("bin {}".format)
    frame = frame.assign(**texts)
    frame = frame.mask(rng.random(frame.shape) < 0.02)
    frame["class"] = np.where(bunch.target == 1, "yes", "no")
    return frame.sample(N_ROWS, random_state=0)


def measure(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds, and what the call returns."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=None, help="default: those of compare")
    options = parser.parse_args()
    frame = mixed_table()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.to_csv(path, index=False)
        frame.head(300).to_csv(Path(folder) / "small.csv", index=False)
        small = {"methods": options.methods, "n_folds": 2}
        compare_table(Path(folder) / "small.csv", "class", **small)  # compiles
        seconds, found = measure(lambda: compare_table(path, "class", methods=options.methods))
        figures: dict[str, Any] = {"compare_seconds": seconds}
        for row in found.summary():
            figures[f"compare {row['method']}"] = 5 * row["seconds"]["mean"]
        figures["fit_seconds"], model = measure(lambda: fit_table(path, "class"))
        save_model(model, Path(folder) / "model.skops")
        model = load_model(Path(folder) / "model.skops")
        rows = [frame.iloc[[i]].drop(columns="class") for i in range(N_CALLS)]
        model.predict(rows[0])
        times = [measure(lambda row=row: model.predict(row))[0] for row in rows]
        figures["predict_one_row_milliseconds"] = 1000 * statistics.median(times)
    for name, value in figures.items():
        print(f"{name}: {value:.3g}")
    OUT.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
