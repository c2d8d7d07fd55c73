"""Turn clean columns into what people have: holes, formats, copies, dates, ids."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray


def with_holes(frame: pd.DataFrame, share: float, rng: Generator) -> pd.DataFrame:
    """Each cell of the frame is missing with this probability."""
    return frame.mask(rng.random(frame.shape) < share)


def with_copies(frame: pd.DataFrame, share: float, rng: Generator) -> pd.DataFrame:
    """Repeat a share of the rows once or twice, at random places."""
    n_times = np.where(rng.random(len(frame)) < share, rng.integers(2, 4, len(frame)), 1)
    repeated = frame.loc[frame.index.repeat(n_times)]
    return repeated.iloc[rng.permutation(len(repeated))].reset_index(drop=True)


def thin(frame: pd.DataFrame, is_positive: NDArray, share: float, rng: Generator) -> pd.DataFrame:
    """Drop positives at random until they are this share of the rows; shuffle the rows."""
    positives, others = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    n_kept = min(len(positives), round(share / (1 - share) * len(others)))
    rows = np.concatenate([rng.choice(positives, n_kept, replace=False), others])
    return frame.iloc[rng.permutation(rows)].reset_index(drop=True)


def thousands(values: pd.Series, decimals: int = 0) -> pd.Series:
    """Texts such as 12,345.6."""
    return values.map(lambda value: f"{value:,.{decimals}f}", na_action="ignore")


def percentages(shares: pd.Series, decimals: int = 1) -> pd.Series:
    """Texts such as 12.5%, from shares between 0 and 1."""
    return shares.map(lambda value: f"{value:.{decimals}%}", na_action="ignore")


def comma_percentages(values: pd.Series) -> pd.Series:
    """Texts such as 12,5 %, from percentages."""
    return values.map(lambda value: f"{value:.1f} %".replace(".", ","), na_action="ignore")


def dates(days: NDArray, layout: str = "%Y-%m-%d", first: str = "2023-01-02") -> pd.Series:
    """Days after the first date, as texts."""
    return pd.Series(pd.Timestamp(first) + pd.to_timedelta(days, unit="D")).dt.strftime(layout)


def numbers_as_ids(n_rows: int, prefix: str, rng: Generator) -> list[str]:
    """Different ids of five digits with leading zeros, in random order."""
    return [f"{prefix}{number:05d}" for number in rng.permutation(n_rows)]
