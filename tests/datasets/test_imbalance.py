"""with_minority_share: rarer and more frequent minorities."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from raremetric.datasets import TooFewMinorityError, load_dataset, with_minority_share

SHARES = [0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01]


def toy(n_rare=100, n_common=300):
    y = np.repeat([1, 0], [n_rare, n_common])
    return np.arange(len(y), dtype=float)[:, None], y


@pytest.mark.parametrize(
    ("share", "n_rare", "n_common"),
    [
        (0.5, 100, 100),  # int(100 / 0.5 - 100)
        (0.4, 100, 150),
        (0.25, 100, 300),  # its own share
        (0.2, 75, 300),  # int(0.2 * 300 / 0.8)
        (0.1, 33, 300),  # int(33.3)
    ],
)
def test_counts(share, n_rare, n_common):
    X, y = with_minority_share(*toy(), share, random_state=0)
    assert (int(y.sum()), int((y == 0).sum())) == (n_rare, n_common)
    np.testing.assert_array_equal(X[:, 0] < 100, y == 1)  # rows and labels stay together


def test_stops_below_twenty():
    with pytest.raises(TooFewMinorityError, match=r"share=0\.05 would keep 15 of 100 minority"):
        with_minority_share(*toy(), 0.05)


def test_spectfheart_stops_below_ten_percent():
    """As the paper says of this data set."""
    X, y = load_dataset("spectfheart", return_X_y=True)
    reached = []
    for share in SHARES:
        try:
            with_minority_share(X, y, share, random_state=1)
        except TooFewMinorityError:
            break
        reached.append(share)
    assert reached == [0.5, 0.4, 0.3, 0.2, 0.1]


def test_smaller_variants_are_nested():
    X, y = toy(1000, 3000)
    kept = [with_minority_share(X, y, share, random_state=7)[0][:, 0] for share in SHARES[3:]]
    for larger, smaller in pairwise(kept):
        assert set(smaller) < set(larger)


def test_seed_input_and_kind_of_container():
    X, y = toy()
    first = with_minority_share(X, y, 0.1, random_state=3)[0]
    np.testing.assert_array_equal(first, with_minority_share(X, y, 0.1, random_state=3)[0])
    assert not np.array_equal(first, with_minority_share(X, y, 0.1, random_state=4)[0])
    np.testing.assert_array_equal(X, toy()[0])
    frame, series = with_minority_share(pd.DataFrame(X), pd.Series(y), 0.1, random_state=0)
    assert list(frame.index) == list(series.index)
    assert sp.issparse(with_minority_share(sp.csr_array(X), y, 0.1)[0])
    assert len(with_minority_share(X.tolist(), y.tolist(), 0.1)[0]) == 333


def test_minority_by_count_not_by_label():
    X, y = toy()
    labels = np.where(y == 1, "a", "z")
    assert (with_minority_share(X, labels, 0.1)[1] == "a").sum() == 33
    # If both classes are equally frequent, the larger label is the minority.
    X, y = toy(300, 300)
    assert with_minority_share(X, y, 0.1)[1].sum() == 33


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, np.nan])
def test_bad_share(share):
    with pytest.raises(ValueError, match="share"):
        with_minority_share(*toy(), share)


def test_bad_labels():
    X, _ = toy()
    with pytest.raises(ValueError, match="only one class"):
        with_minority_share(X, np.zeros(400), 0.1)
    with pytest.raises(ValueError, match="needs two classes; y holds 3"):
        with_minority_share(X, np.arange(400) % 3, 0.1)
