"""
One call: RareClassifier
========================

:class:`raremetric.RareClassifier` tries many metrics, averages the best ones, calibrates a
probability and chooses a threshold, in one call. This example compares it with the plain vote of
three neighbors on one split, and shows what it has tried and kept.
"""

import matplotlib.pyplot as plt
from plots import clean
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import Euclidean, MetricKNNClassifier, RareClassifier, load_dataset

X, y = load_dataset("ecoli3", return_X_y=True)  # 35 of 336 proteins are of the rare class
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = RareClassifier(random_state=0).fit(X_train, y_train)
plain = make_pipeline(StandardScaler(), MetricKNNClassifier(Euclidean())).fit(X_train, y_train)
for name, each in (("plain 3-NN", plain), ("RareClassifier", model)):
    f1 = f1_score(y_test, each.predict(X_test))
    precision = average_precision_score(y_test, each.predict_proba(X_test)[:, 1])
    print(f"{name:14} F1 {f1:.2f}, average precision {precision:.2f}")

# %%
# Each dot is a metric with one way to compute scores from its distances. The circles are those that
# are averaged. The rows are what happens to the features before the metric is learned: "standard"
# scales them; "importance, laplacian" also weights them by their importance in a random forest, and
# maps them by a Laplacian kernel of the given relative width. Metrics that are clearly behind after
# the first folds are not tried further, and are not drawn.

figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
model.plot_candidates(axes)
axes.set(xlabel="F1 on held-out examples, at the candidate's own threshold")
axes.margins(y=0.35)
axes.legend(loc="center left", frameon=False)
clean(axes)
plt.show()

# %%
# What to expect on new data, measured by cross-validation inside ``fit``:

print({name: round(float(value), 2) for name, value in model.validation_.items()})

# %%
# The members of the average, the ones with the largest weights first:

for member in sorted(model.ensemble_.members, key=lambda member: -member.weight)[:5]:
    print(f"{member.weight:.2f}  {member.name}")
