"""Over- and under-sampling of the rows that are learned from, and who is not resampled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from raremetric.extras import import_optional
from raremetric.validation import check_option

RESAMPLING = ("none", "smote", "rus")
RESAMPLING_SEED = 42


def resample(X: NDArray, y: NDArray, resampling: str) -> tuple[NDArray, NDArray]:
    """Over- or under-sample examples until both classes have the same size.

    "rus" is random under-sampling.
    """
    check_option(resampling, "resampling", RESAMPLING)
    if resampling == "none":
        return X, y
    if resampling == "rus":
        under = import_optional("imblearn.under_sampling", "Under-sampling")
        return under.RandomUnderSampler(random_state=RESAMPLING_SEED).fit_resample(X, y)
    n_minority = int(np.bincount(y).min())
    if n_minority < 2:
        raise ValueError(
            f"SMOTE needs two minority examples to draw a line between; there is {n_minority}."
        )
    over = import_optional("imblearn.over_sampling", "SMOTE")
    smote = over.SMOTE(random_state=RESAMPLING_SEED, k_neighbors=min(5, n_minority - 1))
    return smote.fit_resample(X, y)


def check_resamplings(
    names: Sequence[str], resamplings: Iterable[str], where: str = "got"
) -> list[str]:
    """The rule for contenders that choose a threshold: they run with resampling 'none' only.

    Given their ``names`` and what all contenders are to be combined with, returns a note if there
    is more than this; an error, where ``where`` begins the list, if they would not run at all.
    """
    wanted = list(resamplings)
    if not names or wanted == ["none"]:
        return []
    chooses, runs = ("chooses", "runs") if len(names) == 1 else ("choose", "run")
    rule = (
        f"{', '.join(names)} {chooses} a threshold instead of resampling, and {runs} with "
        "resampling 'none' only"
    )
    if "none" in wanted:
        return [f"{rule}."]
    raise ValueError(
        f"{rule}; {where} {', '.join(wanted)}. Add 'none', or use methods in which neighbors vote."
    )
