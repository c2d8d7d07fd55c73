"""DaskClassifier while processes are killed: the same results."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from dask import distributed
from sklearn.linear_model import LogisticRegression

from raremetric.dask import DaskClassifier

pytestmark = pytest.mark.fault


class Killer(threading.Thread):
    """Kills a worker as soon as it is busy."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.killed = client, None

    def run(self):
        while self.killed is None:
            pids, busy = self.client.run(os.getpid), self.client.processing()
            at_work = [pids[worker] for worker, keys in busy.items() if keys and worker in pids]
            if at_work:
                self.killed = at_work[0]
                os.kill(self.killed, signal.SIGKILL)
            time.sleep(0.05)


def slowly(block):
    time.sleep(0.2)
    return block


@pytest.mark.filterwarnings("default")
def test_workers_that_are_killed_during_fit_and_predict():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24_000, 3))
    y = (rng.random(24_000) < 1 / (1 + np.exp(4 - 2 * X[:, 0]))).astype(int)
    parts = da.from_array(X, chunks=(1000, 3)).map_blocks(slowly)
    labels = da.from_array(y, chunks=1000)
    model = DaskClassifier(LogisticRegression(), max_samples=500, random_state=0)
    expected = model.fit(X, y).predict_proba(X)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    killed = []
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        for work in (lambda: model.fit(parts, labels), lambda: model.predict_proba(parts)):
            killer = Killer(client)
            killer.start()
            found = work()
            if found is not model:
                found = found.compute()
            killer.join()
            killed.append(killer.killed)
            client.wait_for_workers(2)
    assert len({*killed}) == 2
    np.testing.assert_allclose(found, expected, rtol=1e-12)
