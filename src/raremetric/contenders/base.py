"""What every contender offers: candidates to choose from, a fit, and answers to queries."""

from __future__ import annotations

import inspect
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from raremetric.extras import import_optional
from raremetric.features.landmarks import draw_evenly
from raremetric.validation import check_option

RESAMPLING = ("none", "smote", "rus")
RESAMPLING_SEED = 42
BUDGETS = ("full", "quick")
BLOCK = 4096  # queries that are answered at a time; bounds the memory for distances

Folds = Sequence[tuple[NDArray, NDArray]]  # rows to learn from and rows to validate on


class Candidate(NamedTuple):
    """A setting to try."""

    name: str  # as the authors' program prints it; decides between equal scores
    params: dict[str, Any]


class Answer(NamedTuple):
    """The predictions for some queries."""

    predicted: NDArray  # 0 or 1 for each query
    scores: NDArray  # larger for more likely positives


class Tuned(NamedTuple):
    """A fitted model and how it was chosen."""

    model: Any  # a scikit-learn classifier of raw numbers with the classes 0 and 1
    chosen: dict[str, Any]  # the chosen setting, or the members of an average
    validation: dict[str, float]  # name of a candidate -> its F1; empty if there was no choice
    n_candidates: int = 1  # number of settings that were tried

    def answer(self, queries: NDArray) -> Answer:
        """Classify the queries."""
        blocks = [queries[i : i + BLOCK] for i in range(0, len(queries), BLOCK)] or [queries]
        predicted = [self.model.predict(block.copy()) for block in blocks]
        scores = [positive_scores(self.model, block.copy()) for block in blocks]
        return Answer(np.concatenate(predicted), np.concatenate(scores))


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
    budget : {"full", "quick"}
        With "quick", fewer candidates are tried, in part by successive halving: see the
        subclasses.
    title : str
        Its name in tables of results; the name if empty.
    alias : str
        A short name for the command line; contenders without one are for studies only.
    """

    name: str
    kind: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence] | None = None
    n_candidates: int | None = None
    budget: str = "full"
    title: str = field(default="", compare=False)
    alias: str = field(default="", compare=False)

    has_neighbors: ClassVar[bool]  # whether a decision can be explained by its neighbors
    has_threshold: ClassVar[bool]  # whether it tunes a threshold instead of resampling

    def __post_init__(self) -> None:
        check_option(self.budget, "budget", BUDGETS)
        object.__setattr__(self, "kind", self.kind or self.name)
        object.__setattr__(self, "title", self.title or self.name)
        self._check_settings()

    def variant(
        self,
        name: str,
        settings: Mapping[str, Any] | None = None,
        grid: Mapping[str, Sequence] | None = None,
        n_candidates: int | None = None,
        *,
        title: str = "",
        alias: str = "",
    ) -> Self:
        """The same kind of contender with other settings and candidates."""
        return replace(
            self,
            name=name,
            settings=settings or {},
            grid=grid,
            n_candidates=n_candidates,
            title=title,
            alias=alias,
        )

    def with_budget(self, budget: str) -> Self:
        """The same contender with another budget."""
        return replace(self, budget=budget)

    def candidates(self, split: int) -> list[Candidate]:
        """The settings to choose from on split number ``split``."""
        if self.grid is not None:
            tried = grid_candidates(self.grid, self.n_candidates, split)
        else:
            tried = self._default_candidates(split)
        return self._shorten(tried) if self.budget == "quick" else tried

    @abstractmethod
    def _default_candidates(self, split: int) -> list[Candidate]:
        """Candidates where no grid was given."""

    def _shorten(self, tried: list[Candidate]) -> list[Candidate]:
        """The candidates for a quick budget."""
        return tried

    @abstractmethod
    def _check_settings(self) -> None:
        """Refuse settings that the class does not know."""

    @abstractmethod
    def fit(
        self,
        candidates: Sequence[Candidate],
        X: NDArray,
        y: NDArray,
        *,
        folds: Folds,
        seed: int,
        resampling: str = "none",
        scoring: str = "f1",
        max_rows: int | None = None,
    ) -> Tuned:
        """Choose among the candidates and fit on all rows.

        Parameters
        ----------
        candidates : sequence of Candidate
        X : ndarray of shape (n_samples, n_features)
            Numbers that need not be scaled.
        y : ndarray of shape (n_samples,)
            0 or 1.
        folds : sequence of (train, validation)
            Ignored by contenders that make their own folds.
        seed : int
            For everything random, including a contender's own folds.
        resampling : {"none", "smote", "rus"}
            Of the rows that are learned from.
        scoring : str
            What to maximize: see `RareClassifier`. Contenders without a threshold maximize F1.
        max_rows : int or None
            Maximum number of rows to learn from. From more rows, the same number is drawn from
            each class; a class with fewer rows keeps all of them. Thresholds and probabilities
            are those for all rows.
        """


def grid_candidates(
    grid: Mapping[str, Sequence], n_candidates: int | None, split: int
) -> list[Candidate]:
    """All candidates of a grid, or some of them, drawn by the number of the split."""
    tried = [Candidate(str(params), params) for params in ParameterGrid(dict(grid))]
    if n_candidates is not None and n_candidates < len(tried):
        random.Random(split).shuffle(tried)
        tried = tried[:n_candidates]
    return tried


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


def draw_training_rows(y: NDArray, max_rows: int | None, seed: int) -> NDArray[np.int64]:
    """Sorted rows to learn from: all, or the same number from each class as far as it has them."""
    limit = len(y) if max_rows is None else max_rows
    return draw_evenly(len(y), y, limit, np.random.RandomState(seed))


def resample(X: NDArray, y: NDArray, resampling: str) -> tuple[NDArray, NDArray]:
    """Over- or under-sample examples until both classes have the same size.

    Parameters
    ----------
    X, y : ndarray
        Examples with the classes 0 and 1.
    resampling : {"none", "smote", "rus"}
        "rus" is random under-sampling.
    """
    check_option(resampling, "resampling", RESAMPLING)
    if resampling == "none":
        return X, y
    if resampling == "rus":
        under = import_optional("imblearn.under_sampling", "Under-sampling")
        return under.RandomUnderSampler(random_state=RESAMPLING_SEED).fit_resample(X, y)
    n_minority = int(np.bincount(y).min())
    if n_minority < 2:
        raise ValueError(
            f"SMOTE needs two minority examples to draw a line between; there is {n_minority}."
        )
    over = import_optional("imblearn.over_sampling", "SMOTE")
    smote = over.SMOTE(random_state=RESAMPLING_SEED, k_neighbors=min(5, n_minority - 1))
    return smote.fit_resample(X, y)
