"""The page for working through the alerts of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from raremetric.pages import to_html
from raremetric.table.explanation import Explanation, example_name, show_value
from raremetric.table.review import Review

N_SHOWN = 8  # columns of an alert that are shown at first
N_NAMED = 3  # columns named in the summary of an alert
EXAMPLES_NOTE = (
    "The columns on the right are the nearest training examples of each class under the metric "
    "with the largest weight, the nearest first. Values that are the same as in the row are gray."
)


def review_page(review: Review, command: str = "") -> str:
    """A standalone page of HTML with one entry per alert, for verdicts and notes.

    All texts in it are escaped. It names the command that writes the page again.
    """
    first = review.alerts[0]
    other, positive = review.class_names
    notes = [contributions_note(review.alerts, positive)]
    if first.examples:
        notes.append(EXAMPLES_NOTE)
    n_positive = f"{review.n_positive} row{'s' * (review.n_positive != 1)}"
    return to_html(
        "raremetric.table",
        "review.html",
        title=f"Review of {Path(review.source).name}: {review.target_name} = {positive}",
        overview=(
            f"{len(review.alerts)} of {review.n_rows} rows, the most likely first; the model "
            f"predicts {positive} for {n_positive}, from a probability of "
            f"{first.threshold:.3g}."
        ),
        details={"Command": command} if command else {},
        notes=notes,
        key=storage_key(review.source, review.target_name),
        labels={"yes": positive, "no": other},
        alerts=[(each, alert_key(each)) for each in review.alerts],
        n_shown=N_SHOWN,
        n_named=N_NAMED,
        example_name=example_name,
        show_value=show_value,
        download=f"{Path(review.source).name.split('.')[0]}-review.csv",
    )


def contributions_note(alerts: list[Explanation], positive: str) -> str:
    """What the contributions mean, and whether they are exact."""
    units = {each.unit for each in alerts}
    unit = units.pop() if len(units) == 1 else "score"
    how = (
        "They are exact Shapley values"
        if alerts[0].columns_exact
        else "They are Shapley values, estimated from random orders of the columns, with their "
        "standard errors"
    )
    return (
        f"How much the value of a column moves the {unit} of {positive}, compared with rows of the "
        f"training data. {how}; their sum is the difference between the {unit} of the row and the "
        "mean of these training rows."
    )


def alert_key(alert: Explanation) -> str:
    """A new model does not change it, but new values do: verdicts stay with what was judged."""
    values = sorted((each["column"], show_value(each["value"])) for each in alert.columns)
    return storage_key(alert.row, alert.id, values)


def storage_key(*parts: Any) -> str:
    """A name under which the browser keeps something, the same for the same parts."""
    return f"raremetric-review-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
