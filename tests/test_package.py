"""What the package promises as a whole."""

import inspect
import subprocess
import sys

import pytest

import raremetric
from raremetric import IMLCV
from raremetric.learners.base import MetricLearner
from tests.conftest import make_problem


def test_public_names():
    for name in raremetric.__all__:
        assert getattr(raremetric, name) is not None
    with pytest.raises(AttributeError, match=r"no attribute 'NotThere'"):
        raremetric.NotThere  # noqa: B018


def test_importing_does_not_import_numba_or_the_extras():
    code = (
        "import sys, raremetric; "
        "heavy = {'numba', 'matplotlib', 'imblearn', 'typer', 'raremetric.datasets'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def public_estimators():
    return [
        value for name in raremetric.__all__ if inspect.isclass(value := getattr(raremetric, name))
    ]


@pytest.mark.parametrize("estimator", public_estimators())
def test_every_parameter_and_attribute_is_documented(estimator):
    document = inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert f"\n{parameter} : " in document, f"{estimator.__name__}: {parameter}"
    fitted = estimator().fit(*make_problem(0, n_samples=40))
    public = [name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")]
    for attribute in public:
        assert f"\n{attribute} : " in document, f"{estimator.__name__}: {attribute}"
    if issubclass(estimator, MetricLearner):
        assert {"components_", "n_features_in_", "classes_"} <= set(public)
        assert ("n_iter_" in public) == ("max_iter" in fitted.get_params() or estimator is IMLCV)
