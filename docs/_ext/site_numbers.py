"""Numbers and tables of the pages, computed from the committed results when the site is built.

A page contains ``{{ name }}``; `substitutions` has the text of each name. The few numbers of README
are rows of `readme_rows`, which a test compares with the file; after new results,
``python -m docs._ext.site_numbers`` prints the rows.
"""

from __future__ import annotations

from functools import cache

import pandas as pd

from benchmarks.own_tables.page import RESULTS as OWN_FILES
from benchmarks.own_tables.page import agreement_table, agreements, lead_table, summary
from docs._ext.site_paper import (
    behind_plain,
    claim,
    gains_with_smote,
    paper_means,
    rivals,
    verdicts,
)
from docs._ext.site_results import RESULTS, ROOT, leads_of, markdown, means_of, p_text
from raremetric.datasets import list_datasets
from raremetric.study import read_study
from raremetric.study.report import LEVEL, leads, signed

RARE, BOOSTING, SVM, PLAIN = (
    *("RareClassifier-fast", "gradient-boosting", "SVM-laplacian", "Euclidean"),
)
TITLES = {
    RARE: "`RareClassifier`",
    "RareClassifier-thorough": '`RareClassifier("thorough")`',
    PLAIN: "three nearest neighbors",
    "IML": "IML, three neighbors vote",
    "IML-30": "IML, 30 candidates",
    "IML-score": "IML, scores and threshold",
    "logistic-regression": "logistic regression",
    "balanced-forest": "balanced random forest",
    BOOSTING: "XGBoost",
    "SVM-rbf": "SVM, RBF kernel",
    SVM: "SVM, Laplacian kernel",
}


def verdict(lead: pd.Series) -> str:
    """What the tests of "How differences are judged" say about one lead."""
    if lead.holm < LEVEL:
        return "better" if lead.difference > 0 else "worse"
    return "equal" if lead.equivalent < LEVEL else "not shown"


def lead_rows(name: str) -> str:
    """All methods of a study, the lead of RareClassifier over each, and what the tests say."""
    means, leads = means_of(name).mean(), leads_of(name)
    rows = [
        [
            "method",
            "mean",
            "lead of `RareClassifier` (SE)",
            "ahead, tied, behind",
            "Holm's p",
            "verdict",
        ]
    ]
    for learner, lead in leads.assign(mean=means).sort_values("mean").iterrows():
        counts = f"{lead.wins:.0f}, {lead.ties:.0f}, {lead.losses:.0f}"
        gap = f"{signed(lead.difference)} ({lead.standard_error:.1f})"
        rows.append(
            [TITLES[learner], f"{lead['mean']:.1f}", gap, counts, p_text(lead.holm), verdict(lead)]
        )
    rows.append([TITLES[RARE], f"**{means[RARE]:.1f}**", "", "", "", ""])
    return markdown(rows)


def lead_text(name: str, learner: str) -> str:
    """As in "+1.7 (SE 0.6, p = 0.031)"."""
    lead = leads_of(name).loc[learner]
    return f"{signed(lead.difference)} (SE {lead.standard_error:.1f}, {p_text(lead.holm)})"


def extremes(name: str, learner: str) -> str:
    """The data sets on which RareClassifier is farthest behind and ahead of another learner."""
    means = means_of(name)
    gap = (means[RARE] - means[learner]).sort_values()
    return (
        f"between {signed(gap.iloc[0])} points (`{gap.index[0]}`) and "
        f"{signed(gap.iloc[-1])} (`{gap.index[-1]}`)"
    )


def finished(name: str) -> pd.DataFrame:
    """The finished tasks of exported results."""
    return pd.read_csv(RESULTS / name, skiprows=1).query("status == 'done'")


@cache
def found_and_alarms() -> pd.DataFrame:
    """Per 100 rare rows: medians over KEEL's data sets that were not used for tuning.

    The means of false alarms would be those of three data sets with hundreds of them.
    """
    study = read_study(ROOT / "paper" / "rare-regime-even-again.toml")
    rows = finished("beyond.csv.gz")
    rows = rows[(rows.test_size == 0.5) & rows.dataset.isin(study.datasets)]
    rows = rows[rows.split.isin(range(study.first_split, study.first_split + study.splits))]
    rows = rows[rows.learner.isin([learner.name for learner in study.learners])]
    share = 100 / (rows.tp + rows.fn)
    rows = rows.assign(found=share * rows.tp, alarms=share * rows.fp)
    means = rows.groupby(["learner", "dataset"])[["found", "alarms"]].mean()
    return means.groupby("learner").median()


