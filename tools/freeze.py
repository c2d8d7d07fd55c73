"""Record what the package computes, or compare it with a record.

    python tools/freeze.py write FILE.json.gz
    python tools/freeze.py compare FILE.json.gz

The record has metrics and predictions of the public estimators on the paper's data sets, rows of
studies, and predictions of models of a table. `compare` computes them again, lists each value that
differs, and exits with code 1 if there is one. The last bits depend on the processor and on the
versions of the dependencies: write and compare on one machine. To record another checkout, set
PYTHONPATH to its `src`.

The constants name all that is used of the package: change them where it is renamed or moved.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_info

ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
DEPENDENCIES = ("numpy", "scipy", "sklearn", "numba", "pandas", "xgboost")

PACKAGE = "raremetric"
COMMAND = "raremetric.cli:app"
LOAD_DATASET = "raremetric.datasets:load_dataset"
READ_TABLE = "raremetric.table:read_table"
FIT_TABLE = "raremetric.table:fit_table"
# Name in the record: import path, of estimators that are no longer raremetric.NAME, such as
# "Euclidean": "raremetric.learners.euclidean:Euclidean".
MOVED: dict[str, str] = {}
# Where the defaults take long; and, after a comma, variants of an estimator.
PARAMETERS: dict[str, dict[str, Any]] = {
    "GMML, balanced": {"pairs": "neighbors", "set_weights": "balanced"},
    "IML, fixed": {"dissimilar": "fixed"},
    "IML, inverse": {"set_weights": "inverse"},
    "IML, lbfgs": {"solver": "lbfgs", "max_iter": 20},
    "IML, random": {"pairs": "random", "set_weights": "uniform"},
    "IML, sample": {"max_samples": 50},
    "IMLCV": {"n_candidates": 20},
    "ITML": {"max_iter": 1000},
    "MetricKNNClassifier, adjusted": {"vote": "adjusted"},
    "MetricKNNClassifier, score": {"vote": "score", "n_neighbors": "auto"},
    "RareClassifier": {"cv": 5},
}
ATTRIBUTES = ("components_", "objective_", "n_iter_", "best_score_", "threshold_")
METHODS = ("transform", "predict", "predict_proba", "decision_function")
# After a comma: with the original classes, of which there are more than two, or with weights.
DATASETS = (
    *("abalone", "australian", "balance", "bupa", "german", "glass", "hayes", "heart", "iono"),
    *("libras", "newthyroid", "pageblocks", "pima", "segmentation", "sonar", "spambase"),
    *("spectfheart", "splice", "vehicle", "wdbc", "wine", "yeast"),
    *("glass, all classes", "glass, weighted"),
)
MAX_ROWS = 600

STUDY_DATASETS = ("wine", "glass", "hayes")
# Name in the record: lines of its section in the study file, such as 'kind = "module:Class"'.
LEARNERS = {
    "Euclidean": "", "LMNN": "", "ITML": "", "GMML": "", "IML": "",
    "DMBK": 'kind = "paper.rivals:DMBK"', "IterativeLMNN": 'kind = "paper.rivals:IterativeLMNN"',
    "ML1": "", "ML2": "", "logistic-regression": "", "gradient-boosting": "",
    "balanced-forest": "", "SVM-rbf": "", "SVM-laplacian": "", "IML-score": "",
    "RareClassifier-fast": "",
}  # fmt: skip
STUDY_COLUMNS = ("tn", "fp", "fn", "tp", "candidate", "average_precision")

TABLE_METHODS = (
    *("plain", "lmnn", "itml", "gmml", "iml", "logistic", "boosting"),
    *("forest", "svm", "rare"),
)


def main() -> int:
    """Write or compare, and return the exit code."""
    arguments = parse_arguments()
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    old = None
    if arguments.action == "compare":
        old = json.loads(gzip.decompress(arguments.file.read_bytes()))
    new = {"versions": versions(), "values": compute_all(arguments.jobs, arguments.only)}
    values = new["values"]
    errors = [f"{name}: {value['full']}" for name, value in values.items() if "error" in name]
    print(*errors, f"{len(values)} values, {len(errors)} of them errors.", sep="\n")
    if old is None:
        text = json.dumps(new, indent=0, sort_keys=True)
        arguments.file.write_bytes(gzip.compress(text.encode(), mtime=0))
        return 0
    if old["versions"] != new["versions"]:
        print(f"The record was made with {old['versions']}; these are {new['versions']}.")
    known = {name: value for name, value in old["values"].items() if arguments.only in name}
    found = list(differences(known, values))
    print(*found, f"{len(found)} of {len(known | values)} values differ.", sep="\n")
    return int(bool(found))


def parse_arguments() -> argparse.Namespace:
    """What to do, with which file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file", type=Path, help="the record: compressed JSON")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--only", default="", help="only items whose name contains this text")
    return parser.parse_args()


