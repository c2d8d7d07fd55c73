"""Time and memory of a model of a table, from fit to service, by the number of rows.

    python -m benchmarks.sizes                    # all sizes; those with results are skipped
    python -m benchmarks.sizes --rows 1000,10000  # some of them; --again repeats them
    python -m benchmarks.sizes --methods          # prints a fit of every method on 20,000 rows

The table is generated: 20 columns, 1 % of the rows are positive. Each fit, and each service that
loads the model and predicts, is a process of its own with one thread, so that its peak memory is
known. Times are CPU seconds, which other programs on the machine change little. The compiled
functions are on disk before anything is measured. Lines are added to
``benchmarks/results/sizes.csv`` as they are finished.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

OUT = Path(__file__).parent / "results" / "sizes.csv"
ROWS = (1_000, 10_000, 100_000, 500_000)
MODELS = ("rare", "iml")
N_COLUMNS, SHARE, N_CALLS, N_BATCHES, BATCH = 20, 0.01, 200, 5, 1_000
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def make_table(n_rows: int, seed: int) -> pd.DataFrame:
    """Three clusters of positives in six columns; the other columns are noise."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    centers = 2 * fixed.normal(size=(3, 6))
    y = np.arange(n_rows) < max(30, round(SHARE * n_rows))
    X = rng.normal(size=(n_rows, N_COLUMNS))
    X[y, :6] = 0.7 * X[y, :6] + centers[rng.integers(3, size=y.sum())]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(N_COLUMNS)])
    return frame.assign(label=np.where(y, "rare", "common"))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_fit(model: str, n_rows: int, path: str) -> dict[str, float]:
    """Fit a model and save it."""
    from raremetric.table import fit_table, save_model

    table = make_table(n_rows, seed=0)
    start = time.process_time()
    fitted = fit_table(table, "label", method=model)
    seconds = time.process_time() - start
    found = {"fit_seconds": seconds, "fit_megabytes": peak_megabytes()}
    save_model(fitted, Path(path))
    return {**found, "file_megabytes": Path(path).stat().st_size / 2**20}


def measure_service(model: str, n_rows: int, path: str) -> dict[str, float]:
    """Load a model, and predict single rows and batches."""
    from raremetric.table import load_model

    start = time.process_time()
    loaded = load_model(Path(path))
    seconds = time.process_time() - start
    new = make_table(BATCH, seed=1).drop(columns="label")
    loaded.predict_table(new.head(1))  # loads the compiled functions
    single = [_seconds(loaded, new.iloc[[i]]) for i in range(N_CALLS)]
    batches = [_seconds(loaded, new) for _ in range(N_BATCHES)]
    return {
        "load_seconds": seconds,
        "row_milliseconds": 1e3 * float(np.median(single)),
        "slow_row_milliseconds": 1e3 * float(np.quantile(single, 0.99)),
        "batch_microseconds": 1e6 * float(np.median(batches)) / BATCH,
        "predict_megabytes": peak_megabytes(),
    }


def _seconds(model, rows: pd.DataFrame) -> float:
    start = time.process_time()
    model.predict_table(rows)
    return time.process_time() - start


def in_process(function: str, *arguments: object) -> dict[str, float]:
    """What one of the functions above returns in a new process with one thread."""
    call = [sys.executable, "-m", "benchmarks.sizes", "--call", json.dumps([function, *arguments])]
    done = subprocess.run(
        call, env={**os.environ, **ONE_THREAD}, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(model: str, n_rows: int) -> dict[str, object]:
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "model.skops"))
        found = in_process("measure_fit", model, n_rows, path)
        found |= in_process("measure_service", model, n_rows, path)
    return {"model": model, "rows": n_rows, **{name: round(v, 4) for name, v in found.items()}}


def print_methods(n_rows: int = 20_000) -> None:
    """Print the CPU seconds of one fit of each method."""
    from raremetric.table import METHODS, fit_table

    table = make_table(n_rows, seed=0)
    for method in METHODS:
        fit_table(table[:2000], "label", method=method)  # compiles
        start = time.process_time()
        fit_table(table, "label", method=method)
        print(f"{method}: {time.process_time() - start:.1f} CPU s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="numbers of rows")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--again", action="store_true", help="also those that have results")
    parser.add_argument("--methods", action="store_true", help="one fit of every method")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.methods:
        print_methods()
        return
    if options.call:
        function, *arguments = json.loads(options.call)
        print(json.dumps(globals()[function](*arguments)))
        return
    with TemporaryDirectory() as folder:  # compiles
        for model in options.models.split(","):
            in_process("measure_fit", model, 2_000, str(Path(folder, "model.skops")))
    for n_rows in map(int, options.rows.split(",")):
        for model in options.models.split(","):
            known = pd.read_csv(OUT) if OUT.exists() else pd.DataFrame(columns=["model", "rows"])
            done = (known["model"] == model) & (known["rows"] == n_rows)
            if done.any() and not options.again:
                continue
            row = pd.DataFrame([measure(model, n_rows)])
            print(row.to_string(), flush=True)
            table = pd.concat([known[~done], row]) if len(known) else row
            order = [MODELS.index(each) for each in table["model"]]
            table = table.assign(order=order).sort_values(["order", "rows"])
            table.drop(columns="order").to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
