"""Compare speeds, both sides in one run: one Markdown table per question, and a JSON file.

    python benchmarks/run.py [--quick] [--only QUESTION]

Questions: plain, other_points, other_data, nca, baselines, lmnn, tuning, rare, rows, features,
threads, anchors, tuning_threads, tables, blas, start. Times are CPU seconds of one thread, except
in the three questions about threads and in ``anchors``. Compilation is timed in ``start`` only.
Writes ``benchmarks/results/bench.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from growth import ONE_THREAD

os.environ.update(ONE_THREAD)  # before NumPy is imported

import fits
import growth
import numpy as np

from raremetric.study import read_study

OUT = Path(__file__).parent / "results" / "bench.json"
QUICK_DATA = ("wine", "german")
LMNN_SECONDS = ("path_seconds", "plain_seconds")
N_POINTS = 8  # of the grid, in each comparison with the plain program


def plain(quick: bool, data: tuple[str, ...] = fits.DATA, seed: int = 0) -> list[dict]:
    return fits.compare_with_plain(QUICK_DATA if quick else data, 3 if quick else N_POINTS, seed)


def other_points(quick: bool) -> list[dict]:
    """`plain` at grid points that were not used to choose the stopping rules."""
    return plain(quick, seed=11)


def other_data(quick: bool) -> list[dict]:
    """`plain` on data sets that were not used to choose the stopping rules."""
    return plain(quick, fits.OTHER_DATA)


def nca(quick: bool) -> list[dict]:
    return fits.compare_with_nca(QUICK_DATA if quick else ("wine", "sonar", "german", "vehicle"))


def tuning(quick: bool) -> list[dict]:
    return fits.compare_tuning(QUICK_DATA[:1] if quick else QUICK_DATA, 10 if quick else 100)


def baselines(quick: bool) -> list[dict]:
    """LMNN and ITML against metric-learn and pylmnn, if their environment can be created."""
    from baselines import compare

    try:
        return compare(data=("wine",), splits=(1,)) if quick else compare()
    except (subprocess.CalledProcessError, OSError) as error:
        return [{"peer": "metric-learn, pylmnn", "ratio": None, "skipped": str(error)}]


def lmnn(quick: bool) -> list[dict]:
    """LMNN on the paper's data sets against plain L-BFGS on its exact loss."""
    return fits.compare_lmnn(
        QUICK_DATA if quick else read_study(fits.PAPER / "table2.toml").datasets
    )


def rare(quick: bool) -> list[dict]:
    if quick:
        return fits.compare_rare(300, 5, 20, 2) + fits.subsample_large(2000, (300,))
    large = fits.subsample_large(50_000, (2000, 5000, 10_000))
    return fits.compare_rare(2000, 20, 200, 20) + large


def rows(quick: bool) -> list[dict]:
    return growth.growth_with_rows((1000, 3000) if quick else growth.ROWS)


def features(quick: bool) -> list[dict]:
    return growth.growth_with_features((5, 30) if quick else growth.FEATURES)


def threads(quick: bool) -> list[dict]:
    return growth.growth_with_threads((5000,) if quick else growth.THREADED)


def anchors(quick: bool) -> list[dict]:
    """IML with sampled anchors: F1 against all anchors, and a million rows."""
    if quick:
        return growth.growth_with_anchors(3000, 10_000, (1000, None), n_seeds=2, n_test=3000)
    return growth.growth_with_anchors()


def tuning_threads(quick: bool) -> list[dict]:
    return fits.tune_on_threads(QUICK_DATA[:1] if quick else fits.DATA[-4:], 5 if quick else 30)


def tables(quick: bool) -> list[dict]:
    """One split of Table 2 and of Table 3a: seconds of each method."""
    datasets = QUICK_DATA if quick else None
    return [row for name in ("table2", "table3-smote") for row in fits.time_split(name, datasets)]


def blas(quick: bool) -> list[dict]:
    return growth.threads_of_blas(("IML",)) if quick else growth.threads_of_blas()


