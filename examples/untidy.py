"""Write a table as exported from a spreadsheet: text, missing values, decimal commas.

    python examples/untidy.py abalone.csv

It is derived from a data set of KEEL (731 abalones, 42 of them old). The commands of docs/table
can be tried on it.
"""

from __future__ import annotations

import sys

import numpy as np

from raremetric.datasets import load_dataset

MISSING_SHARE = 0.03


def make_untidy(seed: int = 0):
    bunch = load_dataset("abalone9-18", as_frame=True)
    table = bunch.data.rename(columns=str.lower)
    sexes = {"sex=m": "male", "sex=f": "female", "sex=i": "infant"}
    sex = table[list(sexes)].idxmax(axis=1).map(sexes)
    table = table.drop(columns=list(sexes))
    table.insert(0, "sex", sex)
    rng = np.random.default_rng(seed)
    table = table.mask(rng.random(table.shape) < MISSING_SHARE)
    table.insert(0, "shell", [f"A{number:03d}" for number in range(1, len(table) + 1)])
    table["age"] = np.where(bunch.target == 1, "old", "young")
    return table


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "abalone.csv"
    make_untidy().to_csv(path, sep=";", decimal=",", index=False)
    print(f"{path}: Try: raremetric compare {path} --target age --ignore shell")


if __name__ == "__main__":
    main()
