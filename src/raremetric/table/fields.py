"""The fields of a model that was loaded: their types, lengths and values."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from raremetric.encoding import TableEncoder
from raremetric.selection import check_aim
from raremetric.table.aims import describe_scoring

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

Check = Callable[[Any], bool]


def check_fields(model: TableModel) -> None:
    """Raise an error with one sentence if a field of a model is not what the commands expect."""
    for name, (check, expected) in {**ARRAYS, **OTHERS}.items():
        value = getattr(model, name, None)
        try:
            is_valid = check(model) if name in ARRAYS else check(value)
        except Exception:  # the value can be anything
            is_valid = False
        if not is_valid:
            found = " ".join(short_repr(value).split())
            raise ValueError(f"{name!r} of the model is {found}, but must be {expected}.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and int(value) >= 0


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _each(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _table(check: Check) -> Check:
    return lambda value: (
        isinstance(value, dict) and all(map(_is_text, value)) and all(map(check, value.values()))
    )


def _is_array(value: Any, shape: tuple[int, ...], kinds: str) -> bool:
    return type(value) is np.ndarray and value.shape == shape and value.dtype.kind in kinds


def _is_pipeline(model: TableModel) -> bool:
    _, encoder = model.pipeline.steps[0]
    return (
        isinstance(model.pipeline, Pipeline)
        and len(model.pipeline) == 2
        and isinstance(encoder, TableEncoder)
    )


def _has_rows(model: TableModel) -> bool:
    encoder = model.encoder
    return (
        isinstance(model.data, pd.DataFrame)
        and model.data.columns.tolist() == encoder.feature_names_in_.tolist()
        and len(model.data) > 0
        and bool(np.isfinite(encoder.transform(model.data)).all())
    )


def _has_ids(model: TableModel) -> bool:
    named = _is_array(model.ids, (len(model.data),), "O") and all(map(_is_text, model.ids))
    return named or _is_array(model.ids, (len(model.data),), "i")


def _has_columns(model: TableModel) -> bool:
    known = set(model.encoder.feature_names_in_)
    return isinstance(model.columns, list) and all(
        each["name"] in known
        and _is_number(each["missing"])
        and _is_number(each.get("once", 1.0))
        and KINDS[each["kind"]](each)
        for each in model.columns
    )


def _is_scoring(value: Any) -> bool:
    check_aim(value)
    return isinstance(value, str | list) and bool(describe_scoring(value))


def _is_training(value: Any) -> bool:
    return isinstance(value, dict) and all(
        check(value[name]) for name, check in TRAINING.items() if name in value or name in REQUIRED
    )


KINDS: dict[str, Check] = {
    "number": lambda column: _is_number(column["min"]) and _is_number(column["max"]),
    "date": lambda column: bool(
        np.array([column["min"], column["max"]], dtype="datetime64[us]").size
        and _is_text(column["min"])
        and _is_text(column["max"])
    ),
    "text": lambda column: _each(_is_text)(column["levels"]),
    "other": lambda column: True,
}
TRAINING: dict[str, Check] = {
    "rows": lambda value: _is_count(value) and value > 0,
    "positive": _is_count,
    "rows_used": _is_count,
    "validation": _table(_is_number),
    "chosen": _is_text,
    "score": _optional(_is_number),
    "score_std": _optional(_is_number),
    "classes": _each(_is_text),
    "seed": _optional(_is_number),
    "folds": _is_text,
    "notes": _each(_is_text),
    "weight": _optional(_is_text),
    "seconds": _is_number,
    "files": _is_count,
    "held_out": _is_count,
}
REQUIRED = ("rows", "positive", "rows_used", "validation", "chosen")  # in the card of a model

ARRAYS: dict[str, tuple[Check, str]] = {  # checks of the model, because lengths must agree
    "pipeline": (_is_pipeline, "a pipeline of a TableEncoder and a classifier"),
    "data": (_has_rows, "the training rows, with all columns of the encoder"),
    "y": (
        lambda model: (
            _is_array(model.y, (len(model.data),), "i") and {*np.unique(model.y)} <= {0, 1}
        ),
        "an array with 0 or 1 for each row",
    ),
    "ids": (_has_ids, "an array with a text or a number for each row"),
    "columns": (_has_columns, "a list with a summary of each column"),
}
OTHERS: dict[str, tuple[Check, str]] = {
    "method": (_is_text, "the name of a method"),
    "id_name": (_optional(_is_text), "the name of a column, or None"),
    "target_name": (_is_text, "the name of a column"),
    "class_names": (lambda value: _each(_is_text)(value) and len(value) == 2, "two names"),
    "versions": (_table(_is_text), "a dict with versions of packages"),
    "scoring": (_is_scoring, "what the model maximizes, such as 'f1'"),
    "fixed_threshold": (
        _optional(lambda value: _is_number(value) and 0 <= value <= 1),
        "a number from 0 to 1, or None",
    ),
    "radius": (_optional(lambda value: _is_number(value) and not value < 0), "a distance, or None"),
    "training": (_is_training, "a dict with facts about the fit"),
}
