"""Fit metric-learn and pylmnn inside their own environment; see ``baselines.py``.

    python peers.py tasks.npz results.npz

Reads X_<i>, y_<i>, start_<i> and kind_<i>; writes the components and seconds of each fit, and the
bounds of ITML. Does not import raremetric, which does not run with these old libraries.
"""

import sys
import time
import types
import warnings

import numpy as np


def make_learner(kind, start):
    """The learner with its defaults; pylmnn with the given start and more iterations."""
    if kind == "metric-learn LMNN":
        from metric_learn import LMNN

        return LMNN(n_neighbors=3, random_state=0)
    if kind == "metric-learn ITML":
        from metric_learn import ITML_Supervised

        return ITML_Supervised(random_state=0)
    # Importing pylmnn imports the tuner of its hyperparameters, which is neither used nor
    # installed here.
    tuner = types.ModuleType("GPyOpt.methods")
    tuner.BayesianOptimization = None
    sys.modules.setdefault("GPyOpt", types.ModuleType("GPyOpt"))
    sys.modules.setdefault("GPyOpt.methods", tuner)
    from pylmnn import LargeMarginNearestNeighbor

    # More than its default of 50 iterations, so that its own tolerance stops it.
    return LargeMarginNearestNeighbor(n_neighbors=3, init=start, max_iter=1000, random_state=0)


def main():
    tasks = np.load(sys.argv[1])
    results = {}
    warnings.simplefilter("ignore")
    for i in range(int(tasks["n_tasks"])):
        X, y = tasks[f"X_{i}"], tasks[f"y_{i}"]
        learner = make_learner(str(tasks[f"kind_{i}"]), tasks[f"start_{i}"])
        started = time.perf_counter()
        learner.fit(X, y)
        results[f"seconds_{i}"] = time.perf_counter() - started
        results[f"components_{i}"] = learner.components_
        results[f"bounds_{i}"] = getattr(learner, "bounds_", np.empty(0))
    np.savez(sys.argv[2], **results)


if __name__ == "__main__":
    main()
