"""What every contender offers: candidates to choose from, a fit, and answers to queries."""

from __future__ import annotations

import inspect
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from raremetric.contenders.resampling import RESAMPLING, check_resamplings
from raremetric.performance import OnProgress
from raremetric.selection import Folds, Quality
from raremetric.validation import check_option

BLOCK = 4096  # queries that are answered at a time; bounds the memory for distances


class Candidate(NamedTuple):
    """A setting to try."""

    name: str  # as the authors' program prints it; decides between equal scores
    params: dict[str, Any]


class Answer(NamedTuple):
    """The predictions for some queries."""

    predicted: NDArray  # 0 or 1 for each query
    scores: NDArray  # larger for more likely positives


class TuningOptions(NamedTuple):
    """How a contender is tuned and fitted."""

    seed: int  # for everything random
    # Rows to learn from and to validate on. If there are none, the contender makes its own,
    # which are stratified, as in published studies: copies of a row may be in different folds.
    # Validation parts may be repeated, or not contain all rows.
    folds: Folds | None = None
    # What these own folds keep together, see `TrainingData`; None for all rows separate.
    groups: NDArray | None = None
    copies: NDArray | None = None
    resampling: str = "none"  # "smote" or "rus", of the rows that are learned from
    scoring: Any = "f1"  # what to maximize: see `RareClassifier`
    threshold: float | None = None  # if it is given; None to choose the best for ``scoring``
    # Maximum number of rows to learn from. From more rows, the same number is drawn from each
    # class; a class with fewer rows keeps all. Thresholds and probabilities are those for all rows.
    max_samples: int | None = None
    # Maximum number of features that a metric is learned from; None for all, or for the default of
    # RareClassifier.
    max_features: int | None = None
    weights: NDArray | None = None  # of the rows, above zero; None for all the same
    # Features of the rows to be classified, if they are known. Only transductive methods, whose
    # ``fit`` has a parameter for them, look at them.
    queries: NDArray | None = None
    on_progress: OnProgress | None = None


class Tuned(NamedTuple):
    """A fitted model and how it was chosen."""

    model: Any  # a scikit-learn classifier of raw numbers with the classes 0 and 1
    chosen: dict[str, Any]  # the chosen setting, or the members of an average
    validation: dict[str, float]  # name of a candidate -> its F1; empty if there was no choice
    n_candidates: int = 1  # number of settings that were tried
    quality: Quality | None = None  # None if it is not known
    words: str = ""  # what was chosen

    def answer(self, queries: NDArray) -> Answer:
        """Classify the queries."""
        predicted = [self.model.predict(block) for block in _blocks(queries)]
        scores = [positive_scores(self.model, block) for block in _blocks(queries)]
        return Answer(np.concatenate(predicted), np.concatenate(scores))

    def probabilities(self, queries: NDArray) -> NDArray:
        """Probability of the positive class, of a contender that has a threshold."""
        p = [self.model.predict_proba(block)[:, 1] for block in _blocks(queries)]
        return np.concatenate(p)


def _blocks(queries: NDArray) -> Iterator[NDArray]:
    """Copies of parts of the queries, because a model may change its input."""
    return (queries[i : i + BLOCK].copy() for i in range(0, len(queries), BLOCK))


