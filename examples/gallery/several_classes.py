"""
More than two classes
=====================

IML gives each class the same weight, for any number of classes. Here, three of the ten handwritten
digits are rare: only 12 images of each are kept for training. One metric is learned for all
classes, or one for each class against the rest (``multiclass="one_vs_rest"``, as the paper
proposes). The picture shows the F1 of each digit: the metric helps most rare ones, and a tuned
threshold helps the frequent ones only.
"""

import matplotlib.pyplot as plt
import numpy as np
from plots import clean
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from raremetric import IML, Euclidean, MetricKNNClassifier

RARE, KEPT = (3, 8, 9), 12
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, stratify=y, random_state=0
)
rng = np.random.RandomState(0)
kept = np.concatenate(
    [rng.permutation(np.flatnonzero(y_train == d))[: KEPT if d in RARE else 60] for d in range(10)]
)
X_train, y_train = X_train[kept], y_train[kept]

# %%
# Pixels are already on a common scale; 20 principal components keep the fits short.

models = {
    "3-NN, Euclidean": MetricKNNClassifier(Euclidean()),
    "3-NN, IML": MetricKNNClassifier(IML()),
    "3-NN, IML, one vs. rest": MetricKNNClassifier(IML(), multiclass="one_vs_rest"),
    "score, IML": MetricKNNClassifier(IML(), 5, vote="score", random_state=0),
}
scores = {}
for name, model in models.items():
    models[name] = make_pipeline(PCA(20, random_state=0), model).fit(X_train, y_train)
    scores[name] = f1_score(y_test, models[name].predict(X_test), average=None)
    rare = scores[name][list(RARE)].mean()
    print(f"{name:24} mean F1 {scores[name].mean():.3f}, of the rare digits {rare:.3f}")

# %%
# The F1 of each class, with the rare ones marked.

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
for digit in RARE:
    axes.axvspan(digit - 0.45, digit + 0.45, color="#fbe9eb", lw=0)
styles = zip(scores.items(), ("#6b7280", "#d1495b", "#e2a03f", "#33658a"), "osD^", strict=True)
for j, ((name, values), color, marker) in enumerate(styles):
    axes.plot(np.arange(10) + 0.12 * (j - 1.5), values, marker, color=color, label=name)
axes.set_xticks(range(10), [f"{d}\nrare" if d in RARE else f"{d}" for d in range(10)])
axes.set(xlabel="digit", ylabel="F1", ylim=(None, 1.01))
clean(axes)
figure.legend(loc="outside upper center", ncols=4, frameon=False)
plt.show()

# %%
# The mean F1 over the classes counts each class the same. A tuned vote (``vote="score"``) has one
# threshold for each class. For the rare digits, it is estimated from very few examples: compared
# with the vote of three neighbors, the F1 of the frequent digits rises, and that of the rare digits
# does not.