def versions() -> dict[str, Any]:
    """What the last bits of the numbers depend on."""
    kernels = sorted({str(each.get("architecture")) for each in threadpool_info()} - {"None"})
    installed = {name: import_module(name).__version__ for name in DEPENDENCIES}
    return {"python": sys.version.split()[0], **installed, "BLAS kernels": kernels}


def compute_all(n_jobs: int, only: str) -> dict[str, Any]:
    """Everything in the record: the summary of each value by its name."""
    print(f"{PACKAGE} is imported from {import_module(PACKAGE).__file__}", flush=True)
    items = {name: run for name, run in list_items().items() if only in name}
    start = time.perf_counter()
    record: dict[str, Any] = {}
    pool = Parallel(n_jobs, return_as="generator_unordered")
    results = pool(delayed(guarded)(name, run) for name, run in items.items())
    for n_done, (name, values) in enumerate(results, 1):
        record |= {f"{name}: {what}": value for what, value in values.items()}
        seconds = time.perf_counter() - start
        print(f"{seconds:.0f} s: {n_done}/{len(items)} {name}", flush=True)
    return dict(sorted(record.items()))


def list_items() -> dict[str, Any]:
    """The function that computes each item, the slow ones first. A new estimator is found."""
    public = {name: f"{PACKAGE}:{name}" for name in import_module(PACKAGE).__all__}
    paths = {name: path for name, path in public.items() if isinstance(load(path), type)}
    paths = {name: path for name, path in paths.items() if path not in MOVED.values()} | MOVED
    items: dict[str, Any] = {}
    items |= {f"study, {name}": partial(study_rows, name) for name in STUDY_DATASETS}
    items |= {f"table, {name}": partial(table_model, name) for name in TABLE_METHODS}
    items["table, encoding"] = encoded_table
    return items | {
        f"estimator, {dataset}, {name}": partial(
            fitted_estimator, dataset, paths[name.partition(",")[0]], PARAMETERS.get(name, {})
        )
        for dataset in DATASETS
        for name in sorted(paths | PARAMETERS)
        if name.partition(",")[0] in paths
    }


def guarded(name: str, run: Any) -> tuple[str, dict[str, Any]]:
    """Summaries of the values of an item, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values = run()
        except Exception as error:
            values = {"error": f"{type(error).__name__}: {error}"}
    return name, {what: summarize(value) for what, value in values.items()}


def load(path: str) -> Any:
    """The object at an import path such as "package.module:name"."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def fitted_estimator(dataset: str, path: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Metric and predictions of an estimator on a data set; nothing if it takes no weights."""
    model = load(path)(**parameters)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    name, _, variant = dataset.partition(", ")
    weighted = variant == "weighted"
    if weighted and not has_fit_parameter(model, "sample_weight"):
        return {}
    X, y = load(LOAD_DATASET)(name, return_X_y=True, original=variant == "all classes")
    if len(y) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    X, X_new, y, _ = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_new = scaler.transform(X), scaler.transform(X_new)
    weights = np.random.RandomState(0).choice([0.0, 0.5, 1.0, 3.0], len(y))
    model.fit(X, y, **({"sample_weight": weights} if weighted else {}))
    values = {each: getattr(model, each) for each in ATTRIBUTES if hasattr(model, each)}
    values |= {each: getattr(model, each)(X_new) for each in METHODS if hasattr(model, each)}
    if hasattr(model, "get_mahalanobis_matrix"):
        values["metric"] = model.get_mahalanobis_matrix()
    return values


def study_rows(dataset: str) -> dict[str, Any]:
    """Results of all learners on one split of a data set."""
    with tempfile.TemporaryDirectory() as folder:
        study, store, rows = (f"{folder}/{name}" for name in ("a.toml", "a.sqlite", "a.csv.gz"))
        sections = (f"[learners.{name}]\n{fields}" for name, fields in LEARNERS.items())
        heading = f'datasets = ["{dataset}"]\nsplits = 1\nresampling = ["none", "smote", "rus"]'
        Path(study).write_text("\n".join([heading, *sections]))
        done = run_command("study", "run", study, "--store", store)
        if not Path(store).exists():
            raise RuntimeError(done.stderr.strip())
        status = run_command("study", "status", "--store", store, "--json").stdout
        run_command("study", "export", store, rows)
        values: dict[str, Any] = {
            f"{task}, error": trace.strip().splitlines()[-1]
            for task, trace in json.loads(status)["failures"].items()
        }
        table = pd.read_csv(rows, skiprows=1, dtype=str, keep_default_na=False)
        for row in table.to_dict("records"):
            named = f"{row['learner']}, {row['resampling']}"
            values |= {f"{named}, {column}": row[column] for column in STUDY_COLUMNS}
    return values


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the package's command."""
    module, _, name = COMMAND.partition(":")
    code = f"from {module} import {name}; {name}()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


