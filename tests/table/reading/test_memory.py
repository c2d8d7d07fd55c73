"""Reading a file of 1 GB needs at most three times the memory of the parsed table."""

import json
import subprocess
import sys

import pytest

from benchmarks.large_prediction import write_table

pytest.importorskip("resource")  # POSIX only

MEASURE = """
import json, resource, sys
import pandas, pyarrow.csv
from raremetric.table import read_table

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
table = read_table(sys.argv[1], target="y")
size = int(table.data.memory_usage(deep=True).sum() + table.target.nbytes)
print(json.dumps({"before": before, "peak": peak(), "size": size, "shape": table.data.shape}))
"""


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
