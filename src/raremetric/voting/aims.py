"""What RareClassifier is asked to maximise."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.validation import check_real
from raremetric.voting.thresholds import Utility, balanced_utility, cost_utility, f_utility


class Aim(NamedTuple):
    """A utility of counts, and whether only the order of the scores matters."""

    utility: Utility
    threshold_free: bool = False

    def counting(self, worth: NDArray) -> Aim:
        """The same where an example stands for several: worth[0] negatives, worth[1] positives."""
        utility, (negatives, positives) = self.utility, worth

        def of_all(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
            return utility(negatives * tn, negatives * fp, positives * fn, positives * tp)

        return self._replace(utility=of_all)


def check_aim(scoring) -> Aim:
    """The aim that a ``scoring`` parameter stands for."""
    if isinstance(scoring, str):
        if scoring == "balanced_accuracy":
            return Aim(balanced_utility)
        if scoring == "average_precision":
            return Aim(f_utility(1.0), threshold_free=True)
        match = re.fullmatch(r"f(\d+(?:\.\d+)?)", scoring)
        if match:
            beta = check_real(float(match[1]), "beta", low=0, closed="neither")
            return Aim(f_utility(beta))
    elif not callable(scoring) and np.shape(scoring) == (2, 2):
        return Aim(cost_utility(_check_costs(scoring)))
    raise ValueError(
        "scoring must be 'f1', another F-beta such as 'f2' or 'f0.5', 'balanced_accuracy', "
        "'average_precision', or 2 x 2 costs [[tn, fp], [fn, tp]]; got "
        f"{scoring!r}."
    )


def _check_costs(scoring):
    costs = np.asarray(scoring, dtype=np.float64)
    if not np.isfinite(costs).all():
        raise ValueError(f"The costs in scoring must be finite; got {costs.tolist()}.")
    if costs[0, 1] <= costs[0, 0] or costs[1, 0] <= costs[1, 1]:
        raise ValueError(
            "The costs [[tn, fp], [fn, tp]] in scoring must make a mistake dearer than a correct "
            f"answer, in both rows; got {costs.tolist()}."
        )
    return costs
