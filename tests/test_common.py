"""Every estimator against scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from raremetric import (
    IML,
    IMLCV,
    LMNN,
    BalancedDiscriminant,
    BoostedLeaves,
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
NEIGHBORS = (
    "sample_weight multiplies votes and held-out examples, as documented. A repeated row takes up "
    "two of the k neighbors, an example of weight 2 only one, so weighting and repeating differ."
)
FOREST = (
    "sample_weight multiplies the impurity, as documented. A repeated row is drawn separately into "
    "the bootstrap samples, and both copies can form a leaf of two."
)
FOLDS = (
    "sample_weight multiplies held-out examples and pairs, as documented. Copies of a repeated row "
    "can fall into different folds and are two neighbors. With weights, the check leaves only one "
    "row of a class, which RareClassifier refuses: a class needs two to hold one out."
)
THRESHOLD = (
    "predict follows the vote or the threshold. The calibrated probability is not 1/2 there. "
    "scikit-learn's own classifiers with a tuned threshold fail in the same way."
)
BOOSTING = (
    "sample_weight multiplies the loss, as documented. Copies of a repeated row are drawn "
    "separately into the subsample of a tree, and count separately in its histogram."
)
TARGETS = (
    "sample_weight multiplies the terms of an example, as documented. Copies of a repeated row "
    "would be its own target neighbors, and an impostor twice."
)
EXPECTED_TO_FAIL = {
    "BoostedLeaves": {
        "check_sample_weight_equivalence_on_dense_data": BOOSTING,
    },
    "IML": {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    },
    "IMLCV": {
        "check_sample_weight_equivalence_on_dense_data": FOLDS,
    },
    "ImportanceWeights": {
        "check_sample_weight_equivalence_on_dense_data": FOREST,
    },
    "LMNN": {
        "check_sample_weight_equivalence_on_dense_data": TARGETS,
    },
    "RareClassifier": {
        "check_sample_weight_equivalence_on_dense_data": FOLDS,
    },
}


def expected_failures(estimator):
    failures = dict(EXPECTED_TO_FAIL.get(type(estimator).__name__, {}))
    # Under the metric of IML, the default learner, the toy data are too well separated to differ.
    if isinstance(estimator, MetricKNNClassifier) and estimator.learner is not None:
        failures["check_sample_weight_equivalence_on_dense_data"] = NEIGHBORS
    thresholded = getattr(estimator, "vote", None) in ("adjusted", "score")
    if thresholded or isinstance(estimator, RareClassifier):
        failures["check_classifiers_train"] = THRESHOLD
    return failures


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
        LMNN(),
        BoostedLeaves(10),
        ImportanceWeights(n_estimators=5),
        KernelLandmarks(),
        KernelLandmarks("rbf", n_landmarks=10, n_components=5),
        MetricKNNClassifier(),
        MetricKNNClassifier(Euclidean(), multiclass="one_vs_rest"),
        MetricKNNClassifier(Euclidean(), "auto"),
        MetricKNNClassifier(Euclidean(), vote="adjusted", gamma=0.8, cv=2),
        MetricKNNClassifier(Euclidean(), vote="adjusted", multiclass="one_vs_rest", cv=2),
        MetricKNNClassifier(Euclidean(), "auto", vote="score", cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# The checks are about the estimator, not about what it tries: a few candidates will do.
@parametrize_with_checks(
    [RareClassifier(budget=1e-6, random_state=0)], expected_failed_checks=expected_failures
)
def test_sklearn_checks_of_the_ensemble(estimator, check, few_candidates):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [RareClassifier(budget=1e-6, random_state=0)], expected_failed_checks=expected_failures
)
def test_sklearn_checks_of_the_ensemble_with_all_candidates(estimator, check):
    check(estimator)
