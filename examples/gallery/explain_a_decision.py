"""
Explain a decision
==================

A prediction by neighbors can be explained in two ways: by the training examples that it is based
on, and by the features that matter. This example explains one prediction of a tumor data set, of
which most malignant cases have been removed: the bars show which training examples and which
columns made it malignant.
"""

import matplotlib.pyplot as plt
import numpy as np
from plots import GRAY, clean
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, MetricKNNClassifier
from raremetric.datasets import with_minority_share
from raremetric.explain import column_contributions, feature_weights, plot_neighbors

bunch = load_breast_cancer(as_frame=True)
X = bunch.data[[name for name in bunch.data if name.startswith("mean")]]
X, y = with_minority_share(X, (bunch.target == 0).to_numpy().astype(int), 0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
learner = MetricKNNClassifier(IML(), 7, vote="score", random_state=0)
model = make_pipeline(StandardScaler(), learner).fit(X_train, y_train)

# %%
# Of the malignant test examples that are predicted correctly, take the one with the lowest
# probability.

p = model.predict_proba(X_test)[:, 1]
found = np.flatnonzero((model.predict(X_test) == 1) & (y_test == 1))
row = found[np.argmin(p[found])]
x = X_test.iloc[[row]]
print(f"probability of malignant {p[row]:.2f}, threshold {model[-1].threshold_:.2f}")

# %%
# **Which examples?** These three training examples are nearest under the learned metric. The bars
# are the parts of the squared distance that are due to each feature. A part can be negative,
# because the metric takes correlations into account: two differences can partly cancel.

nearest = model[-1].kneighbors(model[:-1].transform(x), n_neighbors=3, return_distance=False)[0]
names = [f"{'malignant' if y_train[i] else 'benign'}, row {i}" for i in nearest]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharex=True, sharey=True)
plot_neighbors(model, x.iloc[0], X_train.iloc[nearest], labels=names, n_features=7, axes=axes)
plt.show()

# %%
# **Which features?** The Shapley values of the score: how much each feature moves this example
# away from the mean score of the training examples. They add up to the difference.

parts = column_contributions(model, x, X_train, random_state=0)
order = np.argsort(np.abs(parts.values[0]))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
values = parts.values[0][order]
left.barh(np.array(X.columns)[order], values, color=np.where(values > 0, "#d9541e", "#3b82c4"))
left.axvline(0, color="0.4", lw=0.8)
left.set(title="this example: effect on the score", xlabel=parts.scale)
weights = feature_weights(model)[order]
right.barh(range(len(order)), weights, color=GRAY)
right.set(title="all examples: share of the metric", xlabel="weight of the feature in the metric")
clean(left, right)
plt.show()