@dataclass(frozen=True, kw_only=True)
class Contender(ABC):
    """A method that can be compared with others: how it is tuned, fitted and applied.

    Parameters
    ----------
    name : str
        Its name in studies.
    kind : str
        What a study file calls this way of learning; the name if empty. Variants of one method
        (``ML1`` and ``ML2`` of ``IML``) have the same kind.
    settings : dict
        Fixed arguments of its class.
    grid : dict of lists or None
        Candidates; None for those that the kind has by default.
    n_candidates : int or None
        How many candidates to draw; None for the default number, or the whole grid.
    title : str
        Its name in tables of results; the name if empty.
    alias : str
        A short name for the command line; contenders without one are for studies only.
    default_max_samples : int or None
        Maximum number of rows that a model of the user's table learns from unless the user gives
        another one; None for all rows, or for the default of the class.
    default_max_features : int or None
        The same for the features, of which a method selects some; None if it selects none.
    max_levels : int
        That of `TableEncoder` for its features.
    """

    name: str
    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence] | None = None
    n_candidates: int | None = None
    title: str = field(default="", compare=False)
    alias: str = field(default="", compare=False)
    default_max_samples: int | None = field(default=None, compare=False)
    default_max_features: int | None = field(default=None, compare=False)
    max_levels: int = field(default=20, compare=False)

    n_for_table: ClassVar[int | None] = None  # candidates of a model of the user's table; all
    has_neighbors: ClassVar[bool]  # whether a decision can be explained by its neighbors
    has_threshold: ClassVar[bool]  # whether it tunes a threshold instead of resampling, always

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or self.name)
        object.__setattr__(self, "title", self.title or self.name)
        self._check_settings()

    @property
    def package(self) -> str:
        """The optional package that it needs; empty if none."""
        return ""

    def variant(self, name: str, **fields: Any) -> Self:
        """The same kind of contender with other settings, candidates, title and alias."""
        own: dict[str, Any] = {
            "settings": {},
            "grid": None,
            "n_candidates": None,
            "title": "",
            "alias": "",
        }
        return replace(self, name=name, **own | fields)

    def candidates(self, split: int) -> list[Candidate]:
        """The settings to choose from on split number ``split``."""
        if self.grid is not None:
            return grid_candidates(self.grid, self.n_candidates, split)
        return self._default_candidates(split)

    @abstractmethod
    def _default_candidates(self, split: int) -> list[Candidate]:
        """Candidates where no grid was given."""

    @abstractmethod
    def _check_settings(self) -> None:
        """Refuse settings that the class does not know."""

    def fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, *, seed: int, **options: Any
    ) -> Tuned:
        """Choose among the candidates, fit on all rows, and choose a threshold if it has one.

        The features need not be scaled, ``y`` holds 0 and 1, and ``seed`` is for everything random,
        including a contender's own folds. Options are the other fields of `TuningOptions`.
        """
        how = TuningOptions(seed, **options)
        check_option(how.resampling, "resampling", RESAMPLING)
        check_resamplings([self.name] if self.has_threshold else [], [how.resampling])
        return self._fit(candidates, X, y, how)

    @abstractmethod
    def _fit(
        self, candidates: Sequence[Candidate], X: NDArray, y: NDArray, how: TuningOptions
    ) -> Tuned:
        """What `fit` does."""

    @property
    def ignores_weights(self) -> str:
        """A sentence if a part of the method cannot take weights; otherwise empty."""
        return ""


def grid_candidates(
    grid: Mapping[str, Sequence], n_candidates: int | None, split: int
) -> list[Candidate]:
    """All candidates of a grid, or some of them, drawn by the number of the split."""
    tried = [Candidate(str(params), params) for params in ParameterGrid(dict(grid))]
    if n_candidates is not None and n_candidates < len(tried):
        random.Random(split).shuffle(tried)
        tried = tried[:n_candidates]
    return tried


def own_candidates(estimator: type, split: int) -> list[Candidate]:
    """What a class offers by its static method ``candidates(split)``; else its defaults alone."""
    offered = getattr(estimator, "candidates", None)
    tried = [{}] if offered is None else offered(split)
    return [Candidate(str(params), params) for params in tried]


def make_learner(kind: type, parameters: Mapping[str, Any], seed: int) -> Any:
    """A transformer with parameters; seeded, if it has an open random_state."""
    learner = kind(**parameters)
    if learner.get_params().get("random_state", 0) is None:
        learner.set_params(random_state=seed)
    return learner


def describe_params(params: Mapping[str, Any]) -> str:
    """A setting in words."""
    shown = (
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in params.items()
    )
    return ", ".join(shown) or "the default settings"


def positive_scores(model: Any, X: NDArray) -> NDArray:
    """Scores of a fitted classifier, larger for more likely positives."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)[:, 1]
    raise ValueError(
        f"{type(model).__name__} has neither decision_function nor predict_proba with these "
        "settings: it gives no scores to choose a threshold on."
    )


def check_arguments(
    estimator: type, settings: Mapping[str, Any], grid: Iterable[str] | None, contender: str
) -> None:
    """Raise an error if a class cannot be created with the settings, or lacks a grid parameter."""
    owner, parameters = estimator.__name__, inspect.signature(estimator).parameters
    if all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        refuse_unknown(settings, parameters, "settings", contender, owner)
    try:
        made = estimator(**settings)
    except TypeError as error:
        given = ", ".join(sorted(settings)) or "no settings"
        raise ValueError(
            f"Learner {contender!r} cannot be created with {given}: {error}. All required "
            f"arguments of {owner} must be given as settings."
        ) from error
    refuse_unknown(grid or (), made.get_params(), "grid parameters", contender, owner)


def refuse_unknown(
    names: Iterable[str], known: Iterable[str], what: str, contender: str, owner: str
) -> None:
    """Raise an error if a contender was given parameters that its class does not have."""
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(
            f"Learner {contender!r} has the unknown {what} {', '.join(unknown)}; {owner} takes "
            f"{', '.join(sorted(known)) or 'none'}."
        )
