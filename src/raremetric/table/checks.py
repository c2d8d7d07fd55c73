"""The values in a model that was loaded: of the right types, and fitting together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from reprlib import repr as short_repr
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from raremetric.encoding import TableEncoder
from raremetric.features import BoostedLeaves
from raremetric.features.trees import Trees
from raremetric.selection import check_aim
from raremetric.table.aims import describe_scoring
from raremetric.table.card import card_markdown

if TYPE_CHECKING:
    from raremetric.table.model import TableModel


def check_fields(model: TableModel) -> None:
    """Raise an error with one sentence if a field of a model cannot be used by the commands."""
    for name, hint in get_type_hints(type(model)).items():
        value = getattr(model, name, None)
        try:
            is_valid = has_type(value, hint) and FITTING.get(name, lambda model: True)(model)
        except Exception:  # the value can be anything
            is_valid = False
        if not is_valid:
            found = " ".join(short_repr(value).split())
            raise ValueError(f"{name!r} of the model cannot be {found}.")


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value, and what it contains, has a type such as ``dict[str, float] | None``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is UnionType:
        return any(has_type(value, each) for each in arguments)
    if is_typeddict(hint):
        hints = get_type_hints(hint)
        return (
            isinstance(value, dict)
            and hint.__required_keys__ <= value.keys() <= hints.keys()
            and all(has_type(each, hints[name]) for name, each in value.items())
        )
    if origin is dict:
        key, content = arguments
        return isinstance(value, dict) and all(
            has_type(name, key) and has_type(each, content) for name, each in value.items()
        )
    if origin is list:
        return isinstance(value, list) and all(has_type(each, arguments[0]) for each in value)
    return isinstance(value, {int: Integral, float: Real}.get(hint, origin or hint))


def _has_rows(model: TableModel) -> bool:
    encoder = model.encoder
    return (
        model.data.columns.tolist() == encoder.feature_names_in_.tolist()
        and len(model.data) > 0
        and bool(np.isfinite(encoder.transform(model.data)).all())
    )


def _has_scoring(model: TableModel) -> bool:
    check_aim(model.scoring)
    return isinstance(model.scoring, str | list) and bool(describe_scoring(model.scoring))


# What must be true of a field besides its type.
FITTING: dict[str, Callable[[TableModel], bool]] = {
    "pipeline": lambda model: len(model.pipeline) == 2 and isinstance(model.encoder, TableEncoder),
    "data": _has_rows,
    "y": lambda model: (
        model.y.shape == (len(model.data),)
        and model.y.dtype.kind == "i"
        and {*np.unique(model.y)} <= {0, 1}
    ),
    "ids": lambda model: (
        model.ids.shape == (len(model.data),)
        and (model.ids.dtype.kind == "i" or all(isinstance(each, str) for each in model.ids))
    ),
    "class_names": lambda model: len(model.class_names) == 2,
    "scoring": _has_scoring,
    "fixed_threshold": lambda model: (
        model.fixed_threshold is None or 0 <= model.fixed_threshold <= 1
    ),
    "training": lambda model: bool(card_markdown(model)),
    "radius": lambda model: model.radius is None or model.radius >= 0,
}


def check_compiled(model: Any) -> None:
    """Raise an error if numbers of trees, which compiled code reads, lead out of their arrays."""
    for each in _trees_in(model):
        if not _is_closed(getattr(each, "trees_", None), getattr(each, "n_features_in_", None)):
            raise ValueError("the nodes of its trees do not fit together.")


def _trees_in(model: Any) -> Iterator[BoostedLeaves]:
    rest, seen = [model], set()
    while rest:
        value = rest.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, BoostedLeaves):
            yield value
        if isinstance(value, dict):
            rest.extend(value.values())
        elif isinstance(value, list | tuple):
            rest.extend(value)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            rest.extend(value.ravel())
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            rest.extend(vars(value).values())


def _is_closed(trees: Any, n_features: Any) -> bool:
    if not (isinstance(trees, Trees) and isinstance(n_features, int)):
        return False
    if not all(type(each) is np.ndarray and each.ndim == 1 for each in trees):
        return False
    *nodes, root = trees
    n_nodes = len(trees.feature)
    kinds = "".join(each.dtype.kind for each in trees)
    if kinds != "ifibfi" or any(len(each) != n_nodes for each in nodes):
        return False
    inner = np.flatnonzero(trees.feature >= 0)
    left = trees.left[inner]
    return bool(
        ((root >= 0) & (root < n_nodes)).all()
        and (trees.feature[inner] < n_features).all()
        and ((left > inner) & (left < n_nodes - 1)).all()  # children follow: there is no circle
    )
