"""compare_table: nested cross-validation of several methods on one table."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline

from raremetric.contenders import Contender, Tuned, find_contender
from raremetric.encoding import TableEncoder
from raremetric.encoding.copies import copies_in
from raremetric.extras import import_optional
from raremetric.selection import Folds
from raremetric.table import DEFAULT_METHODS
from raremetric.table.aims import aim_of, check_scoring
from raremetric.table.fitting import fit_method
from raremetric.table.notes import (
    aim_notes,
    class_notes,
    leakage_notes,
    method_notes,
)
from raremetric.table.results import Comparison, Failure, FoldResult
from raremetric.table.roles import Roles, RowRoles, read_with_roles
from raremetric.table.splitting import (
    MIN_RARE,
    describe_folds,
    outer_folds,
    refuse_few_rows,
    tuning_folds,
)
from raremetric.validation import as_names, check_integer

N_PERMUTATIONS = 3  # of each column in each test fold


def compare_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    methods: Sequence[str] | None = None,
    scoring: Any = "f1",
    n_folds: int = 5,
    n_repeats: int = 1,
    time: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    max_samples: int | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    importances: bool = False,
    on_start: Callable[[int], None] = lambda n_results: None,
    on_result: Callable[[FoldResult | Failure], None] = lambda result: None,
) -> Comparison:
    """Compare methods on a table by nested cross-validation.

    Each method is tuned and fitted on the training rows of each outer fold, as `fit_table` does it,
    and tested on the other rows. All methods have the same outer folds. Encoder
    and scaler are fitted on the training rows only. Rows that are copies of each other
    are in the same fold, also when methods are tuned; in a table of categories, equal rows are
    different examples (see `find_copies`), and a note says so.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        See `raremetric.table.read_table`.
    methods : str, sequence of str or None, default=None
        Short names such as "iml", or import paths of classes with scikit-learn's
        interface, such as ``"mypackage.module:MyLearner"``. None for `DEFAULT_METHODS`.
    scoring : str or array of shape (2, 2), default="f1"
        What to tune and compare: see `RareClassifier`; or costs as text, such as
        ``"cost:fp=1,fn=20"``. With a minimum precision, methods are compared by the recall that
        their scores reach with it, and the other way around; with costs, by the share of the
        avoidable costs that they save. With another scorer of scikit-learn, such as "roc_auc",
        they are tuned for F1 and compared by it.
    n_folds : int, default=5
        Number of outer folds, which are stratified.
    n_repeats : int, default=1
        How often to repeat the outer folds with other random draws.
    time : str or None, default=None
        Column with a number or a date. Each model is tested on rows that are later than all of its
        training rows, and tuned in the same way.
    group : str or None, default=None
        Column with a group, such as a customer. No group has rows in both the training and the
        test part, or on both sides when methods are tuned.
    weight : str or None, default=None
        Column with the weights of the rows, in fits, thresholds and measures. Rows of weight 0 are
        left out. None of these three columns is used as a feature.
    max_samples : int or None, default=None
        Maximum number of training rows per fit. From more rows, all positives are kept, up to
        half of this number, and the others are drawn at random. All test rows are tested. None for
        as many as in `fit_table`.
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
    contenders = _find_contenders(DEFAULT_METHODS if methods is None else methods)
    columns = Roles(time, group, weight)
    if aim_of(scoring) == scoring:
        scoring = check_scoring(scoring)
    with warnings.catch_warnings(record=True) as said:  # to be among the notes
        warnings.simplefilter("always", UserWarning)
        given = path, target, positive, categorical, ignore, columns
        max_levels = max(each.max_levels for each in contenders.values())
        table, roles = read_with_roles(*given, max_levels=max_levels)
    data, y = table.data, table.target
    if max_samples is not None:
        check_integer(max_samples, "max_samples", low=20)
    if time is None:  # one positive row in each test fold, and the others to learn from
        refuse_few_rows(table, (MIN_RARE + 1, MIN_RARE + 1), "to compare methods")
    else:  # the first of three periods must be enough to learn from
        refuse_few_rows(table, (MIN_RARE + 1, 3 * MIN_RARE), "to compare methods by time")
    copies = copies_in(data)
    roles = roles._replace(copies=copies.numbers)
    folds = outer_folds(y, n_folds, seed, roles, n_repeats=n_repeats)
    for train, _ in folds:
        tuning_folds(y[train], roles.take(train))  # refuses times that cannot be divided
    shape = max(len(train) for train, _ in folds), sum(map(len, table.encoder.column_groups()))
    plan = _Plan(
        encoder=table.encoder,
        data=data,
        y=y,
        roles=roles,
        folds=folds,
        seed=seed,
        scoring=aim_of(scoring),
        max_samples=max_samples,
        importances=importances,
    )
    tasks = [delayed(_run_fold)(plan, name, i) for name in contenders for i in range(len(folds))]
    on_start(len(tasks))
    found = Comparison(
        source=str(path),
        target_name=table.target_name,
        class_names=table.target_names,
        y=y,
        n_folds=len(folds),
        notes=[
            *class_notes(table),
            *leakage_notes(table, copies, columns, seed),
            *method_notes(
                contenders.values(), shape, max_samples=max_samples, weighted=weight is not None
            ),
            *aim_notes(scoring),
            *dict.fromkeys(str(each.message) for each in said),
        ],
        methods=list(contenders),
        scoring=scoring,
        n_repeats=n_repeats,
        protocol=describe_folds(len(folds), n_repeats, columns),
        weights=roles.weights,
        columns=list(map(str, data.columns)),
    )
    return _run(found, tasks, n_jobs, on_result)


