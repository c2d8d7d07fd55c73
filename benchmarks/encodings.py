"""How text with many levels is best encoded.

For tables made from public data, each with one to three columns of text that have many levels, and
for each encoding of these columns, this fits logistic regression and boosting in three folds, and
`rare` (fast) in the first of them, because it takes longer. Everything, including the encoding, is
fitted on the training rows of a fold. The table printed at the end has, for each encoding and
model, the average precision and F1 (in percent), and the difference to the encoding "frequent"
with its standard error over the tables. The last column shows how much higher the F1 is that the
model reports from its own cross-validation, if the encoding is fitted before. Run

    python benchmarks/encodings.py [ENCODING ...]

It writes benchmarks/results/encodings.csv, one line per fold, and continues an interrupted run;
delete the file to start again. Encodings that begin with "skrub" need `pip install skrub`. Those
that encode the whole table run only if they are named: "whole table" and "skrub whole table".
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from many_level_tables import TABLES, sample
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from raremetric import TableEncoder
from raremetric.table.fitting import fit_method

OUT = Path(__file__).parent / "results" / "encodings.csv"
N_FOLDS = 3
N_FREQUENT = 15
N_HASHED = 16
N_COMPONENTS = 10
FIELDS = ["table", "encoding", "model", "fold", "average_precision", "f1", "validation"]
REFERENCE = "frequent"


# The encodings: from training and test column to training and test features


def left_out(train, y, test):
    return np.zeros((len(train), 0)), np.zeros((len(test), 0))


def frequent(train, y, test):
    """The most frequent levels, all others, and the share of the level."""
    shares = train.value_counts(normalize=True)
    kept = shares[shares > 1 / len(train)].index[:N_FREQUENT]

    def encode(column):
        flags = np.column_stack([column == level for level in kept] or [np.zeros(len(column))])
        return np.column_stack([flags, ~flags.any(axis=1), column.map(shares).fillna(0)])

    return encode(train).astype(float), encode(test).astype(float)


def target(smooth, log_odds=False):
    def encode(train, y, test):
        encoder = TargetEncoder(target_type="binary", smooth=smooth, random_state=0)
        parts = encoder.fit_transform(train.to_frame(), y), encoder.transform(test.to_frame())
        if log_odds:
            parts = [np.log(part / (1 - part)) for part in parts]
        return tuple(parts)

    return encode


def with_counts(encode):
    """Also the logarithm of the number of training rows with the level."""

    def both(train, y, test):
        counts = train.value_counts()
        sizes = [np.log1p(part.map(counts).fillna(0)) for part in (train, test)]
        parts = encode(train, y, test)
        return tuple(np.column_stack(pair) for pair in zip(parts, sizes, strict=True))

    return both


def hashed(train, y, test):
    hasher = FeatureHasher(N_HASHED, input_type="string")
    return tuple(hasher.transform([[v] for v in part]).toarray() for part in (train, test))


def ngrams(n_components):
    """Latent semantic analysis of n-grams of characters, as in skrub's StringEncoder."""

    def encode(train, y, test):
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))
        sparse = vectorizer.fit_transform(train)
        svd = TruncatedSVD(min(n_components, sparse.shape[1] - 1), random_state=0)
        return svd.fit_transform(sparse), svd.transform(vectorizer.transform(test))

    return encode


def table_encoder(train, y, test):
    """What `TableEncoder` does: n-grams are hashed, so that a model has a limited size."""
    encoder = TableEncoder(max_levels=1).fit(train.to_frame())
    return encoder.transform(train.to_frame()), encoder.transform(test.to_frame())


def skrub_encoder(name, **settings):
    def encode(train, y, test):
        import skrub

        encoder = getattr(skrub, name)(**settings)
        return np.asarray(encoder.fit_transform(train)), np.asarray(encoder.transform(test))

    return encode


def together(*encoders):
    def encode(train, y, test):
        parts = zip(*(each(train, y, test) for each in encoders), strict=True)
        return tuple(np.column_stack(part) for part in parts)

    return encode


ENCODINGS: dict[str, Callable] = {
    "left out": left_out,
    REFERENCE: frequent,
    "target, auto": target("auto"),
    "target": target(10.0),
    "target, log-odds": target(10.0, log_odds=True),
    "target + count": with_counts(target(10.0, log_odds=True)),
    "frequent + target": together(frequent, target(10.0, log_odds=True)),
    "hashed": hashed,
    "n-grams": ngrams(N_COMPONENTS),
    "n-grams, hashed (TableEncoder)": table_encoder,
    "n-grams, 30": ngrams(30),
    "n-grams + frequent": together(ngrams(N_COMPONENTS), frequent),
    "n-grams + target": together(ngrams(N_COMPONENTS), target(10.0, log_odds=True)),
    "skrub StringEncoder": skrub_encoder("StringEncoder", n_components=N_COMPONENTS),
    "skrub GapEncoder": skrub_encoder("GapEncoder", n_components=N_COMPONENTS, random_state=0),
}


