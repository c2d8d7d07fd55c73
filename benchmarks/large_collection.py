"""A Parquet directory that two small workers fit and predict, while one of them is killed.

Generates ROWS x 20 numbers in a temporary directory, fits RareClassifier on it and predicts all of
it on a local Dask cluster of two workers with 2 GB each. A worker that is busy is killed during
both. Checks that no row is missing, doubled or out of order, and that the calibration error on all
rows is below a tenth of the class share; ends with status 1 if not, or if no worker was killed,
because there were too few rows. With the defaults, 10^7 rows take about 20 minutes of CPU time and
3 GB of disk space::

    python -m benchmarks.large_collection                  # 10^7 rows; also `make test-large`
    python -m benchmarks.large_collection --rows 1000000   # minutes
    python -m benchmarks.large_collection --rows 1000000 --rows-per-file 20000 --profile
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from dask.distributed import Client, LocalCluster
from dask.utils import key_split
from scipy.special import expit

from raremetric.dask.cluster import LOCAL_CONFIG
from raremetric.dask.partitions import sample_sizes
from raremetric.table import fit_collection, iter_table, predict_collection
from raremetric.table.doubts import find_doubts
from raremetric.table.model import BLOCK
from raremetric.table.predictions import output_table, write_predictions

N_FEATURES = 20
N_BINS = 20  # of the calibration error
WORKERS = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GB"}
TARGET = 0.1  # calibration error, as a part of the class share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rows-per-file", type=int, default=100_000)
    parser.add_argument("--max-rows", type=int, default=1000, help="rows to learn from")
    parser.add_argument("--directory", help="where to write the data and predictions")
    parser.add_argument("--profile", action="store_true", help="only time the parts of `predict`")
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="raremetric-large-", dir=arguments.directory))
    try:
        share = generate(root / "data", arguments.rows, arguments.rows_per_file)
        is_good = run(root, share, arguments.rows, arguments.max_rows, arguments.profile)
    finally:
        shutil.rmtree(root)
    sys.exit(0 if is_good else 1)


def run(root: Path, share: float, n_rows: int, max_rows: int, profile: bool) -> bool:
    """Fit and predict, and report; returns whether all goals are met."""
    data, out = root / "data", root / "predictions"
    files = sorted(data.iterdir())
    size = sum(path.stat().st_size for path in files) / 1e9
    say(f"{n_rows} x {N_FEATURES} in {len(files)} files, {size:.2f} GB; share {share:.3%}")
    with (
        dask.config.set(LOCAL_CONFIG),
        LocalCluster(dashboard_address=":0", **WORKERS) as cluster,
        Client(cluster) as client,
    ):
        where: Any = {"scheduler": cluster.scheduler_address}
        with Watched(client, "fit", after=5.0) as fitted:
            model = fit_collection(data, "y", 1, max_samples=max_rows, seed=0, **where)
        check_fit(model.training, round(share * n_rows), n_rows, max_rows)
        say(f"fit: {len(model.classifier.ensemble_.metrics)} metrics are averaged")
        if profile:
            profile_prediction(model, files[0])
            return True
        with Watched(client, "predict", after=20.0) as watched:
            counts = predict_collection(model, data, out, **where)
    say(f"predict: {1e6 * watched.cpu / n_rows:.0f} microseconds of CPU time per row")
    p, y, truth = check_rows(model, files, out)
    assert len(p) == counts.rows == n_rows
    return check_calibration(p, y, truth) and fitted.has_killed and watched.has_killed


def say(text: str) -> None:
    print(text, flush=True)


def generate(folder: Path, n_rows: int, rows_per_file: int) -> float:
    """Write the files; return the share of the positive class."""
    folder.mkdir()
    positive = 0
    for number, start in enumerate(range(0, n_rows, rows_per_file)):
        rng = np.random.default_rng([0, number])
        X = rng.normal(size=(min(rows_per_file, n_rows - start), N_FEATURES))
        y = (rng.random(len(X)) < true_probability(*X.T[:5])).astype(np.int8)
        positive += int(y.sum())
        columns = {f"x{j}": X[:, j] for j in range(N_FEATURES)}
        pq.write_table(pa.table({**columns, "y": y}), folder / f"{number:05d}.parquet")
    return positive / n_rows


def true_probability(x0, x1, x2, x3, x4) -> np.ndarray:
    """With which the class of a row is drawn; it depends on five columns."""
    return expit(1.5 * x0 + x1 - x2 + 0.5 * x3 * x4 - 8)


class Watched(threading.Thread):
    """Kill a busy worker some seconds after the block has begun; report time and memory.

    ``cpu`` are the CPU seconds of this process and of all workers, also of the one that is killed.
    """

    def __init__(self, client: Client, what: str, after: float):
        super().__init__(daemon=True)
        self.client, self.what, self.after = client, what, after
        self.ended, self.peaks, self.cpu = threading.Event(), {}, 0.0
        self.has_killed = False

    def run(self) -> None:
        """Wait, then kill."""
        while not self.ended.wait(self.after):
            pids, busy = self.client.run(os.getpid), self.client.processing()
            found = [
                (pids[worker], key_split(key))
                for worker, keys in busy.items()
                for key in keys
                if worker in pids
            ]
            if found:
                pid, task = found[0]
                self.peaks[pid] = peak_of(pid)
                os.kill(pid, signal.SIGKILL)
                self.has_killed = True
                seconds = time.perf_counter() - self.start_time
                say(f"{self.what}: killed worker {pid} during {task} after {seconds:.1f} s")
                return
            self.after = 0.2
        say(f"{self.what}: finished before a worker was killed")

    def _cpu_seconds(self) -> float:
        """Of this process, of workers that run, and of those that have ended."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = self.client.run(time.process_time).values()
        return time.process_time() + sum(running) + ended.ru_utime + ended.ru_stime

    def __enter__(self) -> Watched:
        self.start_time, self.start_cpu = time.perf_counter(), self._cpu_seconds()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self.start_time
        self.ended.set()
        self.join()
        self.client.wait_for_workers(WORKERS["n_workers"])
        self.cpu = self._cpu_seconds() - self.start_cpu
        self.peaks |= {pid: peak_of(pid) for pid in self.client.run(os.getpid).values()}
        peaks = ", ".join(f"{peak:.0f}" for peak in self.peaks.values())
        say(
            f"{self.what}: {seconds:.0f} s, {self.cpu:.0f} s of CPU time; peak MB of the workers: "
            f"{peaks}; of this process: {peak_of(os.getpid()):.0f}"
        )


