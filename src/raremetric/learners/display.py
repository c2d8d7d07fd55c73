"""What a notebook shows of a learned metric, below scikit-learn's own diagram."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from raremetric.metric import axis_shares

N_SHOWN = 10

_ROW = (
    '<tr><th style="text-align:left;font-weight:normal;padding:0 .6em 0 0">{name}</th>'
    '<td style="text-align:right;padding:0 .6em 0 0">{share:.1%}</td>'
    '<td style="text-align:left;width:12em"><div style="width:{width:.1f}%;height:.7em;'
    'background:#d9541e"></div></td></tr>'
)


class MetricDisplayMixin(BaseEstimator):
    """Adds the features that a metric stretches most to an estimator's HTML."""

    def _repr_html_inner(self):
        return super()._repr_html_inner() + self._metric_html()

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # scikit-learn's display option may be "text"
            bundle["text/html"] += self._metric_html()
        return bundle

    def _metric_html(self) -> str:
        L = getattr(self, "components_", None)
        return "" if L is None else weights_html(L, feature_names(self))


def feature_names(learner) -> NDArray:
    """The names seen in ``fit``, or x0, x1, …"""
    given = getattr(learner, "feature_names_in_", None)
    return np.array([f"x{j}" for j in range(learner.n_features_in_)]) if given is None else given


def weights_html(L: NDArray, names: NDArray) -> str:
    """A small table with bars: of each feature its share of the trace of M, the largest first.

    Parameters
    ----------
    L : ndarray of shape (n_components, n_features)
    names : ndarray of shape (n_features,)
        Escaped here.
    """
    shares = axis_shares(L)
    order = np.argsort(-shares, kind="stable")[:N_SHOWN]
    largest = max(float(shares[order[0]]), 1e-300)
    rows = "".join(
        _ROW.format(
            name=escape(str(names[j])), share=shares[j], width=100 * float(shares[j]) / largest
        )
        for j in order
    )
    rest = len(shares) - len(order)
    more = f" The other {rest} share {shares.sum() - shares[order].sum():.1%}." if rest else ""
    return (
        '<div class="raremetric-weights" style="margin-top:.5em;font-size:.9em">'
        "<table><caption style='text-align:left'>What the metric stretches most: share of the "
        f"trace of M, {L.shape[1]} features, {L.shape[0]} directions.{more}</caption>"
        f"<tbody>{rows}</tbody></table></div>"
    )
