"""From the rows of studies to tables of means: the content of a report, before formatting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from raremetric.study.fingerprints import fingerprint
from raremetric.study.report.tables import Published, Table, in_order, slug
from raremetric.study.tasks import COUNTS, REPORTED, Study, StudyResults

KEY = ["dataset", "share", "test_size", "resampling", "split", "learner"]  # of a row


class Summary(NamedTuple):
    """The content of a report."""

    rows: pd.DataFrame  # the finished tasks of all studies, each once, sorted
    tables: list[Table]
    effort: pd.DataFrame  # learner, tasks, median_seconds, total_seconds
    not_started: list[str]  # names of the studies without any finished task


def summarize(
    results: Sequence[StudyResults], published: Mapping[str, Published] | None = None
) -> Summary:
    """Compute the tables of studies; see `write_report` for the parameters."""
    started = [(each.study, check_rows(each.rows)) for each in results if len(each.rows)]
    if not started:
        raise ValueError(
            "There is no finished task to report: run `raremetric study run` with this store first."
        )
    together = sort_rows(pd.concat([rows for _, rows in started]).drop_duplicates())
    learners = [spec.name for study, _ in started for spec in study.learners]
    seconds = together.groupby("learner")["seconds"]
    effort = seconds.agg(tasks="size", median_seconds="median", total_seconds="sum")
    return Summary(
        rows=together,
        tables=[
            table
            for study, rows in started
            for table in study_tables(study, rows, (published or {}).get(study.name))
        ],
        effort=effort.loc[in_order(effort.index, learners)].reset_index(),
        not_started=[each.study.name for each in results if not len(each.rows)],
    )


def check_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns `REPORTED` of the rows of a study with their types, sorted by task.

    Average precision, size of the test part and fingerprint may be missing or empty.
    """
    numbers = ["share", "test_size", "average_precision"]
    types = dict.fromkeys([*numbers, "seconds"], float) | dict.fromkeys(["split", *COUNTS], int)
    rows = rows.reindex(columns=[*REPORTED]).astype(types)
    rows[numbers] = rows[numbers].round(6)
    rows["fingerprint"] = rows["fingerprint"].fillna("").astype(str)
    if (repeated := rows.duplicated(KEY)).any():
        task = ", ".join(f"{name}={rows.loc[repeated, name].iloc[0]}" for name in KEY)
        raise ValueError(
            f"Each task of a study must occur once; found twice: {task}. Report one store at a "
            "time."
        )
    return sort_rows(rows)


def sort_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by task: the same tasks give the same frame, in whatever order they were run."""
    return rows.sort_values(KEY, na_position="first", kind="stable", ignore_index=True)


def with_scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Add `f1` of the positive class, `accuracy` and `average_precision`, all in percent.

    F1 = tp / (tp + (fp + fn) / 2), and 0 if there are no true positives.
    """
    errors = rows["fp"] + rows["fn"]
    f1 = (rows["tp"] / (rows["tp"] + errors / 2)).where(rows["tp"] > 0, 0.0)
    accuracy = (rows["tp"] + rows["tn"]) / rows[[*COUNTS]].sum(axis=1)
    return rows.assign(
        f1=100 * f1, accuracy=100 * accuracy, average_precision=100 * rows["average_precision"]
    )


def study_tables(
    study: Study, rows: pd.DataFrame, published: Published | None = None
) -> Iterator[Table]:
    """One table per resampling and measure, if there are values of that measure."""
    scored = with_scores(rows).assign(other_code=_is_of_other_code(study, rows))
    for resampling in in_order(scored["resampling"], study.resamplings):
        for measure in study.measures:
            part = scored[(scored["resampling"] == resampling) & scored[measure].notna()]
            if not part.empty:
                name = slug(study.name)
                if len(study.resamplings) > 1 and resampling != "none":
                    name += f"-{resampling}"
                name += "-precision" * (measure == "average_precision")
                table = Table(name, study, resampling, measure, part)
                is_known = published is not None and _has_the_protocol(table, published)
                yield replace(table, published=published) if is_known else table


def _is_of_other_code(study: Study, rows: pd.DataFrame) -> pd.Series:
    """Whether each row is known to be computed by other code than that of this version."""
    is_known = rows["fingerprint"] != ""
    names, current = set(rows.loc[is_known, "learner"]), {}
    for learner in study.learners:
        if learner.name in names:
            with suppress(ValueError):  # a class that cannot be imported here
                current[learner.name] = fingerprint(learner)
    return is_known & (rows["fingerprint"] != rows["learner"].map(current))


def _has_the_protocol(table: Table, published: Published) -> bool:
    """Whether a table can be compared with published scores."""
    return (
        table.measure == "f1"
        and table.resampling == published.resampling
        and table.study.test_size is None
        and not table.by_share
        and any(
            (name, who) in published.scores for name in table.datasets for who in table.learners
        )
    )
