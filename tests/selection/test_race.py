import numpy as np
import pytest

from raremetric.selection import stratified_folds
from raremetric.selection.race import rounds_of
from raremetric.validation import check_labels


@pytest.mark.parametrize(
    ("n_folds", "n_positive", "sizes"),
    [(5, 60, [2, 3]), (3, 60, [1, 2]), (2, 60, [1, 1]), (3, 50, [3])],
)
def test_the_first_round_is_two_folds_or_one_of_three(n_folds, n_positive, sizes):
    y = (np.arange(1200) < n_positive).astype(int)
    folds = stratified_folds(check_labels(y, "A test"), n_folds, 0)
    assert [len(folds) for folds in rounds_of(folds, y == 1)] == sizes
