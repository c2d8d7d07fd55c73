"""Everything that can be compared, by name or import path.

A new learner is one entry here, and its alias in ``table/__init__.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from raremetric.contenders.base import Contender
from raremetric.contenders.boosting import (
    BOOSTING_GRID,
    CATBOOST_DEFAULTS,
    CATBOOST_GRID,
    LIGHTGBM_DEFAULTS,
    LIGHTGBM_GRID,
    MAX_ROWS_OF_TREES,
    XGBOOST_GRID,
    BoostedTrees,
    CatBoosts,
    LightGBMs,
)
from raremetric.contenders.families import (
    FOREST_GRID,
    LOGISTIC_GRID,
    MAX_ROWS_OF_KERNEL,
    SVM_GRID,
    BalancedForests,
    KernelMachines,
    LogisticRegressions,
)
from raremetric.contenders.neighbor_vote import (
    IMLVote,
    LMNNVote,
    NeighborVote,
    gmml_candidates,
    iml_candidates,
    itml_candidates,
    lmnn_candidates,
    mlfp_candidates,
)
from raremetric.contenders.rare import MetricScore, Rare
from raremetric.contenders.scored import Scored, ScoredEstimator
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.gmml import GMML
from raremetric.learners.iml import IML
from raremetric.learners.itml import ITML
from raremetric.learners.lmnn import LMNN
from raremetric.learners.mlfp import MLFP
from raremetric.rare.policy import MAX_LEVELS
from raremetric.validation import check_option

_iml = IMLVote(name="IML", learner=IML, propose=iml_candidates)
_rare = Rare(name="RareClassifier")
_lmnn: dict[str, Any] = {"learner": LMNN, "propose": lmnn_candidates, "settings": {"max_iter": 100}}
_itml: dict[str, Any] = {
    "learner": ITML,
    "propose": itml_candidates,
    "settings": {"bounds": "histogram", "max_iter": 1000, "random_state": 1},
}
_gmml: dict[str, Any] = {
    "learner": GMML,
    "propose": gmml_candidates,
    "settings": {"random_state": 1},
}
_mlfp_settings = {"pos_label": 1, "max_iter": 100, "tol": 1e-2}
_alternatives = (
    Scored(
        name="logistic-regression",
        family=LogisticRegressions(),
        default_grid=LOGISTIC_GRID,
        title="logistic regression",
        alias="logistic",
    ),
    Scored(
        name="gradient-boosting",
        family=BoostedTrees(),
        default_grid=BOOSTING_GRID,
        default_max_samples=MAX_ROWS_OF_TREES,
        max_levels=MAX_LEVELS,
        title="gradient boosting",
        alias="boosting",
    ),
    Scored(
        name="balanced-forest",
        family=BalancedForests(),
        default_grid=FOREST_GRID,
        max_levels=MAX_LEVELS,
        title="balanced forest",
        alias="forest",
    ),
    Scored(
        name="SVM-rbf",
        family=KernelMachines("rbf"),
        default_grid=SVM_GRID,
        default_max_samples=MAX_ROWS_OF_KERNEL,
        title="SVM, RBF kernel",
    ),
    Scored(
        name="SVM-laplacian",
        family=KernelMachines("laplacian"),
        default_grid=SVM_GRID,
        default_max_samples=MAX_ROWS_OF_KERNEL,
        title="SVM, Laplacian kernel",
        alias="svm",
    ),
)
# With a large number of rounds and early stopping; of the extra "rivals", except for XGBoost.
_lightgbm, _catboost = (
    Scored(
        name="lightgbm",
        family=LightGBMs(),
        default_grid=LIGHTGBM_GRID,
        default_max_samples=MAX_ROWS_OF_TREES,
        max_levels=MAX_LEVELS,
        title="LightGBM",
    ),
    Scored(
        name="catboost",
        family=CatBoosts(),
        default_grid=CATBOOST_GRID,
        n_candidates=10,  # each takes several times as long as one of the others
        default_max_samples=MAX_ROWS_OF_TREES,
        max_levels=MAX_LEVELS,
        title="CatBoost",
    ),
)
_rivals = (
    Scored(
        name="xgboost",
        family=BoostedTrees(),
        default_grid=XGBOOST_GRID,
        default_max_samples=MAX_ROWS_OF_TREES,
        max_levels=MAX_LEVELS,
        title="XGBoost",
    ),
    _lightgbm,
    _lightgbm.variant("lightgbm-defaults", grid=LIGHTGBM_DEFAULTS, title="LightGBM, defaults"),
    _catboost,
    _catboost.variant("catboost-defaults", grid=CATBOOST_DEFAULTS, title="CatBoost, defaults"),
)

# In the order in which tables of results list them.
CONTENDERS: dict[str, Contender] = {
    contender.name: contender
    for contender in (
        # The votes of published studies.
        NeighborVote(name="Euclidean", learner=Euclidean),
        LMNNVote(name="LMNN", **_lmnn),
        NeighborVote(name="ITML", **_itml),
        NeighborVote(name="GMML", **_gmml),
        NeighborVote(name="MLFP", learner=MLFP, propose=mlfp_candidates, settings=_mlfp_settings),
        _iml.variant(
            "ML1", settings={"set_weights": "uniform", "pairs": "random", "random_state": 1}
        ),
        _iml.variant("ML2", settings={"set_weights": "uniform"}),
        _iml,
        _iml.variant("IML-reference", settings={"solver": "lbfgs", "init": "identity"}),
        _iml.variant("IML-30", n_candidates=30),
        # The same metrics with scores, a threshold and probabilities: for one's own table, too.
        MetricScore(
            name="Euclidean-score",
            learner=Euclidean,
            default_max_features=None,  # there is nothing to learn
            title="plain distance",
            alias="plain",
        ),
        MetricScore(name="LMNN-score", **_lmnn, step=4, title="LMNN", alias="lmnn"),
        MetricScore(name="ITML-score", **_itml, step=4, title="ITML", alias="itml"),
        MetricScore(name="GMML-score", **_gmml, step=4, title="GMML", alias="gmml"),
        MetricScore(
            name="IML-score", learner=IML, propose=iml_candidates, title="IML", alias="iml"
        ),
        *_alternatives,
        _rare.variant(
            "RareClassifier-fast",
            settings={"budget": "fast"},
            title="RareClassifier",
            alias="rare",
        ),
        _rare.variant("RareClassifier-thorough", settings={"budget": "thorough"}),
        *_rivals,
    )
}


def find_contender(name: str) -> Contender:
    """A method for one's own table by its name, or the import path of a user's own class.

    Its name is the short one, such as "iml", in upper or lower case; that in studies where there
    is no short one, such as "SVM-rbf"; or "mypackage.module:MyLearner".
    """
    if ":" in name:
        return custom_contender(name, for_table=True)
    known = {each.alias or each.name: each for each in CONTENDERS.values() if each.has_threshold}
    for each in CONTENDERS.values():
        if each.alias and name.lower() == each.name.lower() != each.alias:
            raise ValueError(f"Method {name!r} is called {each.alias!r} for one's own table.")
    return known.get(name.lower()) or known[check_option(name, "method", known)]


def make_contender(
    kind: str,
    name: str,
    settings: Mapping[str, Any] | None = None,
    grid: Mapping[str, Sequence] | None = None,
    n_candidates: int | None = None,
) -> Contender:
    """A contender of a known kind, or of a user's own class by its import path, with a name.

    Settings, grid and n_candidates replace those of the registered contender.
    """
    own: dict[str, Any] = {"settings": settings or {}, "grid": grid}
    own["n_candidates"] = n_candidates
    if ":" in kind:
        return custom_contender(kind, name=name, **own)
    kinds = {each.kind: each for each in CONTENDERS.values()}
    if kind not in kinds:
        raise ValueError(
            f"kind of learner {name!r} must be one of {', '.join(sorted(kinds, key=str.lower))}, "
            f"or an import path such as mypackage.module:MyLearner; got {kind!r}."
        )
    return kinds[kind].variant(name, **own)


def custom_contender(
    path: str, *, for_table: bool = False, name: str = "", **fields: Any
) -> Contender:
    """A contender from an import path such as ``"mypackage.module:MyLearner"``.

    A classifier is judged by its scores and gets a threshold, like `Scored`; a transformer is
    judged by the vote of the nearest neighbors in studies, like `NeighborVote`, and by scores of
    distances in one's own table, like `MetricScore`. Where no grid is given, its candidates are
    those of `own_candidates`. Without a name, it has that of the class.
    """
    estimator = load_class(path)
    name = name or estimator.__name__
    if hasattr(estimator, "predict"):
        return ScoredEstimator(name=name, kind=path, estimator=estimator, **fields)
    kind = MetricScore if for_table else NeighborVote
    return kind(name=name, kind=path, learner=estimator, **fields)


def load_class(path: str) -> type:
    """The class at an import path, if it has scikit-learn's interface."""
    module_name, _, name = path.partition(":")
    if not module_name or module_name.startswith(".") or not name:
        raise ValueError(f"{path!r} is not an import path such as mypackage.module:MyLearner.")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise ValueError(
            f"{path!r} cannot be imported: {error}. Is the module installed, or in the current "
            "directory?"
        ) from error
    found = getattr(module, name, None)
    if found is None:
        raise ValueError(f"{path!r} cannot be imported: module {module_name} has no {name!r}.")
    if not _is_estimator(found):
        raise ValueError(
            f"{path!r} is not an estimator class: it must have fit, get_params and set_params, and "
            "transform, or predict with decision_function or predict_proba."
        )
    return found


def _is_estimator(found: Any) -> bool:
    if not inspect.isclass(found):
        return False
    if not all(hasattr(found, name) for name in ("fit", "get_params", "set_params")):
        return False
    if hasattr(found, "predict"):
        return hasattr(found, "decision_function") or hasattr(found, "predict_proba")
    return hasattr(found, "transform")
