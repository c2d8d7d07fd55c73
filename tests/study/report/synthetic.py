"""Results of studies that were never run: plausible confusion counts from a seed."""

from functools import partial

import numpy as np
import pandas as pd

from raremetric.datasets import describe_dataset, list_datasets
from raremetric.study.tasks import LearnerSpec, Study, StudyResults

LEARNERS = ("Euclidean", "LMNN", "ITML", "GMML", "IML")
DATASETS = list_datasets("paper")
RESAMPLING_OF = {"table2": "none", "table3-smote": "smote", "table3-rus": "rus"}
SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)
LEADER = "RareClassifier-thorough"

Learner = partial(LearnerSpec, kind="IML")  # a report uses no more of it than its name


def results_of(rows, name="mine", **fields):
    """The results of a study with exactly these rows; its order is that of the rows."""
    rows = pd.DataFrame(rows)
    learners = fields.pop("learners", rows["learner"].unique())
    shares = [None if np.isnan(share) else share for share in rows["share"].unique()]
    own = {
        "datasets": tuple(rows["dataset"].unique()),
        "splits": int(rows["split"].max()),
        "resampling": tuple(rows["resampling"].unique()),
        "shares": tuple(shares),
    }
    return StudyResults(Study(name, learners=tuple(map(Learner, learners)), **own | fields), rows)


def counts(f1, n_positive, n_negative):
    """The confusion counts nearest to an F1 with as many false positives as false negatives."""
    tp = round(float(np.clip(f1, 0.0, 1.0)) * n_positive)
    fp = min(n_positive - tp, n_negative)
    return {"tn": n_negative - fp, "fp": fp, "fn": n_positive - tp, "tp": tp}


def row(dataset, learner, split, confusion, *, share=np.nan, resampling="none", **rest):
    given = {"dataset": dataset, "share": share, "resampling": resampling, "split": split}
    return given | {"learner": learner, "candidate": "{}", "seconds": 1.0} | confusion | rest


def made_up(seed):
    """(data set, learner) → mean and standard deviation."""
    rng = np.random.RandomState(seed)
    names = [(dataset, learner) for dataset in DATASETS for learner in LEARNERS]
    return {name: (rng.uniform(50, 95), rng.uniform(1, 5)) for name in names}


SCORES = {name: made_up(seed) for seed, name in enumerate(RESAMPLING_OF)}


def study_like(name="table2", n_splits=4, seed=0, datasets=None, scores=SCORES, **fields):
    """A study with the given means and some noise."""
    rng, rows = np.random.RandomState(seed), []
    for dataset in datasets or dict.fromkeys(dataset for dataset, _ in scores[name]):
        for split in range(1, n_splits + 1):
            ease = rng.normal()  # of the split, for all learners
            for learner in LEARNERS:
                mean, std = scores[name][dataset, learner]
                f1 = mean + std * (0.8 * ease + 0.6 * rng.normal())
                rest = {"resampling": RESAMPLING_OF[name], "seconds": round(rng.gamma(2.0), 3)}
                rows.append(row(dataset, learner, split, counts(f1 / 100, 300, 900), **rest))
    return results_of(rows, name, **fields)


def share_rows(n_splits=3, seed=0, learners=(*LEARNERS, "ML1", "ML2"), n_datasets=6):
    """F1 falls with the share of the minority, and that of IML falls least."""
    rng, rows = np.random.RandomState(seed), []
    for number, dataset in enumerate([*DATASETS[: n_datasets - 1], "spectfheart"]):
        for share in SHARES[: 10 - number] if dataset != "spectfheart" else SHARES[:5]:
            for split in range(1, n_splits + 1):
                for position, learner in enumerate(learners):
                    slope = 0.4 if learner == "IML" else 0.55 + 0.03 * position
                    f1 = 0.85 - slope * (0.5 - share) ** 1.5 * 2 + 0.04 * rng.normal()
                    confusion = counts(f1, round(400 * share), round(400 * (1 - share)))
                    rows.append(row(dataset, learner, split, confusion, share=share))
    return pd.DataFrame(rows)


def share_studies(seed=0):
    """Two studies of shares, which have the tasks of IML in common."""
    rows = share_rows(seed=seed)
    ablation = ("IML", "ML2", "ML1")
    return [
        results_of(rows[rows["learner"].isin(LEARNERS)], "imbalance"),
        results_of(rows[rows["learner"].isin(ablation)], "ablation", learners=ablation),
    ]


def whole_paper(seed=0, scores=SCORES):
    """Three studies of all data sets, and two studies of shares."""
    tables = [study_like(name, seed=seed, scores=scores) for name in RESAMPLING_OF]
    return [*tables, *share_studies(seed=seed)]


def rare_regime(datasets, **fields):
    """KEEL's data sets, halved: half of the positives are in the test part."""
    rng, rows = np.random.RandomState(0), []
    for dataset in datasets:
        about = describe_dataset(dataset)
        n_positive = about.n_positive // 2
        for learner in ("Euclidean", "IML", LEADER):
            confusion = counts(rng.uniform(), n_positive, about.n_samples // 2 - n_positive)
            extra = {"average_precision": rng.uniform(), "test_size": 0.5}
            rows += [row(dataset, learner, split, confusion, **extra) for split in (1, 2)]
    asked = {"measures": ("f1", "average_precision"), "few_positives": True, "leader": LEADER}
    return results_of(rows, "rare", test_size=0.5, **asked | fields)
