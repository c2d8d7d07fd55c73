"""
Costs and alert budgets
=======================

F1 is not always the aim. If a missed case costs more than a false alarm, or if a team can check
only a fixed number of rows per day, the threshold should follow from that.
:class:`raremetric.RareClassifier` takes the aim as ``scoring``. The table shows what each aim finds
and costs on rows that were not seen. With as few as 15 rare
test rows, a minimum recall is met in expectation only: compare what was found with 0.9.
"""

import matplotlib.pyplot as plt
import numpy as np
from plots import BLUE, COMMON, GRAY, RARE, clean
from sklearn.model_selection import train_test_split

from raremetric import RareClassifier, load_dataset

X, y = load_dataset("yeast-1_vs_7", return_X_y=True)  # 6.5 % are of the rare class
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# Four aims: F1, a minimum recall, and costs at which a miss is as bad as 5 or 30 false alarms.

MISS, ALARM = 30, 1
aims = {
    "F1": "f1",
    "recall ≥ 0.9": "recall>=0.9",
    "a miss costs 5": [[0, 1], [5, 0]],
    "a miss costs 30": [[0, ALARM], [MISS, 0]],
}
models = {
    name: RareClassifier(scoring=scoring, random_state=0).fit(X_train, y_train)
    for name, scoring in aims.items()
}
print("aim              threshold  alerts  found  missed  cost at 30:1")
for name, model in models.items():
    found = model.predict(X_test) == 1
    alerts, hits, missed = found.sum(), y_test[found].sum(), y_test[~found].sum()
    cost = MISS * missed + ALARM * (alerts - hits)
    print(f"{name:16} {model.threshold_:9.3f} {alerts:7} {hits:6} {missed:7} {cost:13}")

# %%
# ``validation_`` says what to expect on new data. It is measured by cross-validation of the
# training part, and includes how many of 1000 rows will be alerts.

for name, model in models.items():
    expected = {key: round(value, 2) for key, value in model.validation_.items()}
    print(
        f"{name}: {expected['alerts_per_1000']:.0f} alerts per 1000 rows,"
        f" recall {expected['recall']}, precision {expected['precision']}"
    )

# %%
# With a fixed number of alerts, no threshold is needed: take the rows with the highest
# probabilities. Left: the cost of the test rows at each threshold; the dashed lines are thresholds
# that were chosen without seeing these rows. Right: how many rare rows are among the first alerts.

p = models["a miss costs 30"].predict_proba(X_test)[:, 1]
thresholds = np.unique(np.r_[0, p, 1])
costs = [MISS * y_test[p < t].sum() + ALARM * (y_test[p >= t] == 0).sum() for t in thresholds]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.step(thresholds, costs, where="post", color=BLUE)
chosen = models["a miss costs 30"].threshold_
for name, position, color in (
    ("chosen for costs", chosen, RARE),
    ("chosen for F1", models["F1"].threshold_, GRAY),
):
    left.axvline(position, color=color, ls="--", lw=1.2, label=name)
left.set(xscale="log", xlabel="threshold", ylabel="cost of the test rows", ylim=(0, None))
left.legend(frameon=False)
order = np.argsort(-p, kind="stable")
right.plot(np.arange(1, len(p) + 1), np.cumsum(y_test[order]), color=RARE, label="by probability")
right.plot([0, len(p)], [0, y_test.sum()], color=COMMON, label="at random")
right.set(xlabel="number of alerts", ylabel="rare rows found", xlim=(0, 120), ylim=(0, None))
right.legend(frameon=False, loc="upper left")
clean(left, right)
plt.show()
