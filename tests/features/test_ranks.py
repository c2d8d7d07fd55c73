import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.preprocessing import QuantileTransformer

from raremetric.features.ranks import DifferingFeatures, NormalScores, largest_difference


def example(seed=0, n_features=12):
    rng = np.random.default_rng(seed)
    y = (np.arange(90) < 30).astype(int)
    X = rng.normal(size=(90, n_features))
    X[:, ::3] = np.round(2 * X[:, ::3])  # many equal values
    X[y == 1, 1] += 2
    X[y == 1, 2] *= 5  # the same mean
    return X, y


def test_the_difference_is_the_statistic_of_kolmogorov_and_smirnov():
    X, y = example()
    shares = np.where(y == 1, 1 / 30, -1 / 60)
    for column in X.T:
        expected = ks_2samp(column[y == 1], column[y == 0]).statistic
        assert largest_difference(column, shares) == pytest.approx(expected)


def test_features_that_differ_are_kept_in_their_order():
    X, y = example()
    selected = DifferingFeatures(max_features=2).fit(X, y)
    np.testing.assert_array_equal(selected.get_support(indices=True), [1, 2])
    np.testing.assert_array_equal(selected.transform(X), X[:, 1:3])
    assert selected.get_feature_names_out().tolist() == ["x1", "x2"]
    assert DifferingFeatures(max_features=20).fit(X, y).transform(X).shape == X.shape


def test_a_scale_changes_nothing():
    X, y = example()
    support = DifferingFeatures(max_features=5).fit(X, y).support_
    np.testing.assert_array_equal(DifferingFeatures(5).fit(1e-29 * X, y).support_, support)
    np.testing.assert_array_equal(DifferingFeatures(5).fit(np.arctan(X), y).support_, support)


def test_a_weight_counts_as_copies():
    X, y = example(1, 200)
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = DifferingFeatures(50).fit(X, y, sample_weight=weights)
    repeated = DifferingFeatures(50).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.support_, repeated.support_)


def test_a_number_of_features_that_has_no_meaning_is_refused():
    with pytest.raises(ValueError, match="max_features == 0, must be >= 1"):
        DifferingFeatures(0).fit(*example())


@pytest.mark.parametrize("n_quantiles", [20, 200])
def test_the_scores_are_scikit_learns(n_quantiles):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.normal(size=200), rng.randint(0, 4, 200), np.zeros(200)])
    queries = np.vstack([X, 100 * rng.normal(size=(50, 3))])
    ours = NormalScores(n_quantiles, random_state=0).fit(X)
    theirs = QuantileTransformer(
        n_quantiles=n_quantiles, output_distribution="normal", random_state=0
    ).fit(X)
    np.testing.assert_allclose(ours.transform(queries), theirs.transform(queries), atol=1e-9)
    np.testing.assert_allclose(ours.transform(queries[:1]), ours.transform(queries)[:1])
