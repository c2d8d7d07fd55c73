"""
As the minority shrinks
=======================

The paper begins with this experiment: examples of the minority of spectfheart are removed, and the
methods are compared at each share. The accuracy rises, because more and more examples belong to
the majority. The F1 of the minority falls, because the majority wins more and more votes.

Here, each method has its default parameters, and every point is the mean over ten random halves of
one data set. IML keeps the highest F1 at the smallest shares, but its F1 falls, too, and its errors
overlap with those of others. What holds over all data sets is on the page :doc:`/evidence/paper`.
"""

import matplotlib.pyplot as plt
import numpy as np
from plots import BLUE, GRAY, RARE, YELLOW, clean, draw_lines
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import GMML, IML, LMNN, Euclidean, MetricKNNClassifier, load_dataset
from raremetric.datasets import with_minority_share

SHARES = (0.5, 0.4, 0.3, 0.2, 0.1)
N_SPLITS = 10
LEARNERS = {
    "Euclidean": Euclidean(),
    "GMML": GMML(random_state=1),
    "LMNN": LMNN(),
    "IML": IML(),
}
COLORS = dict(zip(LEARNERS, (GRAY, YELLOW, BLUE, RARE), strict=True))

# %%
# One score for each share, split, learner and measure.
# :func:`raremetric.datasets.with_minority_share` removes examples of one class; with the same
# seed, the smaller set is a part of the larger one.

X, y = load_dataset("spectfheart", return_X_y=True)
scores = np.empty((len(SHARES), N_SPLITS, len(LEARNERS), 2))
for i, share in enumerate(SHARES):
    for seed in range(N_SPLITS):
        X_kept, y_kept = with_minority_share(X, y, share, random_state=seed)
        X_train, X_test, y_train, y_test = train_test_split(
            X_kept, y_kept, test_size=0.5, stratify=y_kept, random_state=seed
        )
        for j, learner in enumerate(LEARNERS.values()):
            model = make_pipeline(StandardScaler(), MetricKNNClassifier(learner))
            predicted = model.fit(X_train, y_train).predict(X_test)
            scores[i, seed, j] = accuracy_score(y_test, predicted), f1_score(y_test, predicted)

# %%
# Draw both measures. The shaded band is one standard error over the splits.

figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for axes, measure, title in zip(panels, (0, 1), ("accuracy", "F1 of the minority"), strict=True):
    by_name = {name: scores[:, :, j, measure] for j, name in enumerate(LEARNERS)}
    draw_lines(axes, SHARES, by_name, COLORS)
    axes.set(xlabel="share of the minority", title=title, ylim=(0, 1))
    axes.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
    axes.invert_xaxis()
clean(*panels)
panels[0].plot(SHARES, [1 - s for s in SHARES], ":", color="black", label="always the majority")
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False
)
plt.show()

# %%
# The dotted line is the accuracy of a classifier that never predicts the minority. At a share of
# 10 %, no method exceeds it: accuracy says little about a rare class.

for name, row in zip(LEARNERS, scores[-1].mean(axis=0), strict=True):
    print(f"{name:10} at 10 %: accuracy {row[0]:.2f}, F1 {row[1]:.2f}")
