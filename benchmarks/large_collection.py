"""A Parquet directory that two small workers fit and predict, while one of them is killed.

Generates ROWS x 20 numbers in a temporary directory, fits RareClassifier on it and predicts all of
it on a local Dask cluster of two workers with 2 GB each, and kills one of them during both. Checks
that no row is missing, doubled or out of order, and that the calibration error on all rows is below
a tenth of the class share. Takes minutes at 10^6 rows and hours at 10^7::

    python -m benchmarks.large_collection --rows 1000000 --max-rows 1000
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster
from scipy.special import expit

from raremetric.cluster import LOCAL_CONFIG
from raremetric.table import fit_collection, predict_collection

N_FEATURES = 20
WORKERS = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GB"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rows-per-file", type=int, default=100_000)
    parser.add_argument("--max-rows", type=int, default=10_000, help="rows to learn from")
    parser.add_argument("--directory", help="where to write the data and predictions")
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="raremetric-large-", dir=arguments.directory))
    try:
        run(root, arguments.rows, arguments.rows_per_file, arguments.max_rows)
    finally:
        shutil.rmtree(root)


def run(root: Path, n_rows: int, rows_per_file: int, max_rows: int) -> None:
    data, out = root / "data", root / "predictions"
    share = generate(data, n_rows, rows_per_file)
    size = sum(path.stat().st_size for path in data.iterdir()) / 1e9
    n_files = len(list(data.iterdir()))
    print(f"{n_rows} x {N_FEATURES} in {n_files} files, {size:.2f} GB; share {share:.3%}")
    with (
        dask.config.set(LOCAL_CONFIG),
        LocalCluster(dashboard_address=":0", **WORKERS) as cluster,
        Client(cluster) as client,
    ):
        with one_killed(client, "fit", after=5.0):
            start = time.perf_counter()
            model = fit_collection(
                data, "y", 1, max_rows=max_rows, seed=0, scheduler=cluster.scheduler_address
            )
            fit_seconds = time.perf_counter() - start
        about = model.training
        print(
            f"fit: {fit_seconds:.0f} s; learned from {about['rows_used']} rows, calibrated on "
            f"{about.get('held_out', 0)}; held-out F1 {about['score']:.3f}"
        )
        assert about["rows"] == n_rows
        with one_killed(client, "predict", after=20.0):
            start = time.perf_counter()
            counts = predict_collection(model, data, out, scheduler=cluster.scheduler_address)
            seconds = time.perf_counter() - start
    print(f"predict: {seconds:.0f} s, {1e6 * seconds / n_rows:.0f} microseconds per row")
    check(data, out, counts.rows, n_rows)


def generate(folder: Path, n_rows: int, rows_per_file: int) -> float:
    """Write the files; return the share of the positive class."""
    folder.mkdir()
    positive = 0
    for number, start in enumerate(range(0, n_rows, rows_per_file)):
        rng = np.random.default_rng([0, number])
        X = rng.normal(size=(min(rows_per_file, n_rows - start), N_FEATURES))
        log_odds = 1.5 * X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * X[:, 3] * X[:, 4] - 8
        y = (rng.random(len(X)) < expit(log_odds)).astype(np.int8)
        positive += int(y.sum())
        columns = {f"x{j}": X[:, j] for j in range(N_FEATURES)}
        pq.write_table(pa.table({**columns, "y": y}), folder / f"{number:05d}.parquet")
    return positive / n_rows


class one_killed(threading.Thread):  # noqa: N801, used like a function
    """Kill one of the workers some seconds after the block has begun, and report it."""

    def __init__(self, client: Client, what: str, after: float):
        super().__init__(daemon=True)
        self.client, self.what, self.after = client, what, after
        self.ended = threading.Event()

    def run(self) -> None:
        """Wait, then kill."""
        if self.ended.wait(self.after):
            print(f"{self.what}: finished before a worker was killed")
            return
        pid = next(iter(self.client.run(os.getpid).values()))
        os.kill(pid, signal.SIGKILL)
        print(f"{self.what}: killed the worker with process {pid} after {self.after:g} s")

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def check(data: Path, out: Path, n_counted: int, n_rows: int) -> None:
    """Compare the output with the input, row by row, and measure the calibration error."""
    inputs, parts = sorted(data.iterdir()), sorted(out.glob("part-*.parquet"))
    assert len(inputs) == len(parts)
    p, y = [], []
    for source, part in zip(inputs, parts, strict=True):
        found = pq.read_table(part, columns=["row", "probability"])
        truth = pq.read_table(source, columns=["y"])["y"].to_numpy()
        np.testing.assert_array_equal(found["row"].to_numpy(), np.arange(1, len(truth) + 1))
        p.append(found["probability"].to_numpy())
        y.append(truth)
    p, y = np.concatenate(p), np.concatenate(y)
    assert len(p) == n_counted == n_rows
    print(f"no row missing, none twice, all in order: {len(p)} rows in {len(parts)} parts")
    share, order = y.mean(), np.argsort(p)
    for name, weights in (("rows", np.ones(len(p))), ("expected positives", p[order])):
        error = calibration_error(p[order], y[order], weights)
        print(f"calibration error, 20 bins of equal {name}: {error / share:.1%} of the class share")
        assert error < 0.1 * share
    print(f"mean probability {p.mean():.5f}, class share {share:.5f}")


def calibration_error(p: np.ndarray, y: np.ndarray, weights: np.ndarray, n_bins: int = 20) -> float:
    """Mean absolute difference of probability and share, in bins of equal weight; p is sorted."""
    total = np.cumsum(weights)
    bins = np.minimum((n_bins * (total - weights / 2) / total[-1]).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(bins, p - y)).sum() / len(p))


if __name__ == "__main__":
    main()
