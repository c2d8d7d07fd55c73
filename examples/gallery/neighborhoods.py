"""
Neighborhoods before and after
==============================

Lines lead from test points to the three training points that vote on them: from every point of the
rare class, and from every false alarm. Under the metric that :class:`raremetric.IML` has learned,
more rare points are found than under the Euclidean distance.

The data set is libras, on which the gain is the second-largest of the paper's 22 data sets. Of nine
random halves, the one with the median gain in F1 is shown. Both panels are projections to a plane:
the difference of the class means, and the largest variance orthogonal to it.
"""

import matplotlib.pyplot as plt
from plots import draw_neighborhoods
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from raremetric import IML, Euclidean, MetricKNNClassifier, load_dataset

X, y = load_dataset("libras", return_X_y=True)  # 24 of 360 hand movements are rare


def fit_both(seed):
    """The gain in F1, both models, and the data of the split."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(X_train)
    train, test = (scaler.transform(X_train), y_train), (scaler.transform(X_test), y_test)
    models = [MetricKNNClassifier(learner).fit(*train) for learner in (Euclidean(), IML())]
    plain, learned = (f1_score(y_test, model.predict(test[0])) for model in models)
    return learned - plain, seed, models, train, test


gain, seed, models, train, test = sorted(map(fit_both, range(9)), key=lambda split: split[:2])[4]

# %%
# Draw both panels.

figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for axes, model, name in zip(panels, models, ("Euclidean distance", "Learned by IML"), strict=True):
    draw_neighborhoods(axes, model, train, test)
    alerts = model.predict(test[0])
    axes.set_title(
        f"{name}: {alerts[test[1] == 1].sum()} of {test[1].sum()} rare points found, "
        f"{alerts[test[1] == 0].sum()} false alarms"
    )
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False
)
plt.show()
