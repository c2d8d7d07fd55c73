"""The model card: what is in a model, how good it is, and what it must not be used for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Required, TypedDict

from raremetric.files import brief
from raremetric.table.aims import describe_scoring, score_name
from raremetric.table.doubts import describe_dates

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

N_LEVELS_SHOWN = 8

LIMITS = (
    "Rows from another source than the training data: its probabilities are calibrated for the "
    "share of positives and the columns described here.",
    "Decisions about people without a review by a person who knows the reasons and can overrule "
    "the model.",
    "Statements about causes: a column that the model uses need not be a cause of the class.",
)
CONTAINS_ROWS = (
    "This file contains the rows of its training data. Share it only with those who may see these "
    "data."
)


class Training(TypedDict, total=False):
    """How a model was fitted, and the quality to expect."""

    rows: Required[int]  # of the table
    positive: Required[int]
    rows_used: Required[int]  # that can be neighbors; without neighbors, that were learned from
    chosen: Required[str]  # candidates, in words
    validation: Required[dict[str, float]]  # measures at the threshold; empty if not known
    score: float | None  # the value of what was maximized, and its standard error
    score_std: float | None
    classes: list[str]
    seed: int
    folds: str  # how they were made
    notes: list[str]
    weight: str | None  # column with the weights of the rows
    seconds: float
    files: int  # of a table of many files
    held_out: int  # rows that the quality was measured on, if there were enough


class Column(TypedDict, total=False):
    """What the training data holds in a column: see `summarize_columns`."""

    name: Required[str]
    kind: Required[str]  # "number", "date", "text" or "other"
    missing: Required[float]  # share of the rows
    min: float | str  # of a number or a date
    max: float | str
    levels: list[str]  # of a text
    once: float  # share of the rows whose level occurs once


def model_card(model: TableModel) -> dict[str, Any]:
    """Everything that `raremetric info` prints, as plain types."""
    return {
        "method": model.method,
        "target": model.target_name,
        "positive_class": model.class_names[1],
        "negative_class": model.class_names[0],
        "scoring": describe_scoring(model.scoring),
        "threshold": model.threshold,
        "threshold_fixed_by_user": model.fixed_threshold is not None,
        "training": model.training,
        "columns": model.columns,
        "id_column": model.id_name,
        "contains_ids": model.ids.dtype == object,
        "contains_training_rows": True,
        "versions": model.versions,
        "not_for": list(LIMITS),
    }


def describe_model(model: TableModel) -> list[str]:
    """What a model is, how it was fitted and how good it is, in one line each."""
    training = model.training
    weight, spread = training.get("weight"), training.get("score_std")
    n_rows, n_positive = training["rows"], training["positive"]
    used = "can be neighbors" if model.has_neighbors else "were used"
    how = "Held-out" if "held_out" in training else "Cross-validated"
    score = "not known" if training.get("score") is None else f"{training['score']:.3f}"
    return [
        f"Method: {model.method} ({training['chosen']})",
        f"Predicts: {_code(model.class_names[1])} against {_code(model.class_names[0])}",
        f"Training data: {n_rows} rows, {n_positive} positive ({n_positive / n_rows:.1%}); "
        f"{training['rows_used']} rows {used}",
        f"Aim: {describe_scoring(model.scoring)}",
        f"Threshold: {model.threshold:.4g}"
        + (" (chosen by the user)" if model.fixed_threshold is not None else ""),
        f"{how} {score_name(model.scoring)}: {score}"
        + ("" if spread is None else f" ± {spread:.3f}"),
        f"Folds of the cross-validation: {training.get('folds', 'stratified')}",
        *([f"Weights of the rows: {_code(weight)}, also in all measures"] if weight else []),
        *(f"Expected {each}" for each in _measures(training["validation"])),
        f"Names of the training rows: {'included' if model.ids.dtype == object else 'no'}",
    ]


def _measures(found: dict[str, float]) -> list[str]:
    """Each measure in words, with its standard error if it is known."""
    names, lines = {"f1": "F1", "alerts_per_1000": "alerts per 1000 rows"}, []
    for name, value in found.items():
        if not name.endswith("_std"):
            error = f" ± {found[f'{name}_std']:.2g}" if f"{name}_std" in found else ""
            digits = ".0f" if value >= 100 else ".3g"
            lines.append(f"{names.get(name, name.replace('_', ' '))}: {value:{digits}}{error}")
    return lines


def card_markdown(model: TableModel) -> str:
    """The model card as Markdown."""
    versions = (f"{name} {number}" for name, number in model.versions.items())
    lines = [
        f"# Model of {_code(model.target_name)}",
        "",
        *(f"- {line}" for line in describe_model(model)),
        *(f"- Note: {sentence}" for sentence in model.training.get("notes", [])),
        f"- Versions: {', '.join(versions)}",
        "",
        "## Columns",
        "",
        "| column | kind | values | missing |",
        "|---|---|---|---|",
        *(
            f"| {_code(each['name'])} | {each['kind']} | {describe_values(each)} "
            f"| {each['missing']:.1%} |"
            for each in model.columns
        ),
        "",
        "## Do not use it for",
        "",
        *(f"- {text}" for text in LIMITS),
        "",
        CONTAINS_ROWS,
        "",
    ]
    return "\n".join(lines)


def describe_values(column: Column) -> str:
    """The range of a number or a date, or the levels of a text."""
    if column["kind"] == "number":
        return f"{column['min']:.6g} to {column['max']:.6g}"
    if column["kind"] == "date":
        return describe_dates(column)
    levels = column.get("levels", [])
    more = f" and {len(levels) - N_LEVELS_SHOWN} others" if len(levels) > N_LEVELS_SHOWN else ""
    return ", ".join(map(_code, levels[:N_LEVELS_SHOWN])) + more


def _code(text: str) -> str:
    """Text of the user as code in Markdown, on one line of a table."""
    clean = brief(text).replace("`", "'").replace("|", "\\|")
    return f"`{clean}`"
