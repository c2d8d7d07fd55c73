"""Parts of a loaded model that compiled code reads without any check of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.svm import SVC

from raremetric.features import BoostedLeaves
from raremetric.features.trees import Trees

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def check_compiled(model: Any) -> None:
    """Raise an error if numbers in a model lead out of its arrays.

    Parameters
    ----------
    model : object
        All trees and support vector machines below its attributes are checked.
    """
    for each in _estimators(model):
        if isinstance(each, SVC):
            if not _has_support(vars(each)):
                raise ValueError("its support vectors do not fit together.")
        elif not _is_closed(getattr(each, "trees_", None), getattr(each, "n_features_in_", None)):
            raise ValueError("the nodes of its trees do not fit together.")


def _estimators(model: Any) -> Iterator[Any]:
    rest, seen = [model], set()
    while rest:
        value = rest.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, BoostedLeaves | SVC):
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


def _has_support(fitted: dict[str, Any]) -> bool:
    """Whether the attributes of a classifier of two classes have the shapes that libsvm reads."""
    try:
        support, n_features = fitted["support_"], fitted["n_features_in_"]
        n_vectors, given = len(support), fitted["kernel"] == "precomputed"
        shapes = {
            "support_vectors_": (0, 0) if given else (n_vectors, n_features),
            "support_": (n_vectors,),
            "_n_support": (2,),
            "dual_coef_": (1, n_vectors),
            "_dual_coef_": (1, n_vectors),
            "intercept_": (1,),
            "_intercept_": (1,),
            "classes_": (2,),
        }
        counts = fitted["_n_support"]
        return bool(
            all(type(fitted[name]) is np.ndarray for name in shapes)
            and all(fitted[name].shape == shape for name, shape in shapes.items())
            and all(fitted[name].shape in ((0,), (1,)) for name in ("_probA", "_probB"))
            and fitted["_probA"].shape == fitted["_probB"].shape
            and counts.dtype.kind == support.dtype.kind == "i"
            and counts.min() >= 0 <= support.min()
            and (not given or support.max() < n_features == fitted["shape_fit_"][0])
            and counts.sum(dtype=np.int64) == n_vectors > 0
            and fitted["kernel"] in KERNELS
            and fitted["_sparse"] is False
        )
    except (KeyError, AttributeError, TypeError, ValueError):
        return False
