"""Rows of studies that were never run: plausible confusion counts from a seed."""

import numpy as np
import pandas as pd

from raremetric.datasets import describe_dataset
from raremetric.study.paper_values import LEARNERS, TABLES, paper_datasets, paper_table
from raremetric.study.reading import named_study

SHARES = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01)


def learner_names(study):
    return [spec.name for spec in named_study(study).learners]


def counts(f1, n_positive, n_negative):
    """The confusion counts nearest to an F1 with as many false positives as false negatives."""
    tp = round(float(np.clip(f1, 0.0, 1.0)) * n_positive)
    fp = min(n_positive - tp, n_negative)
    return {"tn": n_negative - fp, "fp": fp, "fn": n_positive - tp, "tp": tp}


def row(
    dataset, learner, split, confusion, *, share=np.nan, resampling="none", seconds=1.0, **rest
):
    return {
        "dataset": dataset,
        "share": share,
        "resampling": resampling,
        "split": split,
        "learner": learner,
        **confusion,
        "candidate": "{}",
        "seconds": seconds,
        **rest,
    }


def paper_like_study(n_splits=4, seed=0, resamplings=tuple(TABLES), datasets=None):
    """Tables 2 and 3 with the paper's means and some noise."""
    rng = np.random.RandomState(seed)
    rows = []
    for resampling in resamplings:
        scores = paper_table(resampling).scores
        for dataset in datasets or paper_datasets():
            for split in range(1, n_splits + 1):
                ease = rng.normal()  # of the split, for all learners
                for learner in LEARNERS:
                    score = scores[dataset, learner]
                    f1 = score.mean + score.std * (0.8 * ease + 0.6 * rng.normal())
                    rows.append(
                        row(
                            dataset,
                            learner,
                            split,
                            counts(f1 / 100, 300, 900),
                            resampling=resampling,
                            seconds=round(rng.gamma(2.0), 3),
                        )
                    )
    return pd.DataFrame(rows)


def share_study(n_splits=3, seed=0, learners=(*LEARNERS, "ML1", "ML2"), n_datasets=6):
    """Experiments 3 and 4: F1 falls with the share, and IML's least."""
    rng = np.random.RandomState(seed)
    names = [*list(paper_datasets())[: n_datasets - 1], "spectfheart"]
    rows = []
    for number, dataset in enumerate(names):
        shares = SHARES[: 10 - number] if dataset != "spectfheart" else SHARES[:5]
        for share in shares:
            for split in range(1, n_splits + 1):
                for place, learner in enumerate(learners):
                    slope = 0.4 if learner == "IML" else 0.55 + 0.03 * place
                    f1 = 0.85 - slope * (0.5 - share) ** 1.5 * 2 + 0.04 * rng.normal()
                    confusion = counts(f1, round(400 * share), round(400 * (1 - share)))
                    rows.append(row(dataset, learner, split, confusion, share=share))
    return pd.DataFrame(rows)


def beyond_study(n_splits=3, seed=0, datasets=None):
    """The paper's data sets with learners beyond it; no average precision for the paper's own."""
    rng = np.random.RandomState(seed)
    rows = []
    for dataset in datasets or paper_datasets():
        for split in range(1, n_splits + 1):
            for place, learner in enumerate(learner_names("beyond")):
                confusion = counts(0.6 + 0.02 * place + 0.05 * rng.normal(), 300, 900)
                known = {} if place < 2 else {"average_precision": rng.uniform(0.5, 1)}
                rows.append(row(dataset, learner, split, confusion, **known))
    return pd.DataFrame(rows)


def rare_study(datasets, n_splits=2, seed=0):
    """KEEL's data sets, halved: as many positives to test on as half of those that there are."""
    rng = np.random.RandomState(seed)
    rows = []
    for dataset in datasets:
        about = describe_dataset(dataset)
        n_positive = about.n_positive // 2
        for split in range(1, n_splits + 1):
            for learner in learner_names("rare-regime-odd"):
                confusion = counts(rng.uniform(), n_positive, about.n_samples // 2 - n_positive)
                extra = {"average_precision": rng.uniform(), "test_size": 0.5}
                rows.append(row(dataset, learner, split, confusion, **extra))
    return pd.DataFrame(rows)


def whole_study(seed=0):
    return pd.concat([paper_like_study(seed=seed), share_study(seed=seed)], ignore_index=True)
