"""How differences between methods are judged, on every page: by the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import NamedTuple

from pandas import DataFrame, Series

from raremetric.study.report import LEVEL, Paired, differences, holm, paired, signed, t_test

HOLDS, OPEN, PART = "holds", "not shown", "holds in part"
FAILS, NOT_RUN = "does not hold", "not run"
SIGNED_RANK = "Wilcoxon, Holm"
EQUIVALENCE = "equivalence, ±1 point"
NON_INFERIORITY = "non-inferiority, 1 point"
NUMBERS = "none: numbers are compared"
MARGIN = 1.0  # point of F1
ORDER = ("IML", "ML2", "ML1", "LMNN", "ITML", "GMML", "Euclidean")  # others follow


class Lead(NamedTuple):
    """One method minus another on each data set, and the tests."""

    differences: Series  # indexed by data set, in points
    summary: Paired
    p_value: float  # of Wilcoxon's test, with Holm's correction for all comparisons of the family

    @property
    def ahead(self) -> bool:
        """Whether the first method is significantly better."""
        return self.summary.difference > 0 and self.p_value < LEVEL

    @property
    def behind(self) -> bool:
        """Whether the first method is significantly worse."""
        return self.summary.difference < 0 and self.p_value < LEVEL


def turned(lead: Lead) -> Lead:
    """The second method minus the first."""
    return Lead(-lead.differences, paired(-lead.differences), lead.p_value)


def equality(lead: Lead) -> float:
    """The larger p-value of two one-sided t tests against ±1 point."""
    return lead.summary.equivalent


def non_inferiority(lead: Lead) -> float:
    """The p-value of a one-sided t test against −1 point."""
    summary = lead.summary
    return t_test(summary.difference + MARGIN, summary.standard_error, summary.n_origins)


def leads_of(comparisons: DataFrame) -> dict[str, Lead]:
    """Test a family of comparisons: a frame of differences, data sets × comparisons."""
    found = {name: paired(comparisons[name]) for name in comparisons}
    corrected = holm([each.wilcoxon for each in found.values()])
    return {
        name: Lead(comparisons[name], each, float(p_value))
        for (name, each), p_value in zip(found.items(), corrected, strict=True)
    }


def all_differences(means: DataFrame) -> DataFrame:
    """The differences between all pairs of methods, such as "IML minus LMNN"."""
    known = [name for name in ORDER if name in means]
    names = [*known, *(name for name in means if name not in known)]
    return DataFrame(
        {f"{a} minus {b}": differences(means, a, b) for a, b in combinations(names, 2)}
    )


def wilcoxon_holm(lead: Lead) -> float:
    """The p-value of Wilcoxon's test, corrected."""
    return lead.p_value


def lead_text(name: str, lead: Lead, test: Callable[[Lead], float] = wilcoxon_holm) -> str:
    """A mean difference with its standard error and the p-value of a test."""
    error, p_value = lead.summary.standard_error, test(lead)
    texts = [f"SE {error:.1f}"] * (lead.summary.n_origins > 1)
    texts.append("p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}")
    return f"{name} {signed(lead.summary.difference)} ({', '.join(texts)})"


def listed(leads: dict[str, Lead], test: Callable[[Lead], float] = wilcoxon_holm) -> str:
    """Several differences in words."""
    return ", ".join(lead_text(name, lead, test) for name, lead in leads.items())


def judged(
    leads: Iterable[Lead], shown: Callable[[Lead], bool], refuted: Callable[[Lead], bool]
) -> str:
    """Whether all parts of a claim are shown, some of them or none, or the contrary of one is."""
    known = list(leads)
    if any(map(shown, known)):
        return HOLDS if all(map(shown, known)) else PART
    return FAILS if any(map(refuted, known)) else OPEN


def better(leads: Iterable[Lead]) -> str:
    """The verdict on: each first method is better than the second."""
    return judged(leads, lambda lead: lead.ahead, lambda lead: lead.behind)


def equal(leads: Iterable[Lead]) -> str:
    """The verdict on: the methods of each pair perform the same."""
    return judged(leads, lambda lead: equality(lead) < LEVEL, lambda lead: lead.p_value < LEVEL)


def not_worse(leads: Iterable[Lead]) -> str:
    """The verdict on: no first method is worse than the second."""
    return judged(leads, lambda lead: non_inferiority(lead) < LEVEL, lambda lead: lead.behind)