def _find_contenders(names: Sequence[str]) -> dict[str, Contender]:
    """The methods by their short names, where there are any; their packages can be imported."""
    found = [(name, find_contender(name)) for name in as_names(names, "methods")]
    for _, contender in found:
        if contender.package:
            import_optional(contender.package, f"The method {contender.alias or contender.name!r}")
    return {contender.alias or name: contender for name, contender in found}


class _Plan(NamedTuple):
    """What all tasks of a comparison have in common."""

    encoder: TableEncoder
    data: Any  # raw columns
    y: NDArray[np.int64]
    roles: RowRoles
    folds: Folds  # outer folds
    seed: int
    scoring: Any
    max_samples: int | None
    importances: bool = False  # whether to permute the columns of the test part


def _run_fold(plan: _Plan, method: str, number: int) -> FoldResult | Failure:
    """Tune, fit and test one method on one outer fold."""
    train, test = plan.folds[number]
    start = clock.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # given once, when the file was read
            encoder = clone(plan.encoder).set_params(max_levels=find_contender(method).max_levels)
            encoder.fit(plan.data.iloc[train])
            X, queries = (encoder.transform(plan.data.iloc[rows]) for rows in (train, test))
        tuned = fit_method(
            method,
            X,
            plan.y[train],
            plan.roles.take(train),
            seed=plan.seed,
            scoring=plan.scoring,
            max_samples=plan.max_samples,
        )
        seconds = clock.perf_counter() - start
        predicted, score = _answer(tuned, queries)
        decreases = _importances(encoder, tuned, plan, test) if plan.importances else None
    except Exception as error:  # one method must not lose the others
        message = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        return Failure(method, number, message, clock.perf_counter() - start)
    return FoldResult(
        method=method,
        fold=number,
        test=test,
        predicted=predicted,
        score=score,
        seconds=seconds,
        n_train=len(train),
        n_candidates=tuned.n_candidates,
        importances=decreases,
    )


def _answer(tuned: Tuned, queries: NDArray) -> tuple[NDArray, NDArray]:
    """Predictions, and scores that can be compared between folds."""
    predicted, score = tuned.answer(queries)
    if not np.isfinite(score).all():
        raise ValueError(f"{np.sum(~np.isfinite(score))} of {len(score)} scores are not finite.")
    threshold = getattr(tuned.model, "threshold_", None)
    if threshold is not None and 0 < threshold < 1:
        score = score + logit(threshold)  # log-odds instead of their distance to the threshold
    return predicted, score


def _importances(
    encoder: TableEncoder, tuned: Tuned, plan: _Plan, test: NDArray
) -> NDArray[np.float64]:
    """Mean decrease of the average precision when each raw column is permuted."""
    found = permutation_importance(
        make_pipeline(encoder, tuned.model),
        plan.data.iloc[test],
        plan.y[test],
        scoring="average_precision",
        sample_weight=plan.roles.take(test).weights,
        n_repeats=N_PERMUTATIONS,
        random_state=plan.seed,
    )
    return found.importances_mean


def _run(
    found: Comparison,
    tasks: list,
    n_jobs: int | None,
    on_result: Callable[[FoldResult | Failure], None],
) -> Comparison:
    """Run the tasks and record their results and failures, in the order in which they finish."""
    try:
        for result in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks):
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
