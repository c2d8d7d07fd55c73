"""Run the benchmark: see the package."""

from __future__ import annotations

import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # before NumPy

import argparse
from pathlib import Path

import pandas as pd

from benchmarks import own_tables
from benchmarks.own_tables.measuring import measure_file
from benchmarks.own_tables.page import RESULTS, summary
from benchmarks.own_tables.tables import TABLES, make_parts, write_table

QUICK = {"scale": 0.2, "methods": ("plain", "logistic")}


def main() -> None:
    options = read_options()
    if options.write is not None:
        write_files(options.files, options.write)
    elif options.quick:
        for name in options.files:
            print(pd.DataFrame(measure_file(name, **QUICK)).round(3).to_string(), flush=True)
    else:
        run(options.files, options.again)
        print(summary(pd.read_csv(RESULTS)))


def run(names: list[str], again: bool) -> None:
    """Measure the files that have no results yet, and add each to the results when it is done."""
    for name in names:
        known = [*pd.read_csv(RESULTS).groupby("file")] if RESULTS.exists() else []
        if name in dict(known) and not again:
            print(f"{name}: finished before; --again repeats it.")
            continue
        rows = pd.DataFrame(measure_file(name))
        print(rows.round(3).to_string(), flush=True)
        found = {**dict(known), name: rows}
        results = pd.concat([found[each] for each in TABLES if each in found])
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        results.to_csv(RESULTS, index=False, float_format="%.4f")


def write_files(names: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        for part, title in zip(make_parts(name), ("rest", "held-out"), strict=True):
            print(write_table(part, TABLES[name], folder / f"{name}-{title}"))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.own_tables", description=own_tables.__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--files", nargs="+", choices=list(TABLES), default=list(TABLES), metavar="FILE",
        help=f"some of the files: {', '.join(TABLES)}",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="few rows, two methods, keep nothing")
    parser.add_argument("--again", action="store_true", help="also files that have results")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only write the files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
