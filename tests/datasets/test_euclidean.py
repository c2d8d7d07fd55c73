"""The paper's three Euclidean columns, computed from our data with scikit-learn alone.

If these figures agree, then rows, columns, labels and their order are the paper's. Neighbors are
found by brute force. This differs from scikit-learn's trees only where distances are equal, on
`balance` and `hayes`, and agrees better with the paper there.
"""

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import RandomUnderSampler
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from paper.printed import paper_table
from raremetric.datasets import load_dataset

# Without resampling, and with it: the paper's Tables 2, 3a and 3b.
TABLES = [paper_table(name) for name in ("table2", "table3-smote", "table3-rus")]
# Small data sets from every kind of source file, and the two with equal distances.
FAST = ["balance", "german", "hayes", "heart", "libras", "wine"]


def tolerance(name):
    """In percentage points of F1; larger where equal distances are ordered in another way."""
    return {"balance": 0.5, "hayes": 5.0}.get(name, 0.1)


def unchanged(X, y):
    return X, y


def smote(X, y):
    k_neighbors = min(5, int(y.sum()) - 1)
    return SMOTE(random_state=42, k_neighbors=k_neighbors).fit_resample(X, y)


def undersample(X, y):
    return RandomUnderSampler(random_state=42).fit_resample(X, y)


def f1_of_split(X, y, split, resample):
    rng = np.random.RandomState(split)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, stratify=y, shuffle=True, test_size=0.7, random_state=rng
    )
    X_train, y_train = resample(X_train, y_train)
    scaler = StandardScaler().fit(X_train)
    classifier = KNeighborsClassifier(3, algorithm="brute").fit(scaler.transform(X_train), y_train)
    return f1_score(y_test, classifier.predict(scaler.transform(X_test)))


@pytest.mark.parametrize("name", FAST)
def test_euclidean_columns(name):
    X, y = load_dataset(name, return_X_y=True)
    for table, resample in zip(TABLES, (unchanged, smote, undersample), strict=True):
        ours = 100 * np.mean([f1_of_split(X, y, split, resample) for split in range(1, 21)])
        printed = table.scores[name, "Euclidean"].mean  # rounded to one decimal
        assert abs(ours - printed) <= tolerance(name), (resample.__name__, ours, printed)
