"""Data sets of openml.org, for those online."""

from __future__ import annotations

import warnings
from typing import Any
from urllib.error import URLError

from sklearn.datasets import fetch_openml

from raremetric.datasets.dialect import TableError
from raremetric.extras import import_optional


def read_openml(source: str) -> tuple[Any, str | None]:
    """The Arrow table of a data set, and the target that OpenML names.

    Parameters
    ----------
    source : str
        ``"openml:"`` and the number of the data set.
    """
    number = source.removeprefix("openml:")
    if not number.isdecimal():
        raise TableError('OpenML\'s data sets are named by number, as in "openml:31".')
    import_optional("pandas")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error")  # told below
            bunch = fetch_openml(data_id=int(number), as_frame=True, parser="auto", n_retries=1)
    except (URLError, ConnectionError, TimeoutError) as error:
        raise TableError(
            f"openml.org could not be reached ({error}). Once you are online, it is downloaded "
            "and kept by scikit-learn; offline, download the file elsewhere and read it by path."
        ) from error
    except ValueError as error:  # scikit-learn's, for an unknown number
        raise TableError(f"OpenML refuses the request: {error}") from error
    table = import_optional("pyarrow").Table.from_pandas(bunch.frame, preserve_index=False)
    named = bunch.target_names[0] if len(bunch.target_names) == 1 else None
    return table, named
