"""What is announced is what is found: alerts and probabilities on fifty generated tables."""

import numpy as np
import pytest

from benchmarks.announced import measure, tables
from raremetric import RareClassifier


@pytest.mark.slow
def test_alerts_and_probabilities_are_those_that_were_announced():
    found = [
        measure(RareClassifier(random_state=number), *table)
        for number, table in enumerate(tables())
    ]
    apart = np.array([each["errors apart"] for each in found])
    ratio = np.array([each["mean p / share"] for each in found])
    assert np.mean(np.abs(apart) < 2) >= 0.9
    assert ratio.mean() == pytest.approx(1, abs=0.05)
