"""The methods that a table can be given to, each tuned within its training part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.classifier import MetricKNNClassifier
from raremetric.contenders import CONTENDERS, N_NEIGHBORS, RESAMPLING, resample
from raremetric.contenders.neighbor_vote import NeighborVote
from raremetric.extras import import_optional
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML
from raremetric.rare import RareClassifier
from raremetric.tuning import IMLCV
from raremetric.validation import check_option

N_CANDIDATES = 50  # settings of IML that race
EVERY = 4  # of the paper's 21 candidates for each of the other learners, every fourth


@dataclass(frozen=True)
class Setting:
    """What a method is built with.

    Parameters
    ----------
    resampling : {"none", "smote", "rus"}
        Of the training part, within each fold of the tuning.
    n_folds : int
        Folds of the tuning; the rare class must have as many examples.
    seed : int
    """

    resampling: str = "none"
    n_folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_option(self.resampling, "resampling", RESAMPLING)

    @property
    def folds(self) -> StratifiedKFold:
        """The folds of the tuning."""
        return StratifiedKFold(self.n_folds, shuffle=True, random_state=self.seed)


@dataclass(frozen=True)
class Method:
    """A way to tell the rare class, tuned by F1.

    Parameters
    ----------
    name : str
        As a user writes it.
    title : str
        As a table shows it.
    build : callable (Setting) -> estimator
        Takes encoded numbers, as they come, and 0/1 labels.
    has_neighbors : bool
        Whether neighbors decide, so that a decision can be explained by them.
    """

    name: str
    title: str
    build: Callable[[Setting], BaseEstimator]
    has_neighbors: bool = True


def find_method(name: str) -> Method:
    """A method by its name."""
    return METHODS[check_option(name, "method", METHODS)]


def _pipeline(setting: Setting, model: BaseEstimator) -> Pipeline:
    """Resample what is learned from, standardise by it, learn."""
    if setting.resampling == "none":
        return Pipeline([("scale", StandardScaler()), ("model", model)])
    steps = [("resample", _sampler(setting)), ("scale", StandardScaler()), ("model", model)]
    return import_optional("imblearn.pipeline").Pipeline(steps)


def _sampler(setting: Setting) -> BaseEstimator:
    return import_optional("imblearn").FunctionSampler(
        func=resample, kw_args={"resampling": setting.resampling}, validate=False
    )


def _searched(setting: Setting, model: BaseEstimator, grid: Any) -> GridSearchCV:
    return GridSearchCV(_pipeline(setting, model), grid, scoring="f1", cv=setting.folds)


def _neighbors(learner: BaseEstimator, vote: str, setting: Setting) -> MetricKNNClassifier:
    """The majority of three, or a score that is read off the distances as the folds advise."""
    if vote == "majority":
        return MetricKNNClassifier(learner, N_NEIGHBORS)
    tuned = {"cv": setting.n_folds, "random_state": setting.seed}
    return MetricKNNClassifier(learner, "auto", vote=vote, **tuned)


def _plain(setting: Setting) -> Pipeline:
    return _pipeline(setting, _neighbors(Euclidean(), "majority", setting))


def _iml(vote: str) -> Callable[[Setting], BaseEstimator]:
    def build(setting: Setting) -> BaseEstimator:
        if setting.resampling == "none":
            search = IMLCV(
                n_candidates=N_CANDIDATES, cv=setting.folds, halving=True, random_state=setting.seed
            )
            return _pipeline(setting, _neighbors(search, vote, setting))
        # Resampled examples must not be tested on: each fold is resampled by itself.
        drawn = CONTENDERS["IML"].candidates(setting.seed)[: N_CANDIDATES // 2]
        return _searched(setting, _neighbors(IML(), vote, setting), _grid(drawn))

    return build


def _rare(setting: Setting) -> BaseEstimator:
    """Tunes itself, and scales by itself."""
    model = RareClassifier(pos_label=1, random_state=setting.seed)
    if setting.resampling == "none":
        return model
    return import_optional("imblearn.pipeline").Pipeline(
        [("resample", _sampler(setting)), ("model", model)]
    )


def _learner(kind: str) -> Callable[[Setting], BaseEstimator]:
    def build(setting: Setting) -> BaseEstimator:
        contender = CONTENDERS[kind]
        assert isinstance(contender, NeighborVote)
        learner = contender.learner(**contender.settings)
        grid = _grid(contender.candidates(setting.seed)[::EVERY])
        return _searched(setting, _neighbors(learner, "majority", setting), grid)

    return build


def _grid(drawn: list) -> list[dict[str, list]]:
    return [
        {f"model__learner__{name}": [value] for name, value in candidate.params.items()}
        for candidate in drawn
    ]


def _logistic(setting: Setting) -> GridSearchCV:
    model = LogisticRegression(class_weight="balanced", max_iter=5000)
    return _searched(setting, model, {"model__C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]})


def _boosting(setting: Setting) -> GridSearchCV:
    model = HistGradientBoostingClassifier(class_weight="balanced", random_state=setting.seed)
    grid = {"model__learning_rate": [0.03, 0.1], "model__max_leaf_nodes": [7, 31]}
    return _searched(setting, model, grid)


METHODS = {
    method.name: method
    for method in (
        Method("plain", "plain distance", _plain),
        Method("iml", "IML", _iml("majority")),
        Method("iml-score", "IML, score vote", _iml("score")),
        Method("rare", "RareClassifier", _rare),
        Method("lmnn", "LMNN", _learner("LMNN")),
        Method("itml", "ITML", _learner("ITML")),
        Method("gmml", "GMML", _learner("GMML")),
        Method("logistic", "logistic regression", _logistic, has_neighbors=False),
        Method("boosting", "gradient boosting", _boosting, has_neighbors=False),
    )
}