def large_tables() -> str:
    """Both measures on the large tables, by study."""
    rows = [["tables", "n", "F1, XGBoost", "`RareClassifier`", "AP, XGBoost", "`RareClassifier`"]]
    titles = {
        "large-other": "not used for tuning",
        "large-chosen": "used for tuning",
        "large-fars": "the two largest (100,968 rows), used for tuning",
    }
    for name, title in titles.items():
        f1, ap = means_of(f"large/{name}"), means_of(f"large/{name}-precision")
        cells = [f"{table[each].mean():.1f}" for table in (f1, ap) for each in (BOOSTING, RARE)]
        rows.append([title, str(len(f1)), *cells])
    return markdown(rows)


def rarest_tables() -> str:
    """F1 on the large tables of whose training rows about 0.3 % are positive."""
    rows = [["table", "rare training rows", "F1, XGBoost", "`RareClassifier`", "used for tuning"]]
    timed = pd.read_csv(ROOT / "benchmarks" / "results" / "large_tables.csv")
    timed = timed.drop_duplicates("dataset").set_index("dataset")
    for table, study, used in (
        ("fars-Injured_Severity_Unknown", "large-fars", "yes"),
        ("kr-vs-k-three", "large-other", "no, but a first result prompted a rule"),
    ):
        f1, n = means_of(f"large/{study}").loc[table], timed.loc[table]
        share = f"{n.positives:,} of {n.rows:,} ({100 * n.positives / n.rows:.1f} %)"
        rows.append([f"`{table}`", share, f"{f1[BOOSTING]:.1f}", f"{f1[RARE]:.1f}", used])
    return markdown(rows)


def times_on_large_tables() -> str:
    """CPU seconds of fits, and microseconds per predicted row, beside XGBoost's."""
    found = pd.read_csv(ROOT / "benchmarks" / "results" / "large_tables.csv")
    found = found[~found.dataset.str.startswith("generated")]
    fit = found.pivot_table("fit_seconds", "dataset", "method")
    row = found.pivot_table("microseconds_per_row", "dataset", "method")
    ratio, slower = fit[RARE] / fit[BOOSTING], row[RARE] / row[BOOSTING]
    return (
        f"tuning and fitting takes {fit[RARE].sum() / fit[BOOSTING].sum():.2f} times as long as "
        f"XGBoost with 20 candidates on the same folds ({ratio.min():.2f} to {ratio.max():.2f} on "
        f"single tables), and a prediction {slower.min():.0f} to {slower.max():.0f} times as long"
    )


def readme_rows() -> list[str]:
    """The rows of README that contain results; after ≈ if no difference is shown."""

    def cell(name: str, learner: str) -> str:
        if learner not in (means := means_of(name).mean()):
            return ""
        text = f"{means[learner]:.1f}"
        shown = learner == RARE or verdict(leads_of(name).loc[learner]) in ("better", "worse")
        return text if shown else f"≈ {text}"

    methods, rows = (PLAIN, BOOSTING, SVM, RARE), []
    titles = " | ".join(TITLES[name] for name in methods)
    rows.append(f"| | {titles} |")
    for title, name in (
        ("22 data sets of the paper", "beyond/beyond-later"),
        ("50 data sets with a rarer class", "beyond/rare-regime-even-again"),
        ("9 large tables", "large/large-other"),
    ):
        rows.append(f"| {title} | {' | '.join(cell(name, each) for each in methods)} |")
    return rows


def without_their_rows() -> str:
    """The leads over XGBoost on large tables that do not have the rows of a tuned one."""
    parts = []
    for name, measure in (("large-other", "F1"), ("large-other-precision", "average precision")):
        means = means_of(f"large/{name}")
        means = means[~means.index.str.startswith(("letter-", "kr-vs-k-"))]
        lead = leads(means[[RARE, BOOSTING]], RARE).set_index("learner").loc[BOOSTING]
        gap = f"{signed(lead.difference)} (SE {lead.standard_error:.1f}, {p_text(lead.holm)})"
        parts.append(f"{gap} in {measure}")
    return " and ".join(parts)


def gain(first: str, second: str) -> str:
    """How much one method is ahead of another in the study beyond the paper."""
    means = means_of("beyond/beyond-later")
    lead = leads(means[[first, second]], first).iloc[0]
    return f"{lead.difference:.1f} points (SE {lead.standard_error:.1f})"


