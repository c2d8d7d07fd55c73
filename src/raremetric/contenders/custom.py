"""A user's own class as a contender, by its import path."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from raremetric.contenders.alternatives import Classifiers
from raremetric.contenders.base import Candidate, Contender, grid_candidates, refuse_unknown
from raremetric.contenders.neighbor_vote import NeighborVote
from raremetric.contenders.scored import AveragedClassifier, Scored, Settings


@dataclass(frozen=True, kw_only=True)
class ScoredEstimator(Scored):
    """Any classifier with scikit-learn's interface, tuned like the alternatives.

    Parameters
    ----------
    estimator : type
        Class of the classifier; ``settings`` are its arguments.
    """

    family: Any = field(default=None, compare=False)
    estimator: type = field(compare=False)

    def _check_settings(self) -> None:
        owner = self.estimator.__name__
        known = inspect.signature(self.estimator).parameters
        refuse_unknown(self.settings, known, "settings", self.name, owner)
        if self.grid is not None:
            names = self.estimator(**self.settings).get_params()
            refuse_unknown(self.grid, names, "grid parameters", self.name, owner)

    def _default_candidates(self, split: int) -> list[Candidate]:
        return grid_candidates({}, None, split)

    def _model(self, settings: Settings, **options: Any) -> AveragedClassifier:
        family = Classifiers(self.estimator(**self.settings))
        return AveragedClassifier(family, settings, **options)


def custom_contender(path: str) -> Contender:
    """A contender from an import path such as ``"mypackage.module:MyLearner"``.

    A classifier is judged by its scores and gets a threshold, like `Scored`; a transformer is
    judged by the vote of the nearest neighbors, like `NeighborVote`.
    """
    estimator = load_class(path)
    name = estimator.__name__
    if hasattr(estimator, "predict"):
        return ScoredEstimator(name=name, kind=path, estimator=estimator)
    return NeighborVote(name=name, kind=path, learner=estimator)


def load_class(path: str) -> type:
    """The class at an import path, if it has scikit-learn's interface."""
    module_name, _, name = path.partition(":")
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
