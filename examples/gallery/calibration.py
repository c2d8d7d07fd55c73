"""
Calibrated probabilities
========================

If 100 test examples have a predicted probability of about 0.3, about 30 of them should belong to
the class. The share of votes among three neighbors has only four values and is too extreme.
``vote="score"`` is calibrated on held-out examples inside ``fit``: its dots are closer to the
diagonal, and its Brier score is lower.

Each dot is the share of the rare class among held-out examples with about the same probability,
over ten repeats of the cross-validation. Larger dots are for more examples; the bar is the 95 %
interval of the share.
"""

import matplotlib.pyplot as plt
import numpy as np
from plots import draw_reliability
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, MetricKNNClassifier, load_dataset

X, y = load_dataset("yeast3", return_X_y=True)  # 11 % are of the rare class
votes = {
    "Share of three votes": MetricKNNClassifier(BalancedDiscriminant()),
    "Calibrated score": MetricKNNClassifier(
        BalancedDiscriminant(), "auto", vote="score", random_state=0
    ),
}
figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained", sharey=True)
for axes, (title, vote) in zip(panels, votes.items(), strict=True):
    model = make_pipeline(StandardScaler(), vote)
    p = np.stack(
        [
            cross_val_predict(
                model,
                X,
                y,
                cv=StratifiedKFold(5, shuffle=True, random_state=seed),
                method="predict_proba",
            )[:, 1]
            for seed in range(10)
        ]
    )
    loss = draw_reliability(axes, p, y)
    axes.set_title(f"{title}\nBrier score {loss:.3f}")
panels[0].set_ylabel("observed share of the rare class")
plt.show()
