"""Predictions for a table of many files: one output file per file, which can be resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib

import raremetric
from raremetric.dask.cluster import dask_client, run_on_each
from raremetric.files import atomic_write
from raremetric.table.model import TableModel
from raremetric.table.predictions import PredictionCounts, write_predictions
from raremetric.table.reading.files import collection_files, is_parquet, table_suffix

FORMAT = 4  # of such a directory; increase it when earlier ones cannot be continued
MANIFEST = "raremetric.json"  # in the directory of the output: what belongs to what


def predict_collection(
    model: TableModel,
    source: Any,
    out: str | Path,
    *,
    threshold: float | None = None,
    spreadsheet_safe: bool = False,
    scheduler: str | None = None,
    on_start: Callable[[int, int], None] = lambda n_done, n_parts: None,
    on_part: Callable[[], None] = lambda: None,
) -> PredictionCounts:
    """Classify the rows of many files, and write one file of predictions for each of them.

    Parameters
    ----------
    model : TableModel
    source : str or Path
        A directory or a pattern, see `fit_collection`.
    out : str or Path
        A directory, which is created: the predictions for the first file are in
        ``part-00000.csv``, or ``part-00000.parquet`` if it is a Parquet file, and so on, with the
        rows in the same order. ``raremetric.json`` says which parts are finished. If the directory
        contains finished parts for the same model, files and options, only the others are
        computed.
    threshold, spreadsheet_safe
        See `write_predictions`.
    scheduler : str or None, default=None
        Address of a Dask scheduler whose workers can read the files and write to `out`; None for
        processes on this machine, one per core.
    on_start : callable (n_done, n_parts)
        Called before the first part, with the number of finished parts and of all parts.
    on_part : callable
        Called after each part.

    Returns
    -------
    PredictionCounts
        Of all parts, also those that were finished before.
    """
    files = collection_files(source)
    if not files:
        raise FileNotFoundError(f"There is no directory {str(source)!r}.")
    out = Path(out).absolute()
    parts = {
        f"part-{number:05d}{'.parquet' if is_parquet(file) else '.csv'}": file.absolute()
        for number, file in enumerate(files)
    }
    options = {"threshold": threshold, "spreadsheet_safe": spreadsheet_safe}
    manifest = _open_manifest(out, model, parts, options)
    done: dict[str, Any] = manifest["done"]
    left = [part for part in parts if not _is_finished(out / part, done.get(part))]
    on_start(len(parts) - len(left), len(parts))

    def save(number: int, result: dict[str, Any]) -> None:
        done[left[number]] = result
        _write_manifest(out, manifest)
        on_part()

    if left:
        with dask_client(scheduler) as client:
            wanted = [(parts[part], out / part) for part in left]
            run_on_each(partial(_predict_part, options), wanted, model, client, save)
    counts = _total(done[part] for part in parts)
    counts.empty_files = [str(file) for part, file in parts.items() if not done[part]["rows"]]
    return counts


def _predict_part(options: dict, model: TableModel, path: Path, out: Path) -> dict[str, Any]:
    """Write the predictions for a file as a whole or not at all; return their numbers."""
    counts = write_predictions(model, path, out, **options)
    return {**vars(counts), "bytes": out.stat().st_size}


def _total(results: Iterable[dict[str, Any]]) -> PredictionCounts:
    """The sum of what `_predict_part` returns."""
    total = PredictionCounts()
    for each in results:
        total.rows += each["rows"]
        total.positive += each["positive"]
        total.unlike += each["unlike"]
        total.doubts += Counter(each["doubts"])
    return total


def _is_finished(path: Path, result: dict[str, Any] | None) -> bool:
    return result is not None and path.is_file() and path.stat().st_size == result["bytes"]


def _open_manifest(
    out: Path, model: TableModel, parts: dict[str, Path], options: dict[str, Any]
) -> dict[str, Any]:
    """The manifest of the output directory; a new one if it is empty or does not exist."""
    if not out.is_dir() and (out.exists() or table_suffix(out)):
        raise NotADirectoryError(
            f"{str(out)!r} is {'a file' if out.exists() else 'the name of a file'}. The "
            "predictions for several files are written to a directory: give the name of a new one."
        )
    inputs = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in parts.values()]
    # Of the fields of the model, without what is computed when it is used.
    made_by = joblib.hash([replace(model), options, inputs])
    if not out.is_dir() or not any(out.iterdir()):
        out.mkdir(parents=True, exist_ok=True)
        manifest: dict[str, Any] = {"format": FORMAT, "version": raremetric.__version__}
        manifest |= {"made_by": made_by, "done": {}}
        _write_manifest(out, manifest)
        return manifest
    is_whole = is_other = False
    with suppress(OSError, ValueError, KeyError, AttributeError, TypeError):
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        is_other = "made_by" in manifest and manifest.get("format") != FORMAT
        _total(manifest["done"].values())
        is_whole = all(isinstance(each["bytes"], int) for each in manifest["done"].values())
    if is_other:
        raise ValueError(
            f"The predictions in the directory {str(out)!r} were written by raremetric "
            f"{manifest.get('version', '(an earlier version)')}, in format "
            f"{manifest.get('format', 3)}; this version ({raremetric.__version__}) continues "
            f"format {FORMAT}. Give the name of a new directory, or remove this one."
        )
    if not is_whole:
        raise ValueError(
            f"The directory {str(out)!r} contains something other than predictions, or its "
            f"{MANIFEST} is damaged. Give the name of a new or empty one."
        )
    if manifest.get("made_by") != made_by:
        raise ValueError(
            f"The directory {str(out)!r} contains predictions of another model, for other files or "
            "with other options. Give the name of a new directory, or remove this one."
        )
    return manifest


def _write_manifest(out: Path, manifest: dict[str, Any]) -> None:
    with atomic_write(out / MANIFEST) as stream:
        stream.write(json.dumps(manifest, indent=1).encode())
