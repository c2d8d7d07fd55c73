"""Which rows are drawn: how many of each class, all with the same probability."""

import numpy as np
import pytest

from raremetric.dask.partitions import MIN_HELD_OUT, plan_sample, sample_sizes


def test_every_row_of_a_class_has_the_same_probability():
    counts = np.array([[10, 30], [40, 20], [0, 50]])
    chosen = np.zeros((2, 100))
    for seed in range(2000):
        learned, _ = plan_sample(counts, 40, np.random.RandomState(seed))
        starts = np.cumsum(counts, axis=0) - counts
        for part, start in zip(learned, starts, strict=True):
            for c in range(2):
                chosen[c, start[c] + part[c]] += 1
    for c, total in enumerate(counts.sum(axis=0)):
        expected = 2000 * 20 / total
        spread = np.sqrt(expected * (1 - 20 / total))
        assert np.abs(chosen[c, :total] - expected).max() < 5 * spread
        assert not chosen[c, total:].any()


@pytest.mark.parametrize(
    ("totals", "limit", "learned", "held_out"),
    [
        ([600, 400], 1000, [600, 400], [0, 0]),  # all rows fit
        ([600, 400], None, [600, 400], [0, 0]),
        ([100_000, 400], 1000, [600, 400], [99_400, 0]),  # too few to hold some out
        ([100_000, 600], 2000, [1400, 480], [98_600, 120]),
        ([1_000_000, 5000], 1000, [500, 500], [100_000, 4500]),
    ],
)
def test_sizes_of_the_sample(totals, limit, learned, held_out):
    found = sample_sizes(np.array(totals), limit)
    assert [each.tolist() for each in found] == [learned, held_out]
    assert MIN_HELD_OUT == 100
