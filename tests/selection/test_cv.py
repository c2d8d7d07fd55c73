import numpy as np
import pytest

from raremetric.selection.cv import make_folds, split_into_repeats
from raremetric.validation import check_labels


@pytest.mark.parametrize(
    ("n_samples", "n_positive", "repeats", "n_folds"),
    [
        (500, 250, 2, 10),
        (501, 39, 2, 10),
        (2001, 39, 1, 5),
        (501, 40, 2, 5),
        (1000, 40, 2, 5),
        (1001, 40, 1, 5),
        (300, 4, 2, 4),
    ],
)
def test_more_folds_where_examples_are_few(n_samples, n_positive, repeats, n_folds):
    labels = check_labels(np.arange(n_samples) < n_positive, "A test")
    made = make_folds(labels, 0)
    assert [len(folds) for folds in made] == [n_folds] * repeats
    for folds in made:
        tested = np.sort(np.concatenate([test for _, test in folds]))
        np.testing.assert_array_equal(tested, np.arange(n_samples))
    thorough = make_folds(labels, 0, thorough=True)
    assert len(thorough) == 2 * repeats
    for folds, same in zip(made, thorough, strict=False):
        np.testing.assert_array_equal(folds[0][1], same[0][1])


def test_repeats_are_found_among_the_folds():
    folds = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    assert [len(each) for each in split_into_repeats(folds)] == [2]
    assert [len(each) for each in split_into_repeats(folds + folds)] == [2, 2]
    with pytest.raises(ValueError, match="ShuffleSplit"):
        split_into_repeats([*folds, folds[0]])
