"""What our runs say about the paper's claims on increasing imbalance."""

from __future__ import annotations

from collections.abc import Sequence

from pandas import DataFrame

from paper.printed import PRINTED_LEARNERS
from paper.table_claims import OTHERS, Finding, NotRunError, Runs, of_all
from paper.verdicts import (
    EQUIVALENCE,
    FAILS,
    HOLDS,
    NON_INFERIORITY,
    NUMBERS,
    PART,
    SIGNED_RANK,
    all_differences,
    better,
    equal,
    equality,
    lead_text,
    listed,
    non_inferiority,
    not_worse,
)
from raremetric.study.report import Table, sets_text, share_cell

FIGURE_DATASET = "spectfheart"  # of Figures 1 and 3
VARIANTS = ("ML1", "ML2", "IML")
RARE = 0.05  # shares up to this one are called rare
NEAR_100 = 95.0  # an accuracy that is called close to 100 %


def _curves(runs: Runs, column: str, learners: Sequence[str]) -> DataFrame:
    """Shares × learners on the data set of Figures 1 and 3, the largest share first."""
    shared = runs.table("imbalance", learners).shared
    cells = shared[shared["dataset"] == FIGURE_DATASET]
    wide = cells.pivot(index="share", columns="learner", values=column)
    return _two_shares(wide.reindex(columns=list(learners)))


def _two_shares(wide: DataFrame) -> DataFrame:
    """The shares in their order, of which there must be two."""
    if len(wide) < 2:
        raise NotRunError
    return wide.sort_index(ascending=False)


def _ends(wide: DataFrame) -> str:
    """The range over the learners at the largest and at the smallest share."""
    texts = [
        f"{_range(wide.loc[share])} at {share_cell(share).text}"
        for share in (wide.index[0], wide.index[-1])
    ]
    return f"from {texts[0]} to {texts[1]}"


def _range(values) -> str:
    low, high = f"{values.min():.1f}", f"{values.max():.1f}"
    return low if low == high else f"{low}–{high}"


def accuracy_rises(runs: Runs) -> Finding:
    """The accuracy of the four other methods grows as the minority shrinks."""
    wide = _curves(runs, "accuracy_mean", OTHERS)
    flags = (wide.iloc[-1] > wide.iloc[0]).tolist()
    return Finding(f"Accuracy in percent: {_ends(wide)}", of_all(flags), NUMBERS)


def accuracy_near_100(runs: Runs) -> Finding:
    """The accuracy at the smallest share."""
    wide = _curves(runs, "accuracy_mean", OTHERS)
    share = wide.index[-1]
    text = (
        f"{_range(wide.iloc[-1])} % at {share_cell(share).text}, the smallest share. Classifying "
        f"everything as the majority has an accuracy of {100 * (1 - share):.0f} %"
    )
    return Finding(text, of_all((wide.iloc[-1] >= NEAR_100).tolist()), NUMBERS)


def positives_missed(runs: Runs) -> Finding:
    """The recall of the four other methods at the smallest share."""
    scores = runs.table("imbalance", OTHERS).scores
    scores = scores[scores["dataset"] == FIGURE_DATASET]
    recall = (100 * scores["tp"] / (scores["tp"] + scores["fn"])).groupby(
        [scores["share"], scores["learner"]]
    )
    wide = _two_shares(recall.mean().unstack())
    text = f"Positives that are found, in percent: {_ends(wide)}"
    return Finding(text, of_all((wide.iloc[-1] < 50).tolist()), NUMBERS)


def f1_falls(runs: Runs, *, learners: Sequence[str]) -> Finding:
    """F1 becomes lower with each step to a smaller share."""
    wide = _curves(runs, "mean", learners)
    falls = (wide.diff().iloc[1:] < 0).to_numpy().ravel().tolist()
    text = f"F1 {_ends(wide)}; it falls in {sum(falls)} of {len(falls)} steps from share to share"
    return Finding(text, of_all(falls), NUMBERS)


def smallest_share(runs: Runs) -> Finding:
    """The smallest variant with at least 20 minority examples."""
    wide = _curves(runs, "mean", ("IML",))
    text = share_cell(wide.index[-1]).text
    return Finding(f"The smallest share is {text}", HOLDS if text == "10 %" else FAILS, NUMBERS)


