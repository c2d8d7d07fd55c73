"""Compare LMNN and ITML with metric-learn and pylmnn: fit time, F1 of 3-NN, objective.

    python benchmarks/baselines.py

Both sides run in this one command, on the same rows, one after the other, in one thread. The other
packages need older libraries, so they are installed with the versions below into a separate
environment, which the first run creates in ``$RAREMETRIC_CACHE`` (default
``~/.cache/raremetric``). Compilation is not timed. A ratio is their seconds divided by ours.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric.datasets import load_dataset
from raremetric.learners.itml import ITML
from raremetric.learners.lmnn import LMNN
from raremetric.losses.large_margin import find_targets, make_large_margin_loss
from raremetric.metric import initial_components
from raremetric.validation import check_labels

PINNED = (
    "joblib==1.4.2",
    "metric-learn==0.7.0",
    "numpy==1.26.4",
    "pylmnn==1.6.4",
    "scikit-learn==1.3.2",
    "scipy==1.10.1",
    "six==1.16.0",
    "threadpoolctl==3.5.0",
)
DATA = ("wine", "newthyroid", "bupa", "heart", "vehicle")
SPLITS = (1, 2, 3)
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# Their learner with its defaults (pylmnn with more iterations) -> ours with the same settings:
# three targets and a push weight of one half (metric-learn has another hinge); or the same pairs,
# bounds (taken from their fit), slack penalty and limits.
PEERS = {
    "metric-learn LMNN": LMNN(),
    "metric-learn ITML": ITML(max_iter=1000, random_state=0),
    "pylmnn LMNN": LMNN(),
}


class Fit(NamedTuple):
    """The result of one fit, theirs or ours."""

    components: np.ndarray
    seconds: float
    bounds: np.ndarray | None = None


def peer_python() -> Path:
    """The interpreter of the peers' environment, which is created if it is missing."""
    default = Path.home() / ".cache" / "raremetric"
    folder = Path(os.environ.get("RAREMETRIC_CACHE", default)) / "peers"
    python, stamp = folder / "bin" / "python", folder / "versions.txt"
    if not stamp.exists() or stamp.read_text() != "\n".join(PINNED):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINNED], check=True)
        stamp.write_text("\n".join(PINNED))
    return python


def make_tasks(data, splits) -> list[dict]:
    """One task per data set and split: standardized halves and the start of LMNN."""
    tasks = []
    for name in data:
        X, y = load_dataset(name, return_X_y=True)
        for split in splits:
            parts = train_test_split(
                np.asarray(X, dtype=float), y, stratify=y, test_size=0.5, random_state=split
            )
            scaler = StandardScaler().fit(parts[0])
            X_train = scaler.transform(parts[0])
            tasks.append(
                {
                    "data": name,
                    "X": X_train,
                    "y": np.asarray(parts[2]),
                    "X_test": scaler.transform(parts[1]),
                    "y_test": np.asarray(parts[3]),
                    "start": initial_components("pca", X_train),
                }
            )
    return tasks


def run_peer(kind: str, tasks: list[dict]) -> list[Fit]:
    """The peer's fit of each task, run in the peers' environment."""
    arrays = {"n_tasks": np.array(len(tasks))}
    for i, task in enumerate(tasks):
        arrays |= {f"{key}_{i}": task[key] for key in ("X", "y", "start")}
        arrays[f"kind_{i}"] = np.array(kind)
    with tempfile.TemporaryDirectory() as folder:
        given, taken = Path(folder) / "tasks.npz", Path(folder) / "results.npz"
        np.savez(given, **arrays)
        script = Path(__file__).with_name("peers.py")
        command = [str(peer_python()), str(script), str(given), str(taken)]
        environment = {**os.environ, **ONE_THREAD}
        environment.pop("PYTHONPATH", None)
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        with np.load(taken) as results:
            return [
                Fit(*(results[f"{name}_{i}"] for name in Fit._fields)) for i in range(len(tasks))
            ]


def run_ours(learner, tasks: list[dict], theirs: list[Fit]) -> list[Fit]:
    learner.fit(tasks[0]["X"][:, :2], tasks[0]["y"])  # compiles
    fits = []
    for task, other in zip(tasks, theirs, strict=True):
        if isinstance(learner, ITML):
            learner.set_params(bounds=tuple(other.bounds))
        started = time.perf_counter()
        learner.fit(task["X"], task["y"])
        fits.append(Fit(learner.components_, time.perf_counter() - started))
    return fits


def f1(task: dict, components: np.ndarray) -> float:
    knn = KNeighborsClassifier(3).fit(task["X"] @ components.T, task["y"])
    predicted = knn.predict(task["X_test"] @ components.T)
    return 100 * f1_score(task["y_test"], predicted, zero_division=0)


def large_margin_loss(task: dict, components: np.ndarray) -> float:
    """The exact loss of LMNN at the given components, with a push weight of one half."""
    labels = check_labels(task["y"], "benchmark")
    targets = find_targets(task["X"], labels, 3)
    ones = np.ones(len(targets))
    loss = make_large_margin_loss(task["X"], labels, targets, ones, push_weight=0.5)
    return loss.value_and_gradient(components)[0]


def objective_ratio(peer: str, task: dict, mine: Fit, other: Fit) -> float:
    """Our loss divided by theirs, where both minimize the same one; NaN elsewhere."""
    if peer != "pylmnn LMNN":
        return np.nan
    losses = [large_margin_loss(task, fit.components) for fit in (mine, other)]
    return losses[0] / losses[1]


def compare(data=DATA, splits=SPLITS) -> list[dict]:
    """One row per peer and data set: summed seconds, their ratio, mean F1, objective ratio.

    The objective ratio is the largest over the splits: at most one if ours was never higher.
    """
    rows = []
    tasks = make_tasks(data, splits)
    for peer, learner in PEERS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = run_peer(peer, tasks)
            ours = run_ours(learner, tasks, theirs)
        for name in data:
            chosen = [
                fits for fits in zip(tasks, ours, theirs, strict=True) if fits[0]["data"] == name
            ]
            seconds = sum(mine.seconds for _, mine, _ in chosen)
            peer_seconds = sum(float(other.seconds) for _, _, other in chosen)
            rows.append(
                {
                    "peer": peer,
                    "data": name,
                    "seconds": seconds,
                    "peer_seconds": peer_seconds,
                    "ratio": peer_seconds / seconds,
                    "f1": float(np.mean([f1(task, mine.components) for task, mine, _ in chosen])),
                    "peer_f1": float(
                        np.mean([f1(task, other.components) for task, _, other in chosen])
                    ),
                    "objective_ratio": max(objective_ratio(peer, *fit) for fit in chosen),
                }
            )
    return rows


def main() -> None:
    print(f"{'peer':26s}{'data':12s}{'ours s':>9s}{'theirs s':>10s}{'ratio':>8s}", end="")
    print(f"{'F1':>7s}{'theirs':>8s}{'objective':>11s}")
    for row in compare():
        loss = "" if np.isnan(row["objective_ratio"]) else f"{row['objective_ratio']:.6f}"
        print(
            f"{row['peer']:26s}{row['data']:12s}{row['seconds']:9.4f}{row['peer_seconds']:10.3f}"
            f"{row['ratio']:7.0f}x{row['f1']:7.1f}{row['peer_f1']:8.1f}{loss:>11s}"
        )


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    main()
