"""The finished tasks of a study, as a report takes them.

Placeholder: `Study` and `StudyResults` move to the module that defines studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from raremetric.study.tasks import NAMED, PAPER_STUDIES, named_study

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Study:
    """Which data sets, resamplings, splits and learners are combined, and how to report them."""

    name: str
    datasets: Sequence[str]
    learners: Sequence[Any]  # each has a name
    title: str = ""
    splits: int = 20
    resamplings: Sequence[str] = ("none",)
    shares: Sequence[float | None] = (None,)
    test_size: float | None = None
    paper_table: str | None = None
    measures: Sequence[str] = ("f1",)
    leader: str | None = None
    few_positives: bool = False


@dataclass(frozen=True)
class StudyResults:
    """A study and its finished tasks, one row per task."""

    study: Study
    rows: DataFrame


TITLES = {
    "table2": "Table 2: without resampling",
    "table3-smote": "Table 3a: with SMOTE",
    "table3-rus": "Table 3b: with random under-sampling",
    "imbalance": "Increasing imbalance",
    "ablation": "Ablation under increasing imbalance",
    "beyond": "Beyond the paper",
    "rare-regime-odd": "Rare regime, data sets at odd positions",
    "rare-regime-even": "Rare regime, data sets at even positions",
}


def results_by_study(rows: DataFrame) -> list[StudyResults]:
    """Assign the rows of a store to the named studies that they belong to."""
    return [
        StudyResults(study, rows[chosen])
        for name in NAMED
        if (chosen := _belongs(rows, study := _reported(name))).any()
    ]


def _reported(name: str) -> Study:
    (old,) = named_study(name)
    is_table = name in PAPER_STUDIES and set(old.shares) == {None}
    is_rare = name.startswith("rare-regime")
    return Study(
        name=name,
        datasets=old.datasets,
        learners=old.learners,
        title=TITLES[name],
        resamplings=old.resamplings,
        shares=old.shares,
        test_size=old.test_size,
        paper_table=name if is_table else "table2" if name == "beyond" else None,
        measures=("f1", "average_precision") if is_rare else ("f1",),
        leader="RareClassifier-thorough" if is_rare or name == "beyond" else None,
        few_positives=is_rare,
    )


def _belongs(rows: DataFrame, study: Study) -> Any:
    has_shares = set(study.shares) != {None}
    chosen = rows["dataset"].isin(study.datasets) & rows["resampling"].isin(study.resamplings)
    chosen &= rows["learner"].isin([learner.name for learner in study.learners])
    chosen &= rows["share"].notna() if has_shares else rows["share"].isna()
    if study.test_size is None:
        return chosen & rows["test_size"].isna()
    return chosen & (rows["test_size"] == study.test_size)
