"""Tables of many files while processes are killed: nothing missing, nothing twice."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from raremetric.table import fit_table, predict_collection, save_model
from tests.cli.conftest import COMMAND
from tests.table.test_collections import make_table, write_files

distributed = pytest.importorskip("dask.distributed")
pytestmark = pytest.mark.fault
SIZES = (4000,) * 6


@pytest.fixture
def fitted(tmp_path):
    table = make_table(sum(SIZES))
    model = fit_table(table[:4000], "y", max_samples=400)
    save_model(model, tmp_path / "model.skops")
    return model, write_files(tmp_path / "data", table, ".parquet", SIZES)


def contents(out):
    return {path.name: path.read_bytes() for path in sorted(out.glob("part-*"))}


def check_rows(out):
    for size, path in zip(SIZES, sorted(out.glob("part-*")), strict=True):
        np.testing.assert_array_equal(pq.read_table(path)["row"].to_numpy(), np.arange(1, size + 1))


@pytest.mark.filterwarnings("default")
def test_a_killed_worker(fitted, tmp_path):
    model, folder = fitted
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    killed = []

    with (
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill_once():
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        predict_collection(
            model, folder, tmp_path / "a", scheduler=cluster.scheduler_address, on_part=kill_once
        )
        assert killed
        predict_collection(model, folder, tmp_path / "b", scheduler=cluster.scheduler_address)
    check_rows(tmp_path / "a")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.usefixtures("fitted")
def test_a_killed_command_continues(tmp_path):
    out = tmp_path / "out"
    words = [*COMMAND, "predict", tmp_path / "model.skops", tmp_path / "data", "-o", out]
    process = subprocess.Popen(words, start_new_session=True, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(out.glob("part-*")):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    n_done = len(contents(out))
    assert 0 < n_done < len(SIZES)
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    check_rows(out)
    subprocess.run([*words[:-1], tmp_path / "again"], check=True, stderr=subprocess.DEVNULL)
    assert contents(out) == contents(tmp_path / "again")