def start(quick: bool) -> list[dict]:
    """Imports, the first fit with an empty cache, and the first fit of a later process."""
    import resource
    import tempfile

    def clock(code: str, **environment: str) -> float:
        """CPU seconds of a new process that runs the code."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code]
        subprocess.run(command, check=True, env={**os.environ, **environment})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def best(code: str, **environment: str) -> float:
        return min(clock(code, **environment) for _ in range(1 if quick else 5))

    one_fit = (
        "import numpy as np; from raremetric import IML;"
        "X = np.random.RandomState(0).normal(size=(60, 4)); y = (X[:, 0] > 0.5).astype(int);"
        "IML().fit(X, y)"
    )
    with tempfile.TemporaryDirectory() as cache:
        compiled = clock(one_fit, NUMBA_CACHE_DIR=cache)
        cached = best(one_fit, NUMBA_CACHE_DIR=cache)
    sklearn = best("import sklearn.neighbors")
    package, learner = best("import raremetric"), best("from raremetric import IML")
    return [
        {"what": "import raremetric, against import sklearn.neighbors", "ratio": package / sklearn},
        {"what": "from raremetric import IML, against the same", "ratio": learner / sklearn},
        {"what": "import and first fit, nothing cached", "seconds": compiled - sklearn},
        {"what": "import and first fit of a later process", "seconds": cached - sklearn},
    ]


FUNCTIONS = (
    plain, other_points, other_data, nca, baselines, lmnn, tuning, rare, rows, features, threads,
    anchors, tuning_threads, tables, blas, start,
)  # fmt: skip
QUESTIONS: dict[str, Callable[[bool], list[dict]]] = {each.__name__: each for each in FUNCTIONS}


def as_text(value) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):  # relative differences of the objective
        if value and isinstance(value[0], float):
            return f"median {np.median(value):.0e}, worst {np.max(value):.0e}"
        return " x ".join(map(str, value))
    return "" if value is None else str(value)


def markdown(table: list[dict]) -> str:
    """The rows as a Markdown table."""
    names = list(dict.fromkeys(name for row in table for name in row))
    lines = [names, ["---"] * len(names)]
    lines += [[as_text(row.get(name)) for name in names] for row in table]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def summary(name: str, table: list[dict]) -> str:
    """The figures that docs/experiments/performance.md quotes besides the table."""
    if name in ("plain", "other_points", "other_data"):
        ratios = [row["ratio"] for row in table]
        excess = np.concatenate([row["excess"] for row in table])
        return (
            f"geometric mean {np.exp(np.mean(np.log(ratios))):.1f}, lowest {min(ratios):.1f}; "
            f"objective: median difference {np.median(excess):.1e}, "
            f"{np.mean(excess > 1e-3):.1%} of the fits more than 1e-3 worse"
        )
    if name == "lmnn":
        seconds, plain_seconds = (sum(row[key] for row in table) for key in LMNN_SECONDS)
        worst = max(row["worst_objective_ratio"] for row in table)
        return f"all: {plain_seconds / seconds:.1f} times; worst objective {worst:.5f} times theirs"
    if name == "threads":
        return "; ".join(
            speedup(one, two) for one, two in zip(table[::2], table[1::2], strict=True)
        )
    if name == "anchors":
        return "; ".join(cost_of_sampling(table))
    if name in ("rows", "features"):
        size = {"rows": "n_samples", "features": "n_features"}[name]
        fixed = [row for row in table if row["dissimilar"] == "fixed"]
        return (
            f'dissimilar="fixed": time ~ {size}^{exponent(fixed, size, "seconds"):.2f}, and '
            f"^{exponent(fixed, size, 'seconds_without_pairs'):.2f} without the selection of pairs"
        )
    return ""


def cost_of_sampling(table: list[dict]) -> list[str]:
    """For each number of anchors, how much higher F1 is with all anchors, over the seeds."""
    scores: dict[int | None, list[float]] = {}
    for row in table:
        if "f1" in row:
            scores.setdefault(row["max_samples"], []).append(row["f1"])
    full, texts = np.array(scores.pop(None)), []
    for max_samples, found in scores.items():
        lost = full - found
        error = lost.std(ddof=1) / np.sqrt(len(lost))
        texts.append(f"{max_samples} anchors: F1 lower by {lost.mean():.2f} ± {error:.2f}")
    return texts


def speedup(one: dict, two: dict) -> str:
    """The speedup from a second thread: wall time, and on idle cores."""
    wall, idle = (one[f"{kind}_seconds"] / two[f"{kind}_seconds"] for kind in ("wall", "path"))
    result = "the same result" if one["hash"] == two["hash"] else "ANOTHER RESULT"
    return (
        f"{one['n_samples']} rows with two threads: speedup {wall:.2f} (wall time), "
        f"{idle:.2f} (idle cores), {result}"
    )


def exponent(table: list[dict], size: str, seconds: str) -> float:
    """The slope of log time over log size."""
    sizes, times = (np.log([row[key] for row in table]) for key in (size, seconds))
    return float(np.polyfit(sizes, times, 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data; takes about a minute")
    parser.add_argument("--only", choices=list(QUESTIONS), help="run one question only")
    options = parser.parse_args()
    results = json.loads(OUT.read_text()) if OUT.exists() and options.only else {}
    for name, question in QUESTIONS.items():
        if options.only not in (None, name):
            continue
        table = question(options.quick)
        results[name] = table
        print(f"\n## {name}\n\n{markdown(table)}\n\n{summary(name, table)}", flush=True)
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
