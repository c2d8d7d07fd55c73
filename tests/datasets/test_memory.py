"""A file of 1 GB: its reading stays within three times the parsed table."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("resource")  # POSIX only

MEASURE = """
import json, resource, sys
import pandas, pyarrow.csv
from raremetric.datasets import read_table

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
table = read_table(sys.argv[1], target="y")
size = int(table.data.memory_usage(deep=True).sum() + table.target.nbytes)
print(json.dumps({"before": before, "peak": peak(), "size": size, "shape": table.data.shape}))
"""


def write_table(path, n_bytes):
    """Numbers with a fraction, whole numbers, text, missing values: repeated up to the size."""
    rng = np.random.default_rng(0)
    n = 100_000
    frame = pd.DataFrame(rng.normal(size=(n, 12)).round(6), columns=[f"f{i}" for i in range(12)])
    for i in range(4):
        frame[f"i{i}"] = rng.integers(0, 100_000, n)
    frame["color"] = rng.choice(["red", "green", "blue"], n)
    frame["city"] = rng.choice([f"city {i}" for i in range(15)], n)
    frame["y"] = np.where(rng.random(n) < 0.02, "rare", "common")
    frame.loc[rng.random(n) < 0.01, "f3"] = np.nan
    header, _, body = frame.to_csv(index=False).encode().partition(b"\n")
    with path.open("wb") as stream:
        stream.write(header + b"\n")
        while stream.tell() < n_bytes:
            stream.write(body)


@pytest.mark.slow
def test_one_gigabyte(tmp_path):
    path = tmp_path / "big.csv"
    write_table(path, 2**30)
    try:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
        )
    finally:
        path.unlink()  # pytest would keep it for three runs
    found = json.loads(done.stdout)
    assert found["shape"][1] == 18
    # The whole process, the interpreter and its libraries included.
    assert found["peak"] <= 3 * found["size"], found
