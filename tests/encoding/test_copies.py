"""Which rows of a table are copies of each other."""

import numpy as np
import pandas as pd

from raremetric.encoding.copies import copies_in
from tests.table.conftest import make_table


def test_copies_have_equal_values_unless_the_table_has_few_categories():
    frame = make_table().drop(columns="id")
    found = copies_in(pd.concat([frame, frame[:40]], ignore_index=True))
    assert (found.n_repeats, found.together) == (40, True)
    assert found.numbers[120:].tolist() == found.numbers[:40].tolist()
    assert copies_in(frame).n_repeats == 0
    many = copies_in(pd.concat([frame] * 30, ignore_index=True))
    np.testing.assert_array_equal(many.numbers, np.tile(np.arange(120), 30))
    texts = copies_in(pd.concat([frame[["color", "new"]]] * 2, ignore_index=True))
    n_different = len(frame[["color", "new"]].drop_duplicates())
    assert (texts.n_repeats, texts.together) == (240 - n_different, False)
    np.testing.assert_array_equal(texts.numbers, np.arange(240))
    days = pd.DataFrame({"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(range(60), unit="D")})
    assert copies_in(pd.concat([days] * 2, ignore_index=True)).numbers.max() == 59
    assert copies_in(pd.DataFrame({"a": np.arange(200) % 3})).numbers.max() == 199


def test_a_measurement_does_not_identify_rows():
    rng = np.random.default_rng(0)
    amount = rng.choice(10**7, 300, replace=False)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(300), unit="D")
    noise = pd.DataFrame(rng.normal(size=(300, 2)), columns=list("ab"))
    few = pd.DataFrame(rng.integers(0, 3, (300, 3)), columns=list("abc"))
    copied = pd.DataFrame(np.tile(noise[:100], (3, 1)), columns=list("ab"))
    for frame in (noise.assign(amount=amount), few.assign(amount=amount), copied.assign(day=days)):
        assert copies_in(frame)[1:] == (0, True, [])
    assert copies_in(pd.DataFrame({"amount": amount})).n_repeats == 0
    assert copies_in(copied.assign(amount=amount)).left_out == ["amount"]
