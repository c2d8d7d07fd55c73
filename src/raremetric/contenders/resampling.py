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

    Parameters
    ----------
    X, y : ndarray
        Examples with the classes 0 and 1.
    resampling : {"none", "smote", "rus"}
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


def refuse_resampling(names: Sequence[str], resamplings: Iterable[str], where: str = "got") -> None:
    """Raise an error if there are names of contenders that are not resampled, but should be."""
    if names and set(resamplings) != {"none"}:
        raise ValueError(f"{not_resampled(names)}; {where} {', '.join(resamplings)}.")


def not_resampled(names: Sequence[str]) -> str:
    """Why some contenders are not combined with resampling; without a period."""
    return (
        f"{', '.join(names)} choose a threshold instead of resampling, and run with resampling "
        "'none' only"
    )
