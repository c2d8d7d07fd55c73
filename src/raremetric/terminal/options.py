"""Options that commands of all kinds have."""

from __future__ import annotations

from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def split_names(texts: list[str] | None, default: Any = ()) -> Any:
    """Names separated by commas, from an option that may be repeated."""
    if texts is None:
        return default
    return [name.strip() for name in ",".join(texts).split(",") if name.strip()]
