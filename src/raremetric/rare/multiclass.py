"""RareClassifier with more than two classes: one classifier for each class against the rest."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from raremetric.performance import OnProgress
from raremetric.rare.tuning_set import Examples
from raremetric.validation import check_pos_label


def fit_each_class(
    classifier: Any, examples: Examples, on_progress: OnProgress | None
) -> list[tuple[Any, float]]:
    """Fit ``estimators_``; return what `RareClassifier._fit` returns."""
    X, labels, weights, row_numbers, groups, cv, copies = examples
    n_classes = len(labels.classes)
    check_pos_label(classifier.pos_label, labels.classes, labels.counts)
    template = clone(classifier).set_params(pos_label=True, cv=cv)
    if isinstance(classifier.budget, Real):
        template.set_params(budget=classifier.budget / n_classes)
    classifier.estimators_, missed = [], []
    for c, label in enumerate(labels.classes.tolist()):
        each, report = clone(template), _of_class(on_progress, c, n_classes)
        found = each._fit(X, labels.codes == c, weights, groups, report, copies is not None)
        missed += [(label, value) for _, value in found]
        each.ensemble_ = each.ensemble_._replace(rows=row_numbers[each.ensemble_.rows])
        classifier.estimators_.append(each)
    results = [each.cv_results_ for each in classifier.estimators_]
    classifier.cv_results_ = {
        "class": np.repeat(labels.classes, [len(each["branch"]) for each in results]),
        **{key: np.concatenate([each[key] for each in results]) for key in results[0]},
    }
    return missed


def _of_class(on_progress: OnProgress | None, c: int, n_classes: int) -> OnProgress | None:
    """Report the progress of the c-th of several classifiers as that of all of them."""
    if on_progress is None:
        return None
    return lambda n_done, n_steps: on_progress(c * n_steps + n_done, n_classes * n_steps)
