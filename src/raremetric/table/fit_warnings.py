"""What a user should know about the fit of a model, in part before it starts."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from raremetric.contenders import Contender, Tuned
from raremetric.files import quoted
from raremetric.table.notes import FEW_POSITIVES
from raremetric.validation import warn_user


def warn_limit(contender: Contender, n_rows: int) -> None:
    """Say that a method learns from fewer rows than there are by default, and how to change it."""
    limit = contender.default_max_samples
    if limit is None or limit >= n_rows:
        return
    vote = " All rows vote." if contender.has_neighbors else ""
    warn_user(
        f"{contender.title} learns from {limit} of the {n_rows} rows, drawn with as many of each "
        f"class as possible, to limit its time.{vote} For another number, use `max_samples` (on "
        "the command line `--max-rows`)."
    )


def warn_features(n_features: int, max_features: int) -> None:
    """Say that some features are selected, and how to change their number."""
    if n_features > max_features:
        warn_user(
            f"rare selects {max_features} of the {n_features} features, those whose distributions "
            "differ most between the classes, in each fold again, to save time. For another "
            "number, use `max_features` (on the command line `--max-features`)."
        )


def warn_few_positives(y: NDArray, table: Any) -> None:
    """Say that the quality is uncertain."""
    if y.sum() < FEW_POSITIVES:
        warn_user(
            f"Only {y.sum()} rows are {table.target_names[1]!r}. The quality of the model and its "
            "threshold are very uncertain."
        )


def warn_missed(tuned: Tuned, table: Any, scoring: Any) -> None:
    """Warn if no threshold has the minimum."""
    if tuned.quality is not None and tuned.quality.missed is not None:
        warn_user(
            f"No threshold for class {quoted(table.target_names[1])} meets scoring={scoring!r}. "
            "The threshold with the highest expected value is used; this value is "
            f"{tuned.quality.missed:.3g}."
        )


def warn_chance(tuned: Tuned, share: float) -> None:
    """Say so if the scores rank positives no higher than other rows."""
    found = {} if tuned.quality is None else tuned.quality.measures
    if found.get("average_precision", 1.0) <= share:
        warn_user(
            f"The model is no better than chance: its cross-validated average precision is "
            f"{found['average_precision']:.3f}, and the share of positive rows is {share:.3f}."
        )
