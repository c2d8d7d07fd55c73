"""How time and memory grow with rows, features and threads; each fit runs in its own process.

Also measures what a fit gains from limiting linear algebra to one thread, on an idle machine and on
a busy one.

``path_seconds`` is the CPU time along the longest path through the threads: the time that idle
cores would need, even if it is measured on busy ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

ROWS = (1000, 3000, 10_000, 30_000, 100_000)
FEATURES = (5, 30, 100, 300)
THREADED = (10_000, 40_000, 100_000)
ANCHORS = (5000, 20_000, None)
RARE_SHARE = 0.002
TEST_SHARE = 0.01  # of the test rows that are positive; their weights restore RARE_SHARE
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def make_data(n_samples: int, n_features: int, share: float = 0.01):
    """Two Gaussian classes, the rare one shifted along five features."""
    import numpy as np

    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_samples, n_features))
    y = (np.arange(n_samples) < max(10, share * n_samples)).astype(int)
    X[y == 1, :5] += 1.0
    return X, y


def make_clusters(n_samples: int, share: float, seed: int, part: int):
    """A rare class in five tight clusters among 30 wider ones, which differ in eight features.

    All features are divided by their standard deviation. ``part`` 0 is for training, 1 for testing.
    """
    import numpy as np

    rng = np.random.RandomState(seed)
    frequent, rare = 2.5 * rng.normal(size=(30, 8)), 2.5 * rng.normal(size=(5, 8))
    rng = np.random.RandomState([seed, part])
    X, y = rng.normal(size=(n_samples, 30)), rng.permutation(n_samples) < share * n_samples
    X[y, :8] = 0.6 * X[y, :8] + rare[rng.randint(len(rare), size=np.count_nonzero(y))]
    X[~y, :8] += frequent[rng.randint(len(frequent), size=np.count_nonzero(~y))]
    X[:, :8] /= np.sqrt(1 + frequent.var(axis=0))
    return X, y.astype(int)


def measure_anchors(n_samples: int, max_samples: int | None, seed: int, n_test: int) -> dict:
    """Fit IML to sampled anchors in two threads; F1 of 3-NN on n_test rows if there are any."""
    import resource
    import warnings

    import numpy as np
    from sklearn.metrics import f1_score

    from raremetric import IML, Euclidean, MetricKNNClassifier

    warnings.simplefilter("ignore")
    X, y = make_clusters(n_samples, RARE_SHARE, seed, 0)
    iml = IML(max_samples=max_samples, random_state=seed, n_jobs=2)
    iml.set_params(max_samples=50).fit(*make_clusters(500, 0.2, 0, 0))  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    iml.set_params(max_samples=max_samples).fit(X, y)
    row = {
        "n_samples": n_samples,
        "max_samples": max_samples,
        "seed": seed,
        "wall_seconds": time.perf_counter() - wall,
        "seconds": time.process_time() - cpu,
        "n_iter": iml.n_iter_,
        "relative_gap": iml.duality_gap_ / iml.objective_,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if n_test:
        X_test, y_test = make_clusters(n_test, TEST_SHARE, seed, 1)
        odds = RARE_SHARE / (1 - RARE_SHARE) * (1 - TEST_SHARE) / TEST_SHARE
        weights = np.where(y_test == 1, odds, 1.0)
        knn = MetricKNNClassifier(Euclidean(), 3, n_jobs=2).fit(iml.transform(X), y)
        predicted = knn.predict(iml.transform(X_test))
        row["f1"] = 100 * f1_score(y_test, predicted, sample_weight=weights)
    return row


def clock_parts() -> list[float]:
    """A list that collects the CPU seconds of each part of each later neighbor search."""
    from raremetric.neighbors.self_join import class_neighbors

    seconds = []

    def clocked(*arguments):
        started = time.thread_time()
        found = class_neighbors(*arguments)
        seconds.append(time.thread_time() - started)
        return found

    for module in list(sys.modules.values()):  # every module that imported the function by name
        if getattr(module, "class_neighbors", None) is class_neighbors:
            module.class_neighbors = clocked
    return seconds


def clock_selection() -> list[float]:
    """A list that collects the CPU seconds of each later selection of pairs."""
    from raremetric.learners import iml

    select, seconds = iml.select_pairs, []

    def clocked(*arguments):
        started = time.process_time()
        pairs = select(*arguments)
        seconds.append(time.process_time() - started)
        return pairs

    iml.select_pairs = clocked
    return seconds


def measure(n_samples: int, n_features: int, dissimilar: str, n_jobs: int, share: float) -> dict:
    """Fit once, with all anchors: seconds, peak memory, iterations and a hash of the result."""
    import hashlib
    import resource
    import warnings

    from raremetric import IML

    X, y = make_data(n_samples, n_features, share)
    warnings.simplefilter("ignore")
    iml = IML(dissimilar=dissimilar, max_samples=None, n_jobs=n_jobs)
    iml.fit(*make_data(100, 3, 0.2))  # compiles
    searches, selection = clock_parts(), clock_selection()
    wall, cpu, main = time.perf_counter(), time.process_time(), time.thread_time()
    iml.fit(X, y)
    longest = [max(searches[i : i + n_jobs]) for i in range(0, len(searches), n_jobs)]
    return {
        "n_samples": n_samples,
        "n_features": n_features,
        "dissimilar": dissimilar,
        "n_jobs": n_jobs,
        "wall_seconds": time.perf_counter() - wall,
        "seconds": time.process_time() - cpu,
        "path_seconds": time.thread_time() - main + (sum(longest) if n_jobs > 1 else 0.0),
        "seconds_without_pairs": time.process_time() - cpu - sum(selection),
        "n_iter": iml.n_iter_,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "hash": hashlib.sha256(iml.components_.tobytes()).hexdigest()[:12],
    }


def measure_in_process(*arguments) -> dict:
    """`measure` in a new process with one BLAS thread."""
    return run_in_process(measure, arguments, {**os.environ, **ONE_THREAD})


def run_in_process(function: Callable, arguments: Sequence, environment: dict[str, str]) -> Any:
    """Call a function of this module in a new process and return its result."""
    command = [sys.executable, __file__, json.dumps([function.__name__, *arguments])]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout)


def growth_with_rows(sizes=ROWS, n_features: int = 30) -> list[dict]:
    return [
        measure_in_process(n, n_features, dissimilar, 1, 0.01)
        for dissimilar in ("fixed", "refreshed")
        for n in sizes
    ]


def growth_with_features(sizes=FEATURES, n_samples: int = 2000) -> list[dict]:
    return [
        measure_in_process(n_samples, d, dissimilar, 1, 0.1)
        for dissimilar in ("fixed", "refreshed")
        for d in sizes
    ]


def growth_with_threads(sizes=THREADED, n_features: int = 30, repeats: int = 3) -> list[dict]:
    """One thread and two, alternating; the fastest of a few runs of each."""
    rows = []
    for n in sizes:
        runs = [
            [measure_in_process(n, n_features, "refreshed", n_jobs, 0.1) for n_jobs in (1, 2)]
            for _ in range(repeats)
        ]
        rows += [min(same, key=lambda run: run["wall_seconds"]) for same in zip(*runs, strict=True)]
    return rows


def growth_with_anchors(
    n_samples: int = 100_000,
    n_large: int = 1_000_000,
    anchors=ANCHORS,
    n_seeds: int = 5,
    n_test: int = 50_000,
) -> list[dict]:
    """Time and F1 for sampled anchors and for all; time and memory for many rows."""
    environment = {**os.environ, **ONE_THREAD}
    settings = [(n_samples, each, s, n_test) for s in range(n_seeds) for each in anchors]
    settings.append((n_large, anchors[-2], 0, 0))
    return [run_in_process(measure_anchors, setting, environment) for setting in settings]


def measure_blas(estimator: str, dataset: str, limited: bool) -> float:
    """Wall time of a fit, with one BLAS thread or with the number that BLAS chooses."""
    import warnings
    from contextlib import nullcontext
    from types import SimpleNamespace

    import raremetric
    from raremetric import performance

    if not limited:
        unlimited = SimpleNamespace(limit=lambda **_: nullcontext())
        performance._libraries = lambda: unlimited
    warnings.simplefilter("ignore")
    X, y = raremetric.load_dataset(dataset, return_X_y=True)
    model = getattr(raremetric, estimator)(random_state=0)
    model.fit(X[::10], y[::10])  # compiles
    started = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - started


def threads_of_blas(estimators=("IML", "IMLCV", "RareClassifier"), dataset="german") -> list[dict]:
    """One BLAS thread against BLAS's own choice: on idle cores, and with each core busy."""
    environment = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}

    rows = []
    for n_busy in (0, os.cpu_count() or 1):
        spin = [sys.executable, "-c", "while True: pass"]
        busy = [subprocess.Popen(spin, start_new_session=True) for _ in range(n_busy)]
        try:
            for name in estimators:
                one, many = (
                    run_in_process(measure_blas, (name, dataset, limited), environment)
                    for limited in (True, False)
                )
                about = {"fit": name, "data": dataset, "busy_processes": n_busy}
                rows.append({**about, "seconds": one, "unlimited": many, "ratio": many / one})
        finally:
            for process in busy:
                process.kill()
                process.wait()
    return rows


if __name__ == "__main__":
    name, *arguments = json.loads(sys.argv[1])
    functions = (measure, measure_anchors, measure_blas)
    print(json.dumps({each.__name__: each for each in functions}[name](*arguments)))
