"""Parts of a loaded model that compiled code reads without any check of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from raremetric.features import BoostedLeaves
from raremetric.features.trees import Trees


def check_compiled(model: Any) -> None:
    """Raise an error if numbers in a model lead out of its arrays.

    Parameters
    ----------
    model : object
        All trees below its attributes are checked.
    """
    for each in _estimators(model):
        if not _is_closed(getattr(each, "trees_", None), getattr(each, "n_features_in_", None)):
            raise ValueError("the nodes of its trees do not fit together.")


def _estimators(model: Any) -> Iterator[Any]:
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
