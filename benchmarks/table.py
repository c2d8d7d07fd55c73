"""How long a user of a table waits for a model: fit on 3,000 rows, predict one row after loading.

    python benchmarks/table.py

The table has 3,000 abalones (public data that comes with the package) and 12 mixed columns: seven
numbers, and five texts with 3 to 30 levels and missing values. Times are CPU seconds of one thread,
without compilation; the prediction is the median of 50 calls. Prints one line per method and writes
``benchmarks/results/table.json``. How long `compare` takes: ``python -m benchmarks.own_tables``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from growth import ONE_THREAD

os.environ.update(ONE_THREAD)  # before NumPy is imported

import numpy as np
import pandas as pd

from raremetric import load_dataset
from raremetric.table import DEFAULT_METHODS, fit_table, load_model, save_model

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


def measure_method(method: str, frame: pd.DataFrame, folder: Path) -> dict[str, float]:
    """CPU seconds of fit, and CPU milliseconds of the prediction of one row."""
    seconds, model = measure(lambda: fit_table(frame, "class", method=method))
    save_model(model, folder / "model.skops")
    model = load_model(folder / "model.skops")
    rows = [frame.iloc[[i]].drop(columns="class") for i in range(N_CALLS)]
    model.predict_table(rows[0])
    times = [measure(lambda row=row: model.predict_table(row))[0] for row in rows]
    return {"fit_seconds": seconds, "predict_milliseconds": 1000 * statistics.median(times)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*", default=list(DEFAULT_METHODS))
    options = parser.parse_args()
    frame = mixed_table()
    figures = {}
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a note about the column with 30 levels
        for method in options.methods:
            fit_table(frame.head(300), "class", method=method)  # compiles
            figures[method] = measure_method(method, frame, Path(folder))
            print(method, {name: round(value, 2) for name, value in figures[method].items()})
    OUT.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
