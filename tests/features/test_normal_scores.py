import numpy as np
import pytest
from sklearn.preprocessing import QuantileTransformer

from raremetric.features.normal_scores import NormalScores


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
