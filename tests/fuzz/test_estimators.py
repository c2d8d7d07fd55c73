"""Every estimator on generated tables: right, or refused in one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raremetric import (
    GMML,
    IML,
    IMLCV,
    ITML,
    LMNN,
    MLFP,
    BalancedDiscriminant,
    BoostedLeaves,
    Euclidean,
    ImportanceWeights,
    KernelLandmarks,
    MetricKNNClassifier,
    RareClassifier,
)
from tests.fuzz.cases import cases, n_cases
from tests.fuzz.properties import EXTRA, check


def one_of(values):
    return st.sampled_from(values)


IMLS = st.builds(
    IML,
    n_neighbors=one_of([1, 3, 30]),
    margin=one_of([0.0, 1.0, 100.0]),
    similar_weight=one_of([0.0, 0.5, 1.0]),
    regularization=one_of([0.0, 1e-3, 0.1, 10.0]),
    pairs=one_of(["neighbors", "neighbors", "random", "all"]),
    dissimilar=one_of(["refreshed", "fixed"]),
    set_weights=one_of(["balanced", "uniform", "inverse"]),
    solver=one_of(["auto", "auto", "auto", "lbfgs"]),
    n_components=one_of([None, None, 1]),
    init=one_of(["auto", "identity", "pca"]),
    max_iter=one_of([5, 30]),
    random_state=st.just(0),
)
ESTIMATORS = {
    "IML": IMLS,
    "IMLCV": st.builds(
        IMLCV,
        one_of([[{"margin": 1.0}, {"regularization": 0.0}], [{"dissimilar": "fixed"}]]),
        cv=st.just(2),
        n_neighbors=one_of([1, 3]),
        halving=st.booleans(),
        random_state=st.just(0),
    ),
    "LMNN": st.builds(
        LMNN,
        n_neighbors=one_of([1, 3]),
        push_weight=one_of([0.0, 0.5, 1.0]),
        n_components=one_of([None, 1]),
        init=one_of(["pca", "identity"]),
        max_iter=one_of([5, 50]),
    ),
    "ITML": st.builds(
        ITML,
        gamma=one_of([0.01, 1.0, 100.0]),
        n_pairs=one_of([None, 3]),
        bounds=one_of(["percentiles", "histogram", (1.0, 2.0)]),
        max_iter=one_of([5, 50]),
        random_state=st.just(0),
    ),
    "GMML": st.builds(
        GMML,
        t=one_of([0.0, 0.3, 0.5, 1.0]),
        pairs=one_of(["random", "neighbors"]),
        set_weights=one_of(["uniform", "balanced"]),
        random_state=st.just(0),
    ),
    "MLFP": st.builds(
        MLFP,
        n_neighbors=one_of([1, 3]),
        margin=one_of([0.0, 0.5]),
        regularization=one_of([0.0, 0.01, 1.0]),
        max_iter=one_of([5, 50]),
    ),
    "Euclidean": st.builds(Euclidean),
    "BalancedDiscriminant": st.builds(
        BalancedDiscriminant, one_of([1e-6, 0.1, 1.0]), one_of([1.0, 3.0, 1e6])
    ),
    "BoostedLeaves": st.builds(
        BoostedLeaves,
        one_of([1, 5]),
        learning_rate=one_of([0.1, 1.0]),
        max_leaves=one_of([2, 15]),
        min_child_weight=one_of([0.0, 1.0]),
        random_state=st.just(0),
    ),
    "ImportanceWeights": st.builds(
        ImportanceWeights, one_of([0.0, 0.5, 2.0]), n_estimators=st.just(2), random_state=st.just(0)
    ),
    "KernelLandmarks": st.builds(
        KernelLandmarks,
        one_of(["laplacian", "rbf"]),
        one_of([1e-3, 1.0, 1e3]),
        n_landmarks=one_of([1, 5, 100]),
        n_components=one_of([1, 100]),
        random_state=st.just(0),
    ),
    "MetricKNNClassifier": st.builds(
        MetricKNNClassifier,
        one_of([Euclidean(), BalancedDiscriminant(), IML(max_iter=10)]),
        one_of([1, 3, "auto"]),
        vote=one_of(["majority", "adjusted", "score"]),
        multiclass=one_of(["joint", "joint", "one_vs_rest"]),
        cv=st.just(2),
        random_state=st.just(0),
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_or_refused(name):
    @n_cases(300)
    @given(ESTIMATORS[name], cases(), st.sampled_from(EXTRA))
    def run(estimator, case, extra):
        check(estimator, case, extra)

    run()


# Three cheap metrics instead of all, and fewer cases: each fit is a cross-validation.
@pytest.mark.usefixtures("few_candidates")
def test_the_ensemble_is_fitted_or_refused():
    @n_cases(40, nightly=2000)
    @given(cases(max_rows=12), st.sampled_from(EXTRA))
    def run(case, extra):
        check(RareClassifier(1e-6, random_state=0), case, extra)

    run()
