"""What to maximize: from the text of an option, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from raremetric.selection import check_aim
from raremetric.validation import check_option


def check_scoring(scoring: Any) -> Any:
    """What to maximize, as `RareClassifier` takes it; costs can be given as text."""
    scoring = parse_scoring(scoring) if isinstance(scoring, str) else np.asarray(scoring).tolist()
    check_aim(scoring)
    return scoring


def parse_scoring(text: str) -> Any:
    """What to maximize, as `RareClassifier` takes it, from the text of an option.

    A name such as "f1", or costs such as "cost:fp=1,fn=20"; ``tn`` and ``tp`` are 0 by default.
    """
    if not text.startswith("cost:"):
        return text
    costs = {"tn": 0.0, "fp": 1.0, "fn": 1.0, "tp": 0.0}
    for part in text.removeprefix("cost:").split(","):
        name, _, value = part.partition("=")
        try:
            costs[check_option(name.strip(), "cost", costs)] = float(value)
        except ValueError as error:
            raise ValueError(
                f"Costs must be given like 'cost:fp=1,fn=20'; got {text!r}."
            ) from error
    return [[costs["tn"], costs["fp"]], [costs["fn"], costs["tp"]]]


class Minimum(NamedTuple):
    """An aim with a minimum."""

    name: str  # "precision" or "recall"
    value: float

    @property
    def maximized(self) -> str:
        """The other one of precision and recall."""
        return "recall" if self.name == "precision" else "precision"


def minimum_of(scoring: Any) -> Minimum | None:
    """The minimum of an aim such as "precision>=0.8"; None if it has none."""
    if not isinstance(scoring, str) or ">=" not in scoring:
        return None
    name, _, value = scoring.partition(">=")
    return Minimum(name.strip(), float(value))


def describe_scoring(scoring: Any) -> str:
    """What was maximized, in words."""
    if minimum := minimum_of(scoring):
        return f"{minimum.maximized} with {scoring}"
    if isinstance(scoring, str):
        return scoring
    (tn, fp), (fn, tp) = scoring
    return f"negative cost per row (tn={tn:g}, fp={fp:g}, fn={fn:g}, tp={tp:g})"


def quality_figures(
    scoring: Any, score: float, spread: float | None, measures: Mapping[str, float]
) -> Any:
    """What a model records of its expected quality: the score is the value of what was maximized.

    For the average precision, a classifier reports the F1 at its threshold, which is not that.
    """
    if scoring == "average_precision":
        score, spread = measures["average_precision"], None
    return {
        "score": float(score),
        "score_std": None if spread is None else float(spread),
        "validation": {name: float(value) for name, value in measures.items()},
    }


def unmet_minimum(
    scoring: Any, measures: Mapping[str, float], kind: str = "cross-validated"
) -> list[str]:
    """A sentence if a precision or recall has a minimum but is below it, else nothing.

    The threshold is chosen by the expected value, so that this can happen with every threshold.
    ``kind`` says on which rows it was measured.
    """
    minimum = minimum_of(scoring)
    if minimum is None:
        return []
    value = measures.get(minimum.name, 1.0)
    if value >= minimum.value:
        return []
    return [
        f"The {kind} {minimum.name} at the threshold is {value:.3g}, below the minimum of "
        f"{minimum.value:g}."
    ]
