"""What to maximize: from the text of an option, and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def describe_scoring(scoring: Any) -> str:
    """What was maximized, in words."""
    if isinstance(scoring, str):
        maximized = {"precision": "recall", "recall": "precision"}.get(
            scoring.split(">")[0].strip()
        )
        return scoring if maximized is None else f"{maximized} with {scoring}"
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
    if not isinstance(scoring, str) or ">=" not in scoring:
        return []
    name, _, minimum = scoring.partition(">=")
    value = measures.get(name.strip(), 1.0)
    if value >= float(minimum):
        return []
    return [
        f"The {kind} {name.strip()} at the threshold is {value:.3g}, below the minimum of "
        f"{float(minimum):g}."
    ]
