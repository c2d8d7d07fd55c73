"""
A large table
=============

With many examples, the pairs of a sample of them are enough to learn a metric. ``max_samples`` is
the size of the sample (20,000 by default). All examples of the rare class are in it, and the
neighbors of the sampled examples are searched among all examples. The pictures show that the F1
hardly depends on the sample, and that a small one saves most of the time.

The table is simulated: 20 features, 0.5 % positives in five clusters, and directions of a large
variance that say nothing about the class. Scaling the features cannot remove these, because they
are not parallel to the axes.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from plots import BLUE, GRAY, RARE, clean
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score

from raremetric import IML, Euclidean, MetricKNNClassifier


def make_table(n, seed):
    """Five clusters of positives in six directions; eight others have a large variance."""
    rng, fixed = np.random.RandomState(seed), np.random.RandomState(0)
    centers = 2.2 * fixed.normal(size=(5, 6))
    directions = np.linalg.qr(fixed.normal(size=(20, 20)))[0]
    y = (rng.uniform(size=n) < 0.005).astype(int)
    latent = rng.normal(size=(n, 20)) * np.repeat([1.0, 2.5, 0.5], [6, 8, 6])
    latent[y == 1, :6] = 0.7 * latent[y == 1, :6] + centers[rng.randint(5, size=y.sum())]
    return latent @ directions, y


X, y = make_table(40_000, seed=2)
X_test, y_test = make_table(8_000, seed=1)
print(f"{len(y)} rows, {y.sum()} of them positive")

# %%
# Fit with all examples as anchors, and with samples of them. A short fit comes first: it loads the
# compiled code. :class:`sklearn.frozen.FrozenEstimator` uses a metric that is already fitted.


def test_score(metric):
    """F1 of the three nearest neighbors under a fitted metric."""
    model = MetricKNNClassifier(FrozenEstimator(metric)).fit(X, y)
    return f1_score(y_test, model.predict(X_test))


IML(tol=1e-2).fit(X[:2000], y[:2000])
sizes, seconds, scores = (40_000, 20_000, 5_000, 1_000), [], []
for size in sizes:
    start = process_time()
    metric = IML(max_samples=size, random_state=0).fit(X, y)
    seconds.append(process_time() - start)
    scores.append(test_score(metric))
plain = test_score(Euclidean().fit(X, y))
print("F1:", ", ".join(f"{score:.2f}" for score in scores), f"(Euclidean: {plain:.2f})")

# %%
# The F1 hardly depends on the sample, and the time does. Time depends on the machine, so it is
# shown as a fraction of the time with all anchors. :doc:`/guide/large` has measurements of larger
# tables, and says how a table that does not fit in memory is read.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
labels = [f"{size:,}" for size in sizes]
left.bar(labels, np.divide(seconds, seconds[0]), 0.6, color=BLUE)
left.set(ylabel="CPU time of the fit, relative", xlabel="anchors")
right.bar(labels, scores, 0.6, color=RARE, label="IML")
right.axhline(plain, color=GRAY, ls="--", label="Euclidean distance")
right.set(ylabel="F1 on other rows", xlabel="anchors", ylim=(0, 1))
right.legend(frameon=False)
clean(left, right)
plt.show()