def own_gaps(own: pd.DataFrame) -> pd.Series:
    """F1 of `rare` minus that of boosting on the rows set aside, in points, by file."""
    f1 = 100 * own.pivot(index="file", columns="method", values="f1")
    return f1["rare"] - f1["boosting"]


def own_held(own: pd.DataFrame) -> str:
    """How the ranking of `compare` agrees with that on the rows set aside."""
    found = agreements(own).astype({"correlation": float, "loss": float})
    correlations, losses = found["correlation"], 100 * found["loss"]
    return (
        f"the rank correlation of its ranking with the one on rows set aside was "
        f"{correlations.mean():.2f} in the mean ({correlations.min():.2f} at least), and the first "
        f"method was {losses.mean():.1f} points behind the best one there ({losses.max():.1f} at "
        "most)"
    )


def sizes(*names: str) -> str:
    """Rows of `benchmarks/results/sizes.csv`: time and memory by the number of rows."""
    found = pd.read_csv(ROOT / "benchmarks" / "results" / "sizes.csv")
    titles = {
        "fit_seconds": "fit, CPU s",
        "fit_megabytes": "fit, peak MB",
        "file_megabytes": "model file, MB",
        "load_seconds": "load, s",
        "row_milliseconds": "a single row, ms",
        "slow_row_milliseconds": "slowest 1 % of single rows, ms",
        "batch_microseconds": "µs per row in batches of 1,000",
        "predict_megabytes": "predict, peak MB",
    }
    rows = [["model", "training rows", *(titles[name] for name in names)]]
    for _, row in found.iterrows():
        cells = (f"{row[name]:,.0f}" if row[name] >= 20 else f"{row[name]:.2g}" for name in names)
        rows.append([f"`{row.model}`", f"{row.rows:,}", *cells])
    return markdown(rows)


def substitutions() -> dict[str, str]:
    """The text of each name that a page may contain as ``{{ name }}``."""
    own = pd.read_csv(OWN_FILES)
    gaps = own_gaps(own)
    texts = {
        "paper_means": paper_means(),
        "verdicts": verdicts(),
        "behind_plain": behind_plain(),
        "rivals": rivals(),
        "smote_gain_plain": gains_with_smote("Euclidean"),
        "smote_gain_iml": gains_with_smote("IML"),
        "best_mean": claim("IML has the highest mean F1 ("),
        "halves": claim("IML is generally better, however balanced the data are"),
        "best_rank": claim("IML has the best average rank, 1.48"),
        "robust": claim("In the mean over the data sets, IML is always the most robust"),
        "weights_rare": claim("The weights of the pair sets help: IML is better than ML2 at 5 %"),
        "weights_more": claim("The weights of the pair sets help: IML is better than ML2 at sh"),
        "large_tables": large_tables(),
        "rarest_tables": rarest_tables(),
        "times_on_large_tables": times_on_large_tables(),
        "own_summary": summary(own),
        "own_agreement": agreement_table(own),
        "own_leads": lead_table(own, "rare"),
        "own_held": own_held(own),
        "own_wine": f"{signed(gaps['wine'])}",
        "own_other_sources": ", ".join(
            f"{signed(gaps[name])} (`{name}`)"
            for name in ("stroke", "thyroid", "telescope", "customers")
        ),
        "large_own_rows": without_their_rows(),
        "gain_of_scores": gain("IML-score", "IML"),
        "gain_of_metric": gain("IML", PLAIN),
        "sizes_fit": sizes("fit_seconds", "fit_megabytes", "file_megabytes"),
        "sizes_predict": sizes(
            *("load_seconds", "row_milliseconds", "slow_row_milliseconds"),
            *("batch_microseconds", "predict_megabytes"),
        ),
        "n_datasets": str(len(list_datasets())),
    }
    for short, name in {
        "beyond": "beyond/beyond",
        "later": "beyond/beyond-later",
        "keel": "beyond/rare-regime-even-again",
        "keel_ap": "beyond/rare-regime-even-again-precision",
        "keel_odd": "beyond/rare-regime-odd",
        "keel_earlier": "beyond/rare-regime-even",
        "large": "large/large-other",
        "large_ap": "large/large-other-precision",
    }.items():
        texts[f"{short}_leads"] = lead_rows(name)
        for learner in (SVM, BOOSTING):
            if learner in leads_of(name).index:
                key = "svm" if learner == SVM else "boosting"
                texts[f"{short}_{key}"] = lead_text(name, learner)
                texts[f"{short}_{key}_extremes"] = extremes(name, learner)
    return texts


if __name__ == "__main__":
    print("\n".join(readme_rows()))
