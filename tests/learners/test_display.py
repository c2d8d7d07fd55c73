"""The HTML display of a learner: scikit-learn's diagram, and the weights of the metric below."""

import numpy as np
import pandas as pd
from sklearn import config_context

from raremetric import GMML, Euclidean
from raremetric.explain import feature_weights
from tests.conftest import make_problem


def test_before_fit_only_the_diagram_is_shown():
    html = GMML()._repr_html_()
    assert "sk-" in html
    assert "raremetric-weights" not in html


def test_after_fit_the_largest_weights_are_shown_by_name():
    X, y = make_problem(0)
    table = pd.DataFrame(X, columns=["<b>", "q", "r"])
    learner = GMML().fit(table, y)
    html = learner._repr_html_()
    (shown,) = html.split("raremetric-weights")[1:]
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    weights = feature_weights(learner)
    for weight in weights:
        assert f"{weight:.1%}" in shown
    names = np.array(["&lt;b&gt;", ">q<", ">r<"])[np.argsort(-weights)]
    assert sorted(names, key=shown.index) == names.tolist()
    assert learner._repr_mimebundle_()["text/html"].count("raremetric-weights") == 1


def test_only_the_largest_of_many_weights_are_shown():
    X, y = make_problem(0, n_features=14, n_samples=40)
    html = Euclidean().fit(X, y)._repr_html_()
    assert "14 features, rank 14 or less. The other 4 share 28.6%." in html
    assert html.count("width:100.0%") == 10


def test_the_display_option_of_scikit_learn_is_respected():
    learner = Euclidean().fit(*make_problem(0))
    with config_context(display="text"):
        assert not hasattr(learner, "_repr_html_")
        assert set(learner._repr_mimebundle_()) == {"text/plain"}