def table_vectorizer():
    import skrub

    texts = skrub.StringEncoder(N_COMPONENTS, ngram_range=(2, 4), random_state=0)
    encoder = skrub.TableVectorizer(cardinality_threshold=21, high_cardinality=texts)
    return make_pipeline(encoder, SimpleImputer(strategy="median"))


# They get text as categories, as `read_table` makes it.
WHOLE_TABLE: dict[str, Callable] = {
    "whole table": TableEncoder,
    "skrub whole table": table_vectorizer,
}


# The models


def fit_contender(method):
    def fit(X, y, queries):
        tuned = fit_method(method, X, y)
        predicted, score = tuned.answer(queries)
        reported = getattr(tuned.model, "best_score_", np.nan)
        return predicted, score, reported

    return fit


def fit_boosting(X, y, queries):
    boosting = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=15, random_state=0)
    model = TunedThresholdClassifierCV(boosting, scoring="f1", cv=3, random_state=0).fit(X, y)
    return model.predict(queries), model.predict_proba(queries)[:, 1], model.best_score_


MODELS = {
    "logistic": fit_contender("logistic"),
    "boosting": fit_boosting,
    "rare": fit_contender("rare"),
}


def run(data: tuple, name: str, encoding: str, model: str, fold: int) -> list:
    warnings.simplefilter("ignore")
    frame, many, y = data
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    train, test = list(folds.split(frame, y))[fold]
    if encoding in WHOLE_TABLE:
        frame = frame.astype(dict.fromkeys(frame.select_dtypes(exclude="number"), "category"))
        encoder = WHOLE_TABLE[encoding]().fit(frame.iloc[train])
        X, queries = (np.asarray(encoder.transform(frame.iloc[rows])) for rows in (train, test))
    else:
        others = TableEncoder(max_levels=100).fit(frame.drop(columns=many).iloc[train])
        parts = [[others.transform(frame.iloc[rows])] for rows in (train, test)]
        for column in many:
            texts = frame[column].iloc[train], frame[column].iloc[test]
            encoded = ENCODINGS[encoding](texts[0], y[train], texts[1])
            for part, features in zip(parts, encoded, strict=True):
                part.append(features)
        X, queries = map(np.column_stack, parts)
    predicted, score, reported = MODELS[model](X, y[train], queries)
    precision = average_precision_score(y[test], score)
    f1 = f1_score(y[test], predicted == 1, zero_division=0)
    figures = [f"{value:.5f}" for value in (precision, f1, reported)]
    return [name, encoding, model, fold, *figures]


def report(found: pd.DataFrame) -> None:
    """Print the means over the tables, and the paired differences to the reference."""
    print("| encoding | model | tables | AP | difference | F1 | difference | reported F1 − F1 |")
    print("|---|---|---|---|---|---|---|---|")
    figures = ["average_precision", "f1", "validation"]
    found = found.set_index(["encoding", "model", "table", "fold"])[figures] * 100
    for encoding, model in dict.fromkeys(index[:2] for index in found.index):
        part, base = found.loc[encoding, model], found.loc[REFERENCE, model]
        # Folds that are missing in one of them are left out.
        part, base = part.align(base, join="inner", axis=0)
        means, differences = (each.groupby("table").mean() for each in (part, part - base))
        errors = differences.std(ddof=1) / len(differences) ** 0.5
        cells = [encoding, model, str(len(means))]
        for each in figures[:2]:
            cells.append(f"{means[each].mean():.1f}")
            cells.append(f"{differences[each].mean():+.1f} ± {errors[each]:.1f}")
        optimism = (means["validation"] - means["f1"]).mean()
        print(f"| {' | '.join(cells)} | {optimism:+.1f} |")


def main(encodings: list[str]) -> None:
    """Run what is missing, and print the table."""
    tasks = [
        (name, encoding, model, fold)
        for model in MODELS
        for encoding in encodings or ENCODINGS
        for name in TABLES
        for fold in range(1 if model == "rare" else N_FOLDS)
    ]
    OUT.parent.mkdir(exist_ok=True)
    if not OUT.exists():
        OUT.write_text(",".join(FIELDS) + "\n")
    known = pd.read_csv(OUT)
    done = set(known[FIELDS[:4]].itertuples(index=False, name=None))
    samples = {name: sample(name) for name in TABLES}
    missing = [delayed(run)(samples[task[0]], *task) for task in tasks if task not in done]
    with OUT.open("a", newline="") as file:
        rows = csv.writer(file)
        for row in Parallel(2, return_as="generator_unordered")(missing):
            rows.writerow(row)
            file.flush()
    report(pd.read_csv(OUT))


if __name__ == "__main__":
    main(sys.argv[1:])
