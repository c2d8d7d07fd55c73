"""What a model file contains: its types and sizes, and the values that it leads to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from raremetric.encoding import TableEncoder
from raremetric.selection import check_aim
from raremetric.table.card import card_markdown, model_card

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

CARD = "raremetric.json"
SCHEMA = "schema.json"  # of skops: a tree of nodes, each with a loader and the name of a type
MAX_BYTES = 1 << 30  # of all parts of a file when unpacked, unless the file itself is large
MAX_RATIO = 100  # between the sizes of unpacked and packed parts; data compresses less well
SCHEMA_WEIGHT = 5  # the nodes take several times the space of their text

# The classes of scikit-learn in the models of all methods. Others are not trusted: some of them
# open files.
SKLEARN_TYPES = frozenset(
    {
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.StandardScaler",
    }
)
# The modules of raremetric with classes of fitted models.
OWN_MODULES = (
    "classifier",
    "contenders",
    "encoding",
    "features",
    "learners",
    "losses",
    "neighbors",
    "pairs",
    "rare",
    "selection",
    "table.model",
    "table.reading.numbers",
    "table.files",
    "tuning",
    "validation",
    "voting",
)
# The types that a loader of skops may create; "own" is a class of these modules.
LOADERS: dict[str, frozenset[str]] = {
    "DictNode": frozenset({"builtins.dict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple", "own"}),
    "NdArrayNode": frozenset({"numpy.ndarray", "scalar"}),
    "ObjectNode": SKLEARN_TYPES | {"own"},
    "TypeNode": frozenset({f"builtins.{each}" for each in ("bool", "float", "int", "str")}),
}


class Contents(NamedTuple):
    """What a file would create."""

    types: list[str]  # names of all types
    untrusted: list[str]  # those that no model needs
    n_bytes: int  # size of all arrays and texts


def is_too_large(n_bytes: int, n_packed: int) -> bool:
    """Whether a file of `n_packed` bytes may not have contents of this size."""
    return n_bytes > max(MAX_BYTES, MAX_RATIO * n_packed)


def unpacked_size(data: bytes) -> int:
    """The size of all members of a file; nothing is unpacked to find it."""
    with ZipFile(BytesIO(data)) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
        total = sum(each.file_size for each in archive.infolist())
    return total + (SCHEMA_WEIGHT - 1) * sizes.get(SCHEMA, 0)


def read_contents(data: bytes) -> Contents:
    """Types and sizes in a file; `unpacked_size` must be checked before.

    An array is created once for each node that refers to its member of the file, unless the nodes
    have the same id.
    """
    with ZipFile(BytesIO(data)) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
        nodes = list(_nodes(json.loads(archive.read(SCHEMA))))
    found = {(each["__loader__"], f"{each['__module__']}.{each['__class__']}") for each in nodes}
    references = {
        (str(each["file"]), each.get("__id__") or (number,))
        for number, each in enumerate(nodes)
        if "file" in each
    }
    counts = Counter(name for name, _ in references)
    repeated = sum((count - 1) * sizes.get(name, 0) for name, count in counts.items())
    return Contents(
        types=sorted({name for _, name in found}),
        untrusted=sorted({name for loader, name in found if not is_trusted(loader, name)}),
        n_bytes=unpacked_size(data) + repeated,
    )


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes of a schema; a node without the name of its type is an error."""
    rest = [schema]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            # In the content of a dict, the same word is the key of a node.
            if isinstance(value.get("__loader__"), str):
                yield value
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)


def is_trusted(loader: str, name: str) -> bool:
    """Whether a model may have a node with this loader of skops and full name of a type."""
    if loader == "JsonNode":  # a number or a text, of whatever type it says it is
        return True
    allowed = LOADERS.get(loader, frozenset())
    return (
        name in allowed
        or ("own" in allowed and _is_own(name))
        or ("scalar" in allowed and _is_scalar(name))
    )


def _is_own(name: str) -> bool:
    """Whether a type is a class of this package, whose import runs only code of this package."""
    module, _, attribute = name.rpartition(".")
    if not any(
        module == f"raremetric.{each}" or module.startswith(f"raremetric.{each}.")
        for each in OWN_MODULES
    ):
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


def _is_scalar(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    found = getattr(np, attribute, None) if module == "numpy" else None
    return isinstance(found, type) and issubclass(found, np.bool_ | np.number | np.str_)


def check_fields(model: TableModel) -> None:
    """Use all that the commands use of a model; any error if its parts do not fit together."""
    rows, y, ids = model.data, model.y, model.ids
    if not (
        0 < len(rows) == len(y) == len(ids)
        and rows.columns.tolist() == model.encoder.feature_names_in_.tolist()
        and y.dtype.kind == "i"
        and {*np.unique(y)} <= {0, 1}
        and np.array_equal(model.classifier.classes_, [0, 1])
        and (ids.dtype.kind == "i" or all(isinstance(each, str) for each in ids))
        and len(model.class_names) == len(model.pipeline) == 2
        and all(isinstance(each, str) for each in (*model.class_names, model.target_name))
        and isinstance(model.encoder, TableEncoder)
        and np.isfinite(model.X).all()
    ):
        raise ValueError("its training rows do not fit together.")
    check_aim(model.scoring)
    json.dumps(model_card(model))
    card_markdown(model)
