"""How real tables with holes and categories are best encoded, for each method.

    python -m benchmarks.real_encodings

The tables are those of `list_datasets("real-choose")` that have holes or categories, of which the
packages must be installed (requirements/real.txt): at most 5,000 training rows for encodings of
holes and categories by the trees themselves, 3,000 for columns with 21 to 100 levels, and five
times as many rows in all. Encodings are

- "20 levels", "100 levels": `TableEncoder` with this ``max_levels``;
- "native holes": XGBoost sees holes as missing; "native" also levels as categories, which it
  splits into two sets, "native, one by one" into one level and the others;
- "target": columns with more than 20 levels by scikit-learn's TargetEncoder, fitted in each fold.

Each line of benchmarks/results/real_encodings.csv is one fit; those that are there are not
repeated. Printed are means over the tables, and differences to "20 levels" with their standard
errors, in percent.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost
from sklearn.base import clone
from sklearn.metrics import average_precision_score, f1_score, log_loss
from sklearn.preprocessing import TargetEncoder
from threadpoolctl import threadpool_limits

from raremetric import TableEncoder
from raremetric.contenders import find_contender
from raremetric.contenders.averaged import ClassifierFamily
from raremetric.contenders.boosting import BoostedTrees
from raremetric.datasets import load_dataset
from raremetric.encoding.copies import copies_in
from raremetric.study.protocol import make_split
from raremetric.validation import take_rows

OUT = Path(__file__).parent / "results" / "real_encodings.csv"
MANY_LEVELS = ("resume-callback", "census-income", "flights-cancelled")
TABLES = (*MANY_LEVELS, "credit-scoring", "diamonds-fair")
REFERENCE = "20 levels"
# Tables, methods, encodings, training rows and splits.
RUNS: list[tuple[Any, ...]] = [
    (TABLES, ["boosting"], [REFERENCE, "native holes", "native", "native, one by one"], 5000, 2),
    (MANY_LEVELS, ["boosting"], [REFERENCE, "100 levels", "native, 100 levels"], 3000, 2),
    (MANY_LEVELS, ["logistic", "boosting"], [REFERENCE, "100 levels", "target"], 3000, 2),
    (MANY_LEVELS, ["rare"], [REFERENCE, "100 levels"], 3000, 2),
    (MANY_LEVELS, ["boosting", "forest"], [REFERENCE, "100 levels"], 3000, 4),
]
KEYS = ["table", "split", "method", "encoding", "rows"]
MEASURES = ["average_precision", "f1", "log_loss"]


class NativeTrees(BoostedTrees):
    """XGBoost on the raw holes and categories, which the encoded columns of each group show."""

    def __init__(self, groups=(), holes_only=False, one_by_one=False):
        self.groups = groups
        self.holes_only = holes_only
        self.one_by_one = one_by_one

    def _native(self, X) -> dict[str, Any]:
        parts, types = [], []
        for kind, group in self.groups:
            part, is_category = X[:, group], False
            if kind == "number" and len(group) == 2:
                part = np.where(part[:, 1:] == 1, np.nan, part[:, :1])
            elif kind == "onehot" and len(group) > 1 and not self.holes_only:
                codes = np.where(part.any(axis=1), part.argmax(axis=1), np.nan)
                part, is_category = codes[:, np.newaxis], True
            parts.append(part)
            types += ["c" if is_category else "q"] * part.shape[1]
        data = np.column_stack(parts)
        return {"data": data, "feature_types": types, "enable_categorical": True, "nthread": 1}

    def _data(self, rows, like=None):
        given = self._native(rows.X)
        return xgboost.QuantileDMatrix(**given, label=rows.y, weight=rows.weights, ref=like)

    def _train(self, params, data, rounds, seed, stop_on):
        more = {"max_cat_to_onehot": 1000} if self.one_by_one else {}
        return super()._train(params | more, data, rounds, seed, stop_on)

    def _log_odds(self, booster, X):
        return booster.predict(xgboost.DMatrix(**self._native(X)), output_margin=True)


class Targeted(ClassifierFamily):
    """Another family, on rows whose last columns are codes; these are encoded in each fit."""

    def __init__(self, inner=None, n_codes=0):
        self.inner = inner
        self.n_codes = n_codes

    def fit(self, X, y, settings, seed, weights=None):
        """Fit the encoder and the family."""
        self.encoder_ = TargetEncoder(target_type="binary", smooth=10.0, random_state=0)
        n = X.shape[1] - self.n_codes
        rows = np.column_stack([X[:, :n], self.encoder_.fit_transform(X[:, n:], y)])
        self.inner_ = clone(self.inner).fit(rows, y, settings, seed, weights)
        return self

    def scores(self, X):
        """Scores of the family."""
        n = X.shape[1] - self.n_codes
        return self.inner_.scores(np.column_stack([X[:, :n], self.encoder_.transform(X[:, n:])]))


def run(name: str, split: int, method: str, encoding: str, n_train: int) -> list[Any]:
    """Fit and test one method on one split of one table."""
    data = load_dataset(name)
    X, y, groups = data.data, data.target, data.groups
    X = X.astype(dict.fromkeys(X.select_dtypes(include="object"), "category"))
    if len(y) > 5 * n_train:
        drawn = np.random.RandomState(100 + split).permutation(len(y))[: 5 * n_train]
        rows = np.sort(drawn)
        X, y = take_rows(X, rows).reset_index(drop=True), y[rows]
        groups = None if groups is None else groups[rows]
    train, test, _ = make_split(y, split, max(0.5, 1 - n_train / len(y)), groups)
    train = np.sort(train[:n_train]) if len(train) > n_train else train
    frame, queries = X.iloc[train], X.iloc[test]
    encoder = TableEncoder(max_levels=100 if "100" in encoding else 20).fit(frame)
    encoded = [encoder.transform(frame), encoder.transform(queries)]
    columns = list(zip(encoder.kinds_, encoder.column_groups(), strict=True))
    contender: Any = find_contender(method)
    if encoding == "target":
        many = [name for name, each in encoder.encoders_.items() if each.kind == "ngrams"]
        levels = {name: {level: i for i, level in enumerate(_levels(frame[name]))} for name in many}
        kept = [j for kind, group in columns if kind != "ngrams" for j in group]
        encoded = [
            np.column_stack(
                [
                    part[:, kept],
                    *(rows[n].astype(object).map(levels[n]).fillna(-1).astype(float) for n in many),
                ]
            )
            for part, rows in zip(encoded, (frame, queries), strict=True)
        ]
        contender = replace(contender, family=Targeted(contender.family, len(many)))
    if encoding.startswith("native"):
        family = NativeTrees(columns, "holes" in encoding, "one by one" in encoding)
        contender = replace(contender, family=family)
    start = time.process_time()
    tuned = contender.fit(
        contender.candidates(split)[: contender.n_for_table],
        encoded[0],
        y[train],
        seed=split,
        copies=copies_in(frame).numbers,
        groups=None if groups is None else groups[train],
        max_samples=contender.default_max_samples,
        max_features=contender.default_max_features,
    )
    p, predicted = tuned.probabilities(encoded[1]), tuned.answer(encoded[1]).predicted
    found = average_precision_score(y[test], p), f1_score(y[test], predicted), log_loss(y[test], p)
    figures = [round(float(value), 5) for value in found]
    return [name, split, method, encoding, n_train, *figures, round(time.process_time() - start, 1)]


def _levels(column: Any) -> list[str]:
    return sorted(map(str, column.dropna().unique()))


def report(found: pd.DataFrame) -> None:
    """Print the means, and the paired differences to the reference, over the tables."""
    keys = ["rows", "method", "encoding", "table", "split"]
    found = found.set_index(keys)[MEASURES].sort_index() * 100
    print("| rows | method | encoding | tables, fits | AP | difference | log-loss, difference |")
    print("|---|---|---|---|---|---|---|")
    for rows, method, encoding in dict.fromkeys(index[:3] for index in found.index):
        part = found.loc[rows, method, encoding]
        part, base = part.align(found.loc[rows, method, REFERENCE], join="inner", axis=0)
        means, differences = (each.groupby("table").mean() for each in (part, part - base))
        errors = differences.std(ddof=1) / len(differences) ** 0.5
        cells = [rows, method, encoding, f"{len(means)}, {len(part)}"]
        cells.append(f"{means['average_precision'].mean():.1f}")
        shown = ("average_precision", "log_loss")
        cells += [f"{differences[name].mean():+.2f} ± {errors[name]:.2f}" for name in shown]
        print(f"| {' | '.join(map(str, cells))} |")


def main() -> None:
    """Run what is missing, and print the table."""
    warnings.simplefilter("ignore")
    header = [*KEYS, *MEASURES, "cpu_seconds"]
    known = pd.read_csv(OUT) if OUT.exists() else pd.DataFrame(columns=header)
    done = set(known[KEYS].itertuples(index=False, name=None))
    for tables, methods, encodings, n_train, n_splits in RUNS:
        for split, *names in product(range(n_splits), tables, methods, encodings):
            name, method, encoding = names
            key = (name, split, method, encoding, n_train)
            if key in done:
                continue
            with threadpool_limits(1):
                line = run(*key)
            done.add(key)
            known = pd.concat([known, pd.DataFrame([line], columns=header)], ignore_index=True)
            known.sort_values(KEYS).to_csv(OUT, index=False)
            print(line, flush=True)
    report(pd.read_csv(OUT))


if __name__ == "__main__":
    main()