def table_model(method: str) -> dict[str, Any]:
    """Predictions of a model of a table for new rows."""
    with tempfile.TemporaryDirectory() as folder:
        train, new = write_tables(Path(folder))
        model = load(FIT_TABLE)(train, "outcome", "yes", method=method, seed=0)
        return {**model.predict_table(new), "threshold": model.threshold}


def encoded_table() -> dict[str, Any]:
    """The numbers that a table becomes."""
    with tempfile.TemporaryDirectory() as folder:
        table = load(READ_TABLE)(write_tables(Path(folder))[0], "outcome", "yes")
        names = table.encoder.get_feature_names_out()
        return {"features": names, "rows": table.encoder.transform(table.data)}


def write_tables(folder: Path) -> tuple[Path, Path]:
    """A table of numbers, dates, categories and text with missing values, and new rows for it."""
    rng = random.Random(0)
    words = ["late", "early", "broken", "heavy", "small", "returned", "new", "urgent", "paid"]
    rows = []
    for number in range(320):
        amount, day = rng.lognormvariate(4, 1), rng.randrange(28) + 1
        region = rng.choice(["north", "south", "east", "west"] + ["island"] * (number >= 240))
        text = rng.sample(words, rng.randrange(3, 7))
        risk = amount / 80 + 2 * (region == "south") + 2 * ("broken" in text) + rng.gauss(0, 1)
        row: list[Any] = [f"{amount:.2f}", rng.randrange(9), f"2024-{number % 12 + 1:02}-{day:02}"]
        row += [region, rng.choice(["true", "false"]), " ".join(text)]
        row = ["" if rng.random() < 0.04 else value for value in row]
        rows.append([*row, "yes" if risk > 4 else "no"])
    names = ["amount", "visits", "opened", "region", "member", "remark", "outcome"]
    table = pd.DataFrame(rows, columns=names)
    table[:240].to_csv(folder / "train.csv", index=False)
    table[240:].drop(columns="outcome").to_csv(folder / "new.csv", index=False)
    return folder / "train.csv", folder / "new.csv"


def summarize(value: Any) -> dict[str, Any]:
    """Integers and text in full; of floats, a hash of their bits and a summary."""
    array = np.asarray(value)
    if array.dtype.kind in "iub":
        return {"full": array.tolist()}
    if array.dtype.kind != "f":
        return {"full": array.astype(str).tolist()}
    finite = array[np.isfinite(array)].astype(np.float64)
    return {
        "kind": f"{array.dtype.name} of shape {array.shape}, {finite.size} of them finite",
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(),
        "size": finite.size,
        "sum of squares": float(np.sum(finite**2)),
        "mean": float(np.sum(finite) / max(finite.size, 1)),
        "first values": finite[:5].tolist(),
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """One line for each value that is not the same in two records."""
    for name in sorted(old | new):
        if name not in new:
            yield f"{name}: is missing now"
        elif name not in old:
            yield f"{name}: is new"
        elif old[name] != new[name]:
            yield f"{name}: {describe(old[name], new[name])}"


def describe(old: dict[str, Any], new: dict[str, Any]) -> str:
    """How a value has changed."""
    if "full" in old and "full" in new:
        before, after = np.array(old["full"]), np.array(new["full"])
        if before.shape == after.shape and (changed := before != after).any():
            example = f"{before[changed][0]} became {after[changed][0]}"
            return f"{changed.sum()} of {changed.size} differ, such as: {example}"
    kinds = [shorten(str(each.get("full", each.get("kind"))), 100) for each in (old, new)]
    if "full" in old or "full" in new or kinds[0] != kinds[1]:
        return f"{kinds[0]} became {kinds[1]}"
    squares, first = (
        old["sum of squares"] or 1.0,
        np.subtract(new["first values"], old["first values"]),
    )
    # Mean and first values can be near zero: they are compared with the root mean square.
    typical = np.sqrt(squares / max(old["size"], 1))
    apart = {
        "sum of squares": abs(new["sum of squares"] - squares) / squares,
        "mean": abs(new["mean"] - old["mean"]) / typical,
        "first values": np.abs(first).max(initial=0.0) / typical,
    }
    sizes = ", ".join(f"{what} {value:.1e}" for what, value in apart.items())
    return f"bits differ; relative differences: {sizes}"


if __name__ == "__main__":
    sys.exit(main())
