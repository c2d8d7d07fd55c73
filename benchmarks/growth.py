"""How time and memory grow with rows, features and threads; each fit in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

ROWS = (1000, 3000, 10_000, 30_000, 100_000)
FEATURES = (5, 30, 100, 300)
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def make_data(n_samples: int, n_features: int, share: float = 0.01):
    """Two Gaussian classes, the rare one shifted along five features."""
    import numpy as np

    rng = np.random.RandomState(0)
    X = rng.normal(size=(n_samples, n_features))
    y = (np.arange(n_samples) < max(10, share * n_samples)).astype(int)
    X[y == 1, :5] += 1.0
    return X, y


def measure(n_samples: int, n_features: int, dissimilar: str, n_jobs: int, share: float) -> dict:
    """Fit once in this process: seconds, peak memory, iterations and the bits of the result."""
    import hashlib
    import resource
    import warnings

    from raremetric import IML

    X, y = make_data(n_samples, n_features, share)
    warnings.simplefilter("ignore")
    IML(dissimilar=dissimilar, n_jobs=n_jobs).fit(*make_data(100, 3, 0.2))  # compiles
    iml = IML(dissimilar=dissimilar, n_jobs=n_jobs)
    wall, cpu = time.perf_counter(), time.process_time()
    iml.fit(X, y)
    return {
        "n_samples": n_samples,
        "n_features": n_features,
        "dissimilar": dissimilar,
        "n_jobs": n_jobs,
        "wall_seconds": time.perf_counter() - wall,
        "seconds": time.process_time() - cpu,
        "n_iter": iml.n_iter_,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "bits": hashlib.sha256(iml.components_.tobytes()).hexdigest()[:12],
    }


def measure_apart(*arguments) -> dict:
    """The same in a fresh process on one BLAS thread."""
    command = [sys.executable, __file__, json.dumps(arguments)]
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout)


def growth_with_rows(sizes=ROWS, n_features: int = 30) -> list[dict]:
    return [
        measure_apart(n, n_features, dissimilar, 1, 0.01)
        for dissimilar in ("fixed", "refreshed")
        for n in sizes
    ]


def growth_with_features(sizes=FEATURES, n_samples: int = 2000) -> list[dict]:
    return [measure_apart(n_samples, d, "refreshed", 1, 0.1) for d in sizes]


def growth_with_threads(n_samples: int = 20_000, n_features: int = 30) -> list[dict]:
    return [measure_apart(n_samples, n_features, "refreshed", n_jobs, 0.1) for n_jobs in (1, 2)]


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
