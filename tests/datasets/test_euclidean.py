"""The paper's three Euclidean columns, computed from our data with scikit-learn alone.

If these figures agree, then rows, columns, labels and their order are the paper's. Neighbors are
found by brute force. This differs from scikit-learn's trees only where distances are equal, on
`balance` and `hayes`, and agrees better with the paper there.
"""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric.datasets import describe_dataset, load_dataset

imblearn_over = pytest.importorskip("imblearn.over_sampling")
imblearn_under = pytest.importorskip("imblearn.under_sampling")

# Mean F1 in percent of the Euclidean distance: no pre-processing, SMOTE, random under-sampling
# (the paper's Tables 2, 3a and 3b).
PUBLISHED = {
    "splice": (76.3, 74.9, 75.9),
    "sonar": (69.2, 72.6, 70.4),
    "balance": (87.4, 87.4, 87.5),
    "australian": (79.9, 80.3, 80.4),
    "heart": (76.8, 77.3, 77.4),
    "bupa": (49.8, 54.1, 53.8),
    "spambase": (85.3, 85.9, 85.0),
    "wdbc": (94.2, 93.4, 93.7),
    "iono": (67.8, 78.4, 73.1),
    "pima": (56.2, 60.1, 60.8),
    "wine": (94.9, 92.7, 91.2),
    "glass": (66.0, 66.6, 64.6),
    "newthyroid": (83.4, 87.6, 86.6),
    "german": (35.3, 46.3, 46.7),
    "vehicle": (80.5, 80.6, 74.0),
    "spectfheart": (34.8, 47.4, 44.2),
    "hayes": (44.9, 68.0, 63.4),
    "segmentation": (81.8, 82.0, 64.6),
    "abalone": (22.6, 32.3, 32.8),
    "yeast": (73.2, 65.9, 57.2),
    "libras": (48.4, 68.3, 34.3),
    "pageblocks": (71.9, 62.0, 46.8),
}
# Small data sets from every kind of source file, and the two with equal distances.
FAST = ["balance", "german", "hayes", "heart", "libras", "wine"]


def tolerance(name):
    """In percentage points of F1; larger if the paper's splits cannot be repeated exactly."""
    special = {"balance": 0.5, "hayes": 5.0}
    return special.get(name, 0.1 if describe_dataset(name).paper_order else 1.5)


def unchanged(X, y):
    return X, y


def smote(X, y):
    k_neighbors = min(5, int(y.sum()) - 1)
    return imblearn_over.SMOTE(random_state=42, k_neighbors=k_neighbors).fit_resample(X, y)


def undersample(X, y):
    return imblearn_under.RandomUnderSampler(random_state=42).fit_resample(X, y)


def f1_of_split(X, y, split, resample):
    rng = np.random.RandomState(split)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, stratify=y, shuffle=True, test_size=0.7, random_state=rng
    )
    X_train, y_train = resample(X_train, y_train)
    scaler = StandardScaler().fit(X_train)
    classifier = KNeighborsClassifier(3, algorithm="brute").fit(scaler.transform(X_train), y_train)
    return f1_score(y_test, classifier.predict(scaler.transform(X_test)))


def check_columns(name):
    X, y = load_dataset(name, return_X_y=True)
    for published, resample in zip(PUBLISHED[name], (unchanged, smote, undersample), strict=True):
        ours = 100 * np.mean([f1_of_split(X, y, split, resample) for split in range(1, 21)])
        # Published figures are rounded to one decimal.
        assert abs(ours - published) <= tolerance(name), (resample.__name__, ours, published)


@pytest.mark.parametrize("name", FAST)
def test_euclidean_columns(name):
    check_columns(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_euclidean_columns_of_all(name):
    check_columns(name)
