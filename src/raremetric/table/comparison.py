"""compare_table: nested cross-validation of several methods on one table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from sklearn.base import clone

from raremetric.contenders import RESAMPLING, find_contender
from raremetric.contenders.resampling import check_resamplings
from raremetric.selection import draw_rows
from raremetric.table import DEFAULT_METHODS
from raremetric.table.aims import check_scoring
from raremetric.table.fold_runs import Plan, plain_plane, run_fold
from raremetric.table.measures import measure_of
from raremetric.table.notes import table_notes
from raremetric.table.results import Comparison, Failure, FoldResult
from raremetric.table.roles import Roles, class_names, read_with_roles
from raremetric.table.splitting import (
    copies_in,
    describe_folds,
    outer_folds,
    tuning_folds,
)
from raremetric.validation import as_names, check_integer, check_option

MAX_SHOWN = 3000  # rows in the scatter plots
MAX_ROWS = 5000  # training rows, by default
MAX_CELLS = 150_000  # rows times columns after encoding: with more columns, there are fewer rows
MIN_ROWS = 500  # however many columns there are


def compare_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    methods: Sequence[str] | None = None,
    resamplings: Sequence[str] = ("none",),
    scoring: Any = "f1",
    n_folds: int = 5,
    n_repeats: int = 1,
    time: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    max_samples: int | str | None = "auto",
    seed: int = 0,
    n_jobs: int | None = None,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    importances: bool = False,
    on_start: Callable[[int], None] = lambda n_results: None,
    on_result: Callable[[FoldResult | Failure], None] = lambda result: None,
) -> Comparison:
    """Compare methods on a table by nested cross-validation.

    Each method is tuned within the training rows of each outer fold, fitted on them and tested on
    the other rows. All methods have the same outer folds, and all tune their threshold. Encoder,
    scaler and resampling are fitted on the training rows only. Rows that are copies of each other
    are in the same fold, also when methods are tuned; in a table of categories, equal rows are
    different examples (see `find_copies`), and a note says so.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.table.read_table`.
    methods : str, sequence of str or None, default=None
        Names of contenders, such as "iml", or import paths of classes with scikit-learn's
        interface, such as ``"mypackage.module:MyLearner"``. None for `DEFAULT_METHODS`.
    resamplings : {"none", "smote", "rus"} or sequence of them, default=("none",)
        The methods in which neighbors vote are combined with each of them; all others choose a
        threshold instead of resampling, and run with "none" only, which must be among them then.
    scoring : str or array of shape (2, 2), default="f1"
        What to tune and compare: see `RareClassifier`; or costs as text, such as
        ``"cost:fp=1,fn=20"``. With a minimum precision, methods are compared by the recall that
        their scores reach with it, and the other way around; with costs, by the share of the
        avoidable costs that they save.
    n_folds : int, default=5
        Number of outer folds, which are stratified.
    n_repeats : int, default=1
        How often to repeat the outer folds with other random draws.
    time : str or None, default=None
        Column with a number or a date. Each model is tested on rows that are later than all of its
        training rows, and tuned in the same way. The column is not used as a feature.
    group : str or None, default=None
        Column with a group, such as a customer. No group has rows in both the training and the
        test part, or on both sides when methods are tuned. The column is not used as a feature.
    weight : str or None, default=None
        Column with the weights of the rows, in fits, thresholds and measures. Rows of weight 0 are
        left out. The column is not used as a feature.
    max_samples : int, "auto" or None, default="auto"
        Maximum number of training rows per fit. From more rows, all positives are kept, up to
        half of this number, and the others are drawn at random. All test rows are tested. "auto"
        is 5000, or 150,000 divided by the number of columns after encoding, but at least 500. None
        uses all rows.
    seed : int, default=0
        Seed for folds and random draws.
    n_jobs : int or None, default=None
        Number of processes.
    importances : bool, default=False
        Whether to measure how much each method depends on each column, by permuting the columns
        of the test parts: see `Comparison.importances`. It takes about as long as the comparison
        itself if there are many columns.
    on_start : callable (n_results)
        Called before the first result, with the number of results to expect.
    on_result : callable (result)
        Called with each `FoldResult` or `Failure`.

    Returns
    -------
    Comparison
        A method that raises an error is in its ``failures``. If all methods fail, ValueError is
        raised. After an interruption (Ctrl-C), of the methods that have finished all folds, with a
        note. If there are none, KeyboardInterrupt is raised.
    """
    chosen = _check_methods(DEFAULT_METHODS if methods is None else methods)
    scoring = check_scoring(scoring)
    _check_max_samples(max_samples)
    combined, resampling_notes = combine(chosen, as_names(resamplings))
    columns = Roles(time, group, weight)
    table, roles = read_with_roles(path, target, positive, categorical, ignore, columns)
    data, y = table.data, table.target
    limit = _resolve_max_samples(max_samples, table.encoder)
    copies = copies_in(data)
    roles = roles._replace(copies=copies.numbers)
    folds = outer_folds(y, n_folds, seed, roles, n_repeats=n_repeats)
    inner = [
        tuning_folds(y[train], seed, roles.take(train), quick=True, max_samples=limit)
        for train, _ in folds
    ]
    shown = draw_rows(y == 1, MAX_SHOWN, seed)
    plan = Plan(seed, scoring, limit, shown, roles.weights, importances)
    tasks = [
        delayed(run_fold)(
            clone(table.encoder), data, y, fold, i, method, resampling, plan, inner[i]
        )
        for method, resampling in combined
        for i, fold in enumerate(folds)
    ]
    on_start(len(tasks))
    found = Comparison(
        source=str(path),
        target_name=table.target_name,
        class_names=class_names(table),
        y=y,
        n_columns=data.shape[1],
        n_folds=len(folds),
        seed=seed,
        plain=plain_plane(clone(table.encoder), data, folds[0][0], shown),
        notes=[
            *table_notes(table, copies, [train for train, _ in folds], limit, seed),
            *resampling_notes,
            *method_notes(chosen, weighted=weight is not None),
            *_constraint_notes(scoring),
        ],
        methods=chosen,
        scoring=scoring,
        shown=shown,
        n_repeats=n_repeats,
        protocol=describe_folds(len(folds), n_repeats, columns),
        weights=roles.weights,
        columns=list(map(str, data.columns)),
    )
    return _collect(found, tasks, n_jobs, on_result)


def _check_max_samples(max_samples: Any) -> None:
    if max_samples is not None and max_samples != "auto":
        check_integer(max_samples, "max_samples", low=20)


def _resolve_max_samples(max_samples: Any, encoder: Any) -> int | None:
    if max_samples == "auto":
        return default_max_samples(sum(map(len, encoder.column_groups())))
    return max_samples


def default_max_samples(n_features: int) -> int:
    """Maximum number of training rows per fit, for a number of columns after encoding."""
    return max(MIN_ROWS, min(MAX_ROWS, MAX_CELLS // max(n_features, 1)))


def _collect(
    found: Comparison,
    tasks: list,
    n_jobs: int | None,
    on_result: Callable[[FoldResult | Failure], None],
) -> Comparison:
    """Run the tasks and record their results and failures."""
    try:
        for result in _run(tasks, n_jobs):
            kept: list = found.failures if isinstance(result, Failure) else found.results
            kept.append(result)
            on_result(result)
    except KeyboardInterrupt:
        if not found.entries():
            raise
        note = "Stopped: only methods that have finished all folds are shown."
        return replace(found, notes=[*found.notes, note], is_whole=False)
    if not found.entries():
        errors = [f"{each['title']}: {each['error']}" for each in found.failed()]
        raise ValueError(f"No method could be fitted. {' '.join(errors)}")
    return found


def combine(
    methods: Sequence[str], resamplings: Sequence[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Each method with each resampling that it is combined with, and a note if some are not."""
    if not resamplings:
        raise ValueError(
            f"No resampling is given. Name one or more of {', '.join(map(repr, RESAMPLING))}, or "
            "leave the option out for the default, 'none'."
        )
    for each in resamplings:
        check_option(each, "resampling", RESAMPLING)
    fixed = [name for name in methods if find_contender(name).has_threshold]
    found = [
        (method, resampling)
        for resampling in resamplings
        for method in methods
        if resampling == "none" or method not in fixed
    ]
    return found, check_resamplings(fixed, resamplings)


def method_notes(methods: Sequence[str], *, weighted: bool) -> list[str]:
    """A sentence for each method that cannot take weights, or looks at the rows to be tested."""
    contenders = [find_contender(method) for method in methods]
    found = [each.ignores_weights for each in contenders] if weighted else []
    found += [each.looks_at_queries for each in contenders]
    return [sentence for sentence in found if sentence]


def _constraint_notes(scoring: Any) -> list[str]:
    """Which threshold the measure of an aim with a minimum belongs to."""
    name, _ = measure_of(scoring)
    if " at " not in name:
        return []
    return [
        f"The {name} is that of the best threshold for each test fold. All other measures are "
        "those at the threshold that a method chose in training, which may miss the minimum."
    ]


def _check_methods(names: Sequence[str]) -> list[str]:
    """Short names where there are any, without repetitions."""
    names = as_names(names, "methods")
    return as_names(find_contender(name).alias or name for name in names)


def _run(tasks: list, n_jobs: int | None) -> Iterator[FoldResult | Failure]:
    """Results in the order in which they are finished."""
    return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
