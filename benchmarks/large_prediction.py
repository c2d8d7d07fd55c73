"""Peak memory of `raremetric predict` on a CSV file of 2 GB.

    python benchmarks/large_prediction.py

Writes the file (18 columns of numbers, text and missing values), fits on its first 2000 rows, and
prints the peak memory of the process that predicts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from raremetric.table import fit_table, save_model

PREDICT = """
import json, resource, sys, time
from raremetric.table import load_model
from raremetric.table.predictions import write_predictions

start = time.process_time()
counts = write_predictions(load_model(sys.argv[1]), sys.argv[2], sys.argv[3])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
found = {"rows": counts.rows, "positive": counts.positive, "peak": peak}
print(json.dumps({**found, "seconds": time.process_time() - start}))
"""


def write_table(path: Path, n_bytes: int, n_block: int = 100_000) -> None:
    """Write decimals, integers, text and missing values, repeated up to the given size."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_block, 12)).round(6)
    frame = pd.DataFrame(numbers, columns=[f"f{i}" for i in range(12)])
    for i in range(4):
        frame[f"i{i}"] = rng.integers(0, 100_000, n_block)
    frame["color"] = rng.choice(["red", "green", "blue"], n_block)
    frame["city"] = rng.choice([f"city {i}" for i in range(15)], n_block)
    frame["y"] = np.where(rng.random(n_block) < 0.02, "rare", "common")
    frame.loc[rng.random(n_block) < 0.01, "f3"] = np.nan
    header, _, body = frame.to_csv(index=False).encode().partition(b"\n")
    with path.open("wb") as stream:
        stream.write(header + b"\n")
        while stream.tell() < n_bytes:
            stream.write(body)


def measure(folder: Path, n_bytes: int, method: str) -> dict:
    large, small, model = folder / "large.csv", folder / "small.csv", folder / "model.skops"
    write_table(large, n_bytes)
    with large.open() as stream:
        small.write_text("".join(islice(stream, 2001)))
    save_model(fit_table(small, "y", method=method), model)
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, model, large, folder / "out.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout) | {"bytes": large.stat().st_size}


def main() -> None:
    parser = argparse.ArgumentParser(description="Peak memory of a large prediction.")
    parser.add_argument("--bytes", type=float, default=2e9)
    parser.add_argument("--model", default="iml")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), int(options.bytes), options.model)
    print(
        f"{options.model}: {found['bytes'] / 1e9:.2f} GB, {found['rows']} rows: peak memory "
        f"{found['peak'] / 1e6:.0f} MB, CPU time {found['seconds']:.0f} s."
    )


if __name__ == "__main__":
    main()