def smallest_drop(runs: Runs) -> Finding:
    """How much F1 is lost between the largest share and each smaller one."""
    wide = _curves(runs, "mean", PRINTED_LEARNERS)
    drops = wide.iloc[0] - wide.iloc[1:]
    flags = (drops.idxmin(axis=1) == "IML").tolist()
    texts = []
    for (share, row), smallest in zip(drops.iterrows(), flags, strict=True):
        best = row.idxmin()
        first = "" if smallest else f"{best} {row[best]:.1f}, "
        texts.append(f"to {share_cell(share).text}: {first}IML {row['IML']:.1f}")
    highest = [
        share_cell(share).text for share, name in wide.idxmax(axis=1).items() if name == "IML"
    ]
    text = f"Smallest drop of F1 from {share_cell(wide.index[0]).text} {'; '.join(texts)}. "
    text += f"IML has the highest F1 at {', '.join(highest) or 'no share'}"
    return Finding(text, of_all(flags), NUMBERS)


def best_at_each_share(runs: Runs) -> Finding:
    """IML has the highest mean over the data sets at every share."""
    table = runs.table("imbalance")
    means = {share: table.complete(share=share).mean() for share in table.shares}
    means = {share: row for share, row in means.items() if row.notna().all()}
    if not means:
        raise NotRunError
    behind = [
        f"at {share_cell(share).text} {row.idxmax()} has {row.max():.1f}, IML {row['IML']:.1f}"
        for share, row in means.items()
        if row.idxmax() != "IML"
    ]
    leads = runs.leads_of_iml("Increasing imbalance", _over_shares(table, table.shares))
    n_ahead = len(means) - len(behind)
    text = f"IML has the highest mean at {n_ahead} of {len(means)} shares"
    text += "".join(f"; {each}" for each in behind)
    text += f". Over all shares, IML minus {listed(leads)}"
    if behind:
        return Finding(text, PART if n_ahead else FAILS, NUMBERS)
    return Finding(text, better(leads.values()), SIGNED_RANK)


def _over_shares(table: Table, shares: Sequence[float]) -> DataFrame:
    """Data sets × learners: means over the shares of each data set."""
    cells = table.shared[table.shared["share"].isin(shares)]
    return cells.pivot_table("mean", "dataset", "learner")


def variants_when_balanced(runs: Runs, *, degrade: bool) -> Finding:
    """IML and its variants at a share of one half.

    Parameters
    ----------
    runs : Runs
    degrade : bool
        Whether only losses count: adding neighbors and then weights to ML1 must not lower F1 by a
        point. Otherwise, no two variants may differ by a point.
    """
    means = runs.table("ablation", VARIANTS).complete(share=0.5)
    if means.empty:
        raise NotRunError
    leads = runs.leads("Ablation at 50 %", all_differences(means))
    where = f"at 50 %, on {sets_text(len(means))}"
    if not degrade:
        text = listed(leads, equality)
        return Finding(f"{text} {where}", equal(leads.values()), EQUIVALENCE)
    chosen = {name: lead for name, lead in leads.items() if name != "IML minus ML1"}
    text = listed(chosen, non_inferiority)
    return Finding(f"{text} {where}", not_worse(chosen.values()), NON_INFERIORITY)


def variant_ahead(runs: Runs, *, first: str, second: str, rare: bool) -> Finding:
    """One variant against another at shares below one half: rare ones, or all others."""
    table = runs.table("ablation", VARIANTS)
    shares = [share for share in table.shares if share < 0.5 and (share <= RARE) == rare]
    means = [table.complete(share=share) for share in shares]
    means = [part for part in means if len(part)]
    if not means:
        raise NotRunError
    family = f"Ablation at {share_cell(shares[0]).text} and less"
    if not rare:
        family = f"Ablation from {share_cell(shares[0]).text} to {share_cell(shares[-1]).text}"
    leads = runs.leads(family, all_differences(_over_shares(table, shares)))
    lead = leads[f"{first} minus {second}"]
    ahead = sum(part[first].mean() > part[second].mean() for part in means)
    text = (
        f"{lead_text(f'{first} minus {second}', lead)}, ahead on {lead.summary.wins} of "
        f"{sets_text(lead.summary.n_datasets)}, and in the mean at {ahead} of {len(means)} shares"
    )
    return Finding(text, better([lead]), SIGNED_RANK)
