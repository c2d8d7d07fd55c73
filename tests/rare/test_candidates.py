import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, Euclidean, KernelLandmarks
from raremetric.rare.candidates import (
    GROUP_WEIGHTS,
    Branch,
    branches,
    fit_neighborhoods,
    keep_learners,
)
from raremetric.validation import check_labels
from raremetric.voting import Reading
from tests.conftest import make_problem

SETTINGS = (BalancedDiscriminant(0.1, 3.0), BalancedDiscriminant(0.5, 1.0), Euclidean())
SCALED = (StandardScaler(),)
TRIED = [
    Branch("linear", "plain", SCALED, SETTINGS[2:]),
    Branch("importance, laplacian", "curved", (*SCALED, KernelLandmarks()), SETTINGS),
]


@pytest.fixture
def data():
    X, y = make_problem(0, n_samples=40)
    return 3 * X + 1, check_labels(y, "A test"), make_problem(1, n_samples=8)[0]


def test_every_group_has_a_voice_and_every_branch_a_name():
    tried = branches()
    assert {branch.group for branch in tried} == set(GROUP_WEIGHTS)
    assert len({branch.name for branch in tried}) == len(tried)


def test_a_neighborhood_holds_the_examples_as_its_pipeline_maps_them(data):
    X, labels, queries = data
    for hood, mapped in fit_neighborhoods(TRIED, X, labels, 0, queries):
        np.testing.assert_allclose(hood.Z, hood.pipeline.transform(X), atol=1e-9)
        np.testing.assert_allclose(mapped, hood.pipeline.transform(queries), atol=1e-9)


def test_learners_fitted_together_are_those_fitted_alone(data):
    X, labels, queries = data
    fitted = [hood for hood, _ in fit_neighborhoods(TRIED, X, labels, 0, queries)]
    for hood, template in zip(fitted, (*SETTINGS[2:], *SETTINGS), strict=True):
        Z = hood.pipeline[:-1].transform(X)
        alone = clone(template).fit(Z, labels.codes)
        np.testing.assert_allclose(hood.pipeline[-1].components_, alone.components_, atol=1e-9)
        assert hood.pipeline[-1].get_params() == template.get_params()


def test_common_steps_are_fitted_once(data):
    X, labels, queries = data
    hoods = [hood for hood, _ in fit_neighborhoods(TRIED, X, labels, 0, queries)]
    assert len({id(hood.pipeline[0]) for hood in hoods}) == 1
    assert len({id(hood.pipeline[1]) for hood in hoods[1:]}) == 1
    assert len({id(hood.pipeline[-1]) for hood in hoods}) == 4


def test_scores_speak_for_the_second_class(data):
    X, labels, _ = data
    hood, _ = next(iter(fit_neighborhoods(TRIED, X, labels, 0, X[:1])))
    inside = X[labels.codes == 1].mean(axis=0, keepdims=True)
    found = hood.neighbors(inside)
    second = [
        np.sort(
            np.linalg.norm(hood.Z[labels.codes == c] - hood.pipeline.transform(inside), axis=1)
        )[1]
        for c in (0, 1)
    ]
    np.testing.assert_allclose(
        hood.scores(found, [Reading(2)])[0], np.log(second[0]) - np.log(second[1])
    )


def test_only_chosen_learners_are_kept():
    kept = keep_learners(TRIED, [1, 3])
    assert [branch.name for branch in kept] == ["curved"]
    assert kept[0].learners == (SETTINGS[0], SETTINGS[2])
    assert [len(branch.learners) for branch in keep_learners(TRIED, [0, 2])] == [1, 1]
