"""`fit_table` and RareClassifier, fitted on a data frame, give the same model."""

import numpy as np
import pandas as pd
import pytest

from raremetric import RareClassifier
from raremetric.table import fit_table, read_table
from tests.rare.test_frames import make_frame


@pytest.mark.parametrize("change", ["none", "copies", "groups"])
def test_the_same_model_from_the_command_and_in_python(change, few_candidates):
    frame, y = make_frame(200)
    frame = frame.assign(id=[f"r{i}" for i in range(len(frame))])
    if change == "copies":
        frame, y = (
            pd.concat([frame, frame[:60].assign(id=[f"s{i}" for i in range(60)])]),
            np.append(y, y[:60]),
        )
    groups = np.arange(len(frame)) % 50 if change == "groups" else None
    table = frame.reset_index(drop=True).assign(outcome=y)
    given = {} if groups is None else {"group": "customer"}
    source = table if groups is None else table.assign(customer=groups)
    ours = fit_table(source, "outcome", ignore=["id"], **given)
    data = read_table(table, "outcome", ignore=["id"]).data
    for columns in (data, table[data.columns]):  # as it was read, and as it is
        model = RareClassifier(random_state=0).fit(columns, y, groups=groups)
        assert model.threshold_ == ours.threshold
        p = model.predict_proba(columns)
        np.testing.assert_array_equal(p, ours.pipeline.predict_proba(data))
        np.testing.assert_array_equal(model.out_of_fold_[0], ours.classifier.out_of_fold_[0])
