"""Download data sets from openml.org."""

from __future__ import annotations

import warnings
from urllib.error import URLError

import pyarrow as pa

from raremetric.files import TableError
from raremetric.table.reading.csv_files import RawTable


def read_openml(source: str) -> RawTable:
    """Read a data set from openml.org, with its default target if it has one.

    Parameters
    ----------
    source : str
        ``"openml:"`` followed by the number of the data set.
    """
    from sklearn.datasets import fetch_openml

    number = source.removeprefix("openml:")
    if not number.isdecimal():
        raise TableError('OpenML data sets are given by number, such as "openml:31".')
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error")  # raised below
            bunch = fetch_openml(data_id=int(number), as_frame=True, parser="auto", n_retries=1)
    except (URLError, ConnectionError, TimeoutError) as error:
        raise TableError(
            f"openml.org could not be reached ({error}). Connect to the internet, or download the "
            "file elsewhere and pass its path."
        ) from error
    except ValueError as error:  # scikit-learn's, for an unknown number
        raise TableError(f"OpenML rejected the request: {error}") from error
    table = pa.Table.from_pandas(bunch.frame, preserve_index=False)
    return RawTable(table, bunch.target_names[0] if len(bunch.target_names) == 1 else None)
