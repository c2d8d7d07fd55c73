import numpy as np
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, Euclidean
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.ensemble import fit_ensemble
from raremetric.rare.evaluation import out_of_fold_scores
from raremetric.rare.policy import AVERAGING
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.selection import Sample, check_aim, select
from raremetric.validation import check_labels
from tests.conftest import make_problem


def test_members_with_the_same_metric_share_it_and_score_as_if_alone():
    X, y = make_problem(2, n_samples=60)
    labels, steps = check_labels(y, "A test"), (StandardScaler(),)
    metrics = [
        MetricSpec("linear", "plain", steps, Euclidean()),
        MetricSpec("linear", "plain", steps, BalancedDiscriminant()),
    ]
    groups = ["linear"] * len(with_readings(metrics))
    tuned = make_tuning_set(X, labels, max_samples=None, random_state=0, thorough=False)
    metrics, scores = out_of_fold_scores(metrics, tuned, check_aim("f1"))
    selection = select(scores, groups, Sample(y == 1), check_aim("f1"), {"linear": 1.0}, AVERAGING)
    ensemble = fit_ensemble(metrics, selection, X, labels, 0)
    assert len(ensemble.members) == 5
    assert len(ensemble.metrics) <= 2  # so at least two members share a metric
    queries = make_problem(3, n_samples=7)[0]
    alone = []
    for member in ensemble.members:
        Z, Q = member.pipeline.transform(X), member.pipeline.transform(queries)
        distances = np.linalg.norm(Q[:, np.newaxis] - Z, axis=2)
        by_class = [np.sort(distances[:, y == c], axis=1) for c in (0, 1)]
        alone.append(member.metric.scores(by_class, [member.reading])[0])
    np.testing.assert_allclose(ensemble.log_odds(queries), selection.log_odds(np.array(alone)))
