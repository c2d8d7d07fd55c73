"""Every estimator against scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from raremetric import (
    IML,
    IMLCV,
    BalancedDiscriminant,
    Euclidean,
    ImportanceWeights,
    KernelLandmarks,
    MetricKNNClassifier,
    RareClassifier,
)

WEIGHTS = (
    "sample_weight multiplies the pairs an example anchors, as documented. A repeated or left out "
    "row would also change who is whose neighbor, so weighting and repeating differ by design."
)
EXPECTED_TO_FAIL = {
    "IML": {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    },
}


# The checks' toy data are pure noise, on which 200 iterations do not always suffice.
@pytest.mark.filterwarnings("ignore:IML stopped after")
@parametrize_with_checks(
    [
        IML(),
        IML(solver="lbfgs"),
        IML(dissimilar="fixed", solver="projected"),
        IMLCV([{"margin": 1.0}, {"margin": 10.0}], cv=2),
        Euclidean(),
        BalancedDiscriminant(),
        ImportanceWeights(n_estimators=5),
        KernelLandmarks(),
        KernelLandmarks("rbf", n_landmarks=10, n_components=5),
        RareClassifier(budget=1e-6, random_state=0),
        MetricKNNClassifier(),
        MetricKNNClassifier(Euclidean(), multiclass="one_vs_rest"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL.get(type(estimator).__name__, {}),
)
def test_sklearn_checks(estimator, check):
    check(estimator)
