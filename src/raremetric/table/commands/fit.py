"""``raremetric fit``: tune a model of the user's own table, and save it."""

from __future__ import annotations

import time as clock
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from raremetric.table.commands.options import (
    Categorical,
    Group,
    Ignore,
    MinPrecision,
    MinRecall,
    Positive,
    SavedModel,
    Scheduler,
    Scoring,
    Seed,
    TableFiles,
    Target,
    Time,
    Weight,
    choose_scoring,
    complete_methods,
    print_result,
)
from raremetric.terminal import (
    AsJson,
    fail,
    note,
    progress,
    source_name,
    split_names,
    stop_if_interrupted,
    table_file,
    user_mistakes,
)


def fit(
    file: TableFiles,
    out: SavedModel,
    target: Target = None,
    positive: Positive = None,
    model: Annotated[
        str,
        typer.Option(
            help="A method; see the list below. Also one of the classes of scikit-learn that a "
            "model file may contain, such as sklearn.linear_model:LogisticRegression.",
            autocompletion=complete_methods,
        ),
    ] = "rare",
    scoring: Scoring = None,
    min_precision: MinPrecision = None,
    min_recall: MinRecall = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Predict the class of interest from this probability on."),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=20,
            help="Learn from at most this number of rows. (The boosted trees of rare learn from "
            "about 20 times as many.) Default: 5000 for rare and svm; 10000 for plain, iml, lmnn, "
            "itml and gmml; 200000 for boosting; all rows for other models.",
        ),
    ] = None,
    max_features: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of features (columns after encoding) that a metric is learned "
            "from; they are selected in each fold. Default: 500 for rare, 300 for iml, lmnn, itml "
            "and gmml.",
        ),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option("--id", help="Column with the names of the rows; not used as a feature."),
    ] = None,
    no_ids: Annotated[
        bool, typer.Option("--no-ids", help="Do not save the names of the training rows.")
    ] = False,
    time: Time = None,
    group: Group = None,
    weight: Weight = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(
            help="CSV file exported by the page of review: rows to add, with their class."
        ),
    ] = None,
    reviewed_from: Annotated[
        str | None, typer.Option(help="With --reviewed: the file that was reviewed.")
    ] = None,
    seed: Seed = 0,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
) -> None:
    """Tune and fit a model, and save it together with its preprocessing in one file."""
    from raremetric.files import check_output
    from raremetric.table import fit_collection, fit_table, save_model, with_reviewed_rows
    from raremetric.table.card import describe_model, model_card
    from raremetric.table.files import check_method
    from raremetric.table.reading.files import collection_files

    start = clock.perf_counter()
    with user_mistakes():
        check_output(out, [each for each in (file, reviewed, reviewed_from) if each])
        check_method(model)
        aim = choose_scoring(scoring, min_precision, min_recall)
        if (reviewed or reviewed_from) and not (reviewed and reviewed_from and target):
            fail("--reviewed, --reviewed-from and --target must be given together.")
        fit_any: Any = partial(fit_table, weight=weight)
        if collection_files(file):
            if weight or reviewed:
                fail("--weight and --reviewed cannot be used with several files.")
            fit_any = partial(fit_collection, scheduler=scheduler)
        description = f"fitting {model} on {source_name(file)}"
        with table_file(file) as path, progress(None, description, counted=False) as step:
            data: Any = path
            if reviewed and reviewed_from and target:
                data = with_reviewed_rows(path, target, reviewed, reviewed_from, row_names=row_id)
            fitted = fit_any(
                data,
                target,
                positive,
                method=model,
                scoring=aim,
                threshold=threshold,
                max_samples=max_rows,
                max_features=max_features,
                row_names=row_id,
                keep_names=not no_ids,
                seed=seed,
                ignore=split_names(ignore),
                categorical=split_names(categorical),
                time=time,
                group=group,
                on_progress=step.reach,
            )
        stop_if_interrupted()
        save_model(fitted, out)
    seconds, n_features = clock.perf_counter() - start, fitted.X.shape[1]
    about = {"file": str(out), **model_card(fitted), "features": n_features}
    for sentence in [] if as_json else fitted.training["notes"]:
        note(sentence)
    words = [
        f"{source_name(file)}: {len(fitted.columns)} columns, {n_features} features.",
        *describe_model(fitted),
        f"Fitted in {seconds:.1f} s; saved to {out}.",
    ]
    print_result(as_json, about | {"seconds": round(seconds, 3)}, words)
