"""Optional packages, imported at the moment they are needed."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType

STUDY = 'pip install "raremetric[study]"'


def need(module: str, asker: str = "This", *, hint: str) -> ModuleType:
    """Import a module of an extra, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{asker} needs {package}, which is not installed: {hint}") from error


need_to_draw = partial(need, asker="Drawing", hint=STUDY)
