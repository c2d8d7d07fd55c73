"""
Your own learner in a study
===========================

A study compares learners on many data sets with the same splits, the same tuning and the same vote.
A learner of your own takes part by its import path: no change of the package is needed. Everything
in this example can also be done in a terminal; the commands are shown. In this small study, with
ten candidates and three splits, IML is behind the Euclidean distance on most of the four data sets:
too little to conclude anything, and a reason to run more splits.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from plots import BLUE, GRAY, RARE, clean

folder = Path(tempfile.mkdtemp())

# %%
# The learner is a transformer with scikit-learn's interface, in a file that Python can import.
# This one weights each feature by how well it separates the class means.

_ = (folder / "my_learner.py").write_text('''
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class VarianceRatio(TransformerMixin, BaseEstimator):
    """Features times the root of their total variance over that within the classes."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y):
        classes = [X[y == label] for label in np.unique(y)]
        within = np.mean([rows.var(axis=0) for rows in classes], axis=0)
        between = np.var([rows.mean(axis=0) for rows in classes], axis=0)
        self.scale_ = ((within + between + 0.001) / (within + 0.001)) ** (self.power / 2)
        return self

    def transform(self, X):
        return X * self.scale_
''')

# %%
# The study: four data sets, three splits, three learners. ``power`` is tuned like the parameters
# of the other learners.

_ = (folder / "mine.toml").write_text("""
name = "mine"
title = "Variance ratios"
datasets = ["newthyroid", "wine", "glass", "ecoli3"]
splits = 3

[learners.Euclidean]

[learners.IML-10]
kind = "IML"
candidates = 10

[learners.ratio]
kind = "my_learner:VarianceRatio"

[learners.ratio.grid]
power = [0.5, 1.0, 2.0, 4.0]
""")

# %%
# Run it, and export the results. In a terminal, these would be ``raremetric study run mine.toml
# --store mine.sqlite`` and ``raremetric study export mine.sqlite mine.csv.gz``.


def run(command):
    """Run a command of raremetric in the folder, and print the last line of its output."""
    call = [sys.executable, "-c", "from raremetric.cli import app; app()", *command.split()]
    done = subprocess.run(call, cwd=folder, check=True, capture_output=True, text=True)
    print((done.stdout or done.stderr).strip().splitlines()[-1])


run("study run mine.toml --store mine.sqlite")
run("study export mine.sqlite mine.csv.gz")

# %%
# One row per data set, split and learner. ``raremetric study report`` would write tables, ranks
# and tests; here, we draw the means.

rows = pd.read_csv(folder / "mine.csv.gz", skiprows=1)  # line 1: the study
rows["F1"] = 2 * rows.tp / (2 * rows.tp + rows.fp + rows.fn)
means = rows.pivot_table("F1", "dataset", "learner")
print(means.round(3))
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
colors = {"Euclidean": GRAY, "IML-10": RARE, "ratio": BLUE}
for learner, color in colors.items():
    axes.scatter(means[learner], means.index, s=70, color=color, label=learner, zorder=2)
for name, values in means.iterrows():
    axes.plot([values.min(), values.max()], [name, name], color="#d5d9de", lw=2, zorder=1)
axes.set(xlabel="mean F1 over three splits")
axes.margins(y=0.15)
clean(axes)
figure.legend(loc="outside upper center", ncols=3, frameon=False)
plt.show()
shutil.rmtree(folder)
