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


def check_resamplings(
    names: Sequence[str], resamplings: Iterable[str], where: str = "got"
) -> list[str]:
    """The rule for contenders that choose a threshold: they run with resampling 'none' only.

    Parameters
    ----------
    names : sequence of str
        Contenders that choose a threshold, of those that are to run.
    resamplings : iterable of {"none", "smote", "rus"}
        What the contenders are to be combined with.
    where : str, default="got"
        The beginning of the list of resamplings in the error message.

    Returns
    -------
    list of str
        A note, if the others are combined with more than these; otherwise empty.

    Raises
    ------
    ValueError
        If 'none' is not among the resamplings, so that these contenders would not run at all.
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
