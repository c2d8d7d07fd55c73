"""The tool that compares what the package computes before and after a change."""

import numpy as np

from tools.freeze import differences, summarize

RECORD = {
    "labels": summarize(np.array(["no", "yes", "no"])),
    "metric": summarize(np.array([[1.0, np.nan], [0.1, 2.0]])),
    "rounds": summarize(0),
}


def test_a_record_does_not_differ_from_itself():
    assert list(differences(RECORD, RECORD)) == []


def test_each_changed_value_is_listed():
    changed = {
        "labels": summarize(np.array(["no", "no", "no"])),
        "metric": summarize(np.array([[1.0, np.nan], [0.1, np.nextafter(2.0, 3.0)]])),
        "score": summarize(0.5),
    }
    labels, metric, rounds, score = differences(RECORD, changed)
    assert labels == "labels: 1 of 3 differ, such as: yes became no"
    assert metric.startswith("metric: bits differ; relative differences: sum of squares ")
    assert (rounds, score) == ("rounds: is missing now", "score: is new")


def test_another_kind_of_value_is_listed():
    changed = RECORD | {"rounds": summarize([0.0, 1.0]), "metric": summarize(np.zeros((1, 2)))}
    metric, rounds = differences(RECORD, changed)
    assert metric == (
        "metric: float64 of shape (2, 2), 3 of them finite became float64 of shape (1, 2), "
        "2 of them finite"
    )
    assert rounds == "rounds: 0 became float64 of shape (2,), 2 of them finite"
