import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from raremetric.sampling import even_quotas


@given(counts=st.lists(st.integers(1, 30), min_size=1, max_size=6), total=st.integers(1, 200))
@settings(max_examples=100, deadline=None)
def test_quotas_are_even(counts, total):
    quotas = even_quotas(np.array(counts), total)
    assert sum(quotas) == min(total, sum(counts))
    assert all(0 <= quota <= count for quota, count in zip(quotas, counts, strict=True))
    largest = max(quotas)  # a class below this, beyond rounding, has no more examples
    assert all(q == c for q, c in zip(quotas, counts, strict=True) if q < largest - 1)
