"""Which rows are drawn: how many of each class, none twice, all with the same probability."""

import numpy as np
import pytest

from raremetric.dask.sampling import MIN_HELD_OUT, chosen_rows, plan_sample, sample_sizes


def test_a_plan_takes_no_row_twice_and_all_of_a_small_class():
    counts = np.array([[900, 3], [0, 0], [4100, 40], [5000, 7]])
    plan = plan_sample(counts, 500, np.random.RandomState(0))
    codes = [
        np.random.default_rng(i).permutation(np.repeat([0, 1], n)) for i, n in enumerate(counts)
    ]
    learned = [chosen_rows(c, ranks) for c, ranks in zip(codes, plan[0], strict=True)]
    held_out = [chosen_rows(c, ranks) for c, ranks in zip(codes, plan[1], strict=True)]
    for ours, others in zip(learned, held_out, strict=True):
        assert len({*ours, *others}) == len(ours) + len(others)
    n_learned = sum(
        np.bincount(c[rows], minlength=2) for c, rows in zip(codes, learned, strict=True)
    )
    n_held = sum(np.bincount(c[rows], minlength=2) for c, rows in zip(codes, held_out, strict=True))
    assert n_learned.tolist() == [450, 50]
    assert n_held.tolist() == [9550, 0]


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
