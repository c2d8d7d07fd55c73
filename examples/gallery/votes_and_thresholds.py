"""
Three votes under one metric
============================

A minority seldom has the majority among three neighbors, even under a good metric. This example
fits the same metric with the three votes of :class:`raremetric.MetricKNNClassifier` and shows where
each of them ends up between precision and recall. The tuned votes
find more of the rare class, at the price of more false alarms. Both have about the same F1 here:
the score gains little over the adjusted vote but probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from plots import COMMON, GRAY, RARE, YELLOW, clean
from sklearn.metrics import f1_score, precision_recall_curve, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, MetricKNNClassifier, load_dataset

X, y = load_dataset("german", return_X_y=True)  # 30 % of the loans were not paid back
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# ``"adjusted"`` multiplies the distances to the rare class by a factor, and ``"score"`` compares
# the distances to both classes with a threshold. Factor, threshold and the number of neighbors are
# tuned by cross-validation inside ``fit``.

votes = {
    "majority": MetricKNNClassifier(IML()),
    "adjusted": MetricKNNClassifier(IML(), "auto", vote="adjusted", random_state=0),
    "score": MetricKNNClassifier(IML(), "auto", vote="score", random_state=0),
}
models = {
    name: make_pipeline(StandardScaler(), vote).fit(X_train, y_train)
    for name, vote in votes.items()
}
for name, model in models.items():
    predicted = model.predict(X_test)
    print(
        f"{name:9} F1 {f1_score(y_test, predicted):.2f}, "
        f"precision {precision_score(y_test, predicted):.2f}, "
        f"recall {recall_score(y_test, predicted):.2f}, {predicted.sum()} alerts"
    )

# %%
# Left: the probabilities of the score for the test examples of both classes, with the threshold.
# It is below 0.5, and yet it is the one that maximizes the expected F1. Right: all pairs of
# precision and recall that thresholds on the score can reach, and those of the three votes.

score = models["score"]
p = score.predict_proba(X_test)[:, 1]
threshold = score[-1].threshold_
colors = {"majority": GRAY, "adjusted": YELLOW, "score": RARE}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
bins = np.linspace(0, 1, 26)
left.hist(p[y_test == 0], bins, color=COMMON, label="majority class")
left.hist(p[y_test == 1], bins, color=RARE, alpha=0.7, label="minority class")
left.axvline(threshold, color="black", ls="--", lw=1)
left.text(
    threshold, 1.01, f"threshold {threshold:.2f}", transform=left.get_xaxis_transform(), ha="center"
)
left.set(xlabel="probability of the minority class", ylabel="test examples")
left.legend(frameon=False, loc="center right")
precision, recall, _ = precision_recall_curve(y_test, p)
right.plot(recall, precision, color=RARE, lw=1, drawstyle="steps-post", zorder=1)
for name, model in models.items():
    predicted = model.predict(X_test)
    point = recall_score(y_test, predicted), precision_score(y_test, predicted)
    right.scatter(*point, s=80, color=colors[name], ec="white", label=name, zorder=2)
right.set(xlabel="recall", ylabel="precision", xlim=(0, 1.03), ylim=(0, 1.05))
right.legend(title="vote", frameon=False)
clean(left, right)
plt.show()
