"""Tasks on Dask: errors that a user can correct come without Dask's own messages."""

import logging
import os

import pytest

from raremetric.dask.cluster import dask_client, run_on_each

distributed = pytest.importorskip("dask.distributed")


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=False, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def divide(shared, number):
    if number == 2:
        raise ValueError("part 2 cannot be read")
    return shared / number


@pytest.fixture
def messages():
    """What the workers log."""
    found: list[str] = []
    handler, logger = logging.Handler(), logging.getLogger("distributed.worker")
    handler.emit = lambda record: found.append(record.getMessage())
    before = logger.level
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_a_mistake_is_raised_and_not_logged(client, messages):
    assert run_on_each(divide, [(1,), (4,)], 8, client) == [8, 2]
    with pytest.raises(ValueError, match="part 2 cannot be read"):
        run_on_each(divide, [(2,)], 8, client)
    assert messages == []


def test_a_bug_is_logged(client, messages):
    with pytest.raises(ZeroDivisionError):
        run_on_each(divide, [(0,)], 8, client)
    assert any("Compute Failed" in each for each in messages)


def test_without_a_client():
    with pytest.raises(ValueError, match="part 2 cannot be read"):
        run_on_each(divide, [(1,), (2,)], 8)


def test_local_workers_keep_freed_memory():
    with dask_client(None, 1) as client:
        (limit,) = client.run(os.environ.get, "MALLOC_TRIM_THRESHOLD_").values()
    assert int(limit) >= 1 << 24  # Dask's own setting is 64 KB
