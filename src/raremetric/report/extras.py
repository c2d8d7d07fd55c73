"""Optional packages of the report, imported at the moment they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str) -> Any:
    """Import a module of the ``study`` extra, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f'The report needs {package}, which is not installed: pip install "raremetric[study]"'
        ) from error