def peak_of(pid: int) -> float:
    """Peak memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def check_fit(about: dict[str, Any], n_positive: int, n_rows: int, max_rows: int) -> None:
    """All rows are counted once, and as many are learned from and held out as were drawn."""
    totals = np.array([n_rows - n_positive, n_positive])
    learned, held_out = (int(sizes.sum()) for sizes in sample_sizes(totals, max_rows))
    found = [about[name] for name in ("rows", "positive", "rows_used")]
    assert found == [n_rows, n_positive, learned], found
    if "held_out" in about:
        assert about["held_out"] == held_out
    say(
        f"fit: learned from {learned} rows, calibrated on {about.get('held_out', 0)}; expected F1 "
        f"{about['score']:.3f} ± {about['score_std']:.3f}"
    )


def check_rows(model: Any, files: list[Path], out: Path) -> list[np.ndarray]:
    """Compare the output with the input.

    Returns the probabilities, the classes and the true probabilities of all rows. The first and
    last 500 rows of each tenth file are predicted again, here.
    """
    parts, columns = sorted(out.glob("part-*.parquet")), []
    for number, (source, part) in enumerate(zip(files, parts, strict=True)):
        found = pq.read_table(part, columns=["row", "probability"])
        table = pq.read_table(source)
        np.testing.assert_array_equal(found["row"].to_numpy(), np.arange(1, len(table) + 1))
        p, truth = found["probability"].to_numpy(), [table[f"x{j}"].to_numpy() for j in range(5)]
        columns.append((p, table["y"].to_numpy(), true_probability(*truth)))
        if number % 10 == 0:
            some = np.unique(np.r_[:500, len(table) - 500 : len(table)])
            again = model.predict_table(table.take(some))["probability"]
            np.testing.assert_allclose(p[some], again, rtol=1e-9)
    columns = [np.concatenate(column) for column in zip(*columns, strict=True)]
    say(f"no row missing, none twice, all in order: {len(columns[0])} rows in {len(parts)} parts")
    return columns


def check_calibration(p: np.ndarray, y: np.ndarray, truth: np.ndarray) -> bool:
    """Report the calibration error on all rows; returns whether it is small enough.

    Classes are drawn by chance, and the model is too sure of the class of rows that it was learned
    from. So the error against the true probabilities is reported, too.
    """
    share, order, is_good = y.mean(), np.argsort(p), True
    for name, weights in (("rows", np.ones(len(p))), ("expected positives", p[order])):
        error, other = (
            calibration_error(p[order], each[order], weights) / each.mean() for each in (y, truth)
        )
        say(
            f"calibration error, {N_BINS} bins of equal {name}: {error:.1%} of the class share; "
            f"against the true probabilities: {other:.1%}"
        )
        is_good &= error < TARGET
    say(f"mean probability {p.mean():.5f}, class share {share:.5f}")
    say(f"calibration error below {TARGET:.0%} of the class share: {'yes' if is_good else 'NO'}")
    return is_good


def calibration_error(p: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Mean absolute difference of probability and share, in bins of equal weight; p is sorted."""
    total = np.cumsum(weights)
    bins = np.minimum((N_BINS * (total - weights / 2) / total[-1]).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, p - y)).sum() / len(p))


def profile_prediction(model: Any, path: Path) -> None:
    """CPU time of the parts of a prediction, in this process; the first call compiles."""
    pieces = list(iter_table(path, model.encoder))
    encoded = np.concatenate([model.encoder.transform(piece) for piece in pieces])
    blocks = [encoded[low : low + BLOCK] for low in range(0, len(encoded), BLOCK)]
    found = list(model.predict_file(path))
    out = path.with_suffix(".out.parquet")

    def write() -> None:
        pq.write_table(pa.concat_tables([output_table(model, each) for each in found]), out)

    parts = {
        "reading": lambda: list(iter_table(path, model.encoder)),
        "encoding": lambda: [model.encoder.transform(piece) for piece in pieces],
        "scores": lambda: [model.classifier.predict_proba(block) for block in blocks],
        "scores and named neighbors": lambda: model.decide(encoded),
        "comparison with the training data": lambda: [
            find_doubts(model.columns, piece) for piece in pieces
        ],
        "output": write,
        "all": lambda: write_predictions(model, path, out),
    }
    for name, call in parts.items():
        started = time.process_time()
        call()
        seconds = time.process_time() - started
        say(f"{name}: {1e6 * seconds / len(encoded):.1f} microseconds per row")


if __name__ == "__main__":
    main()
