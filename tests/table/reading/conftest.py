"""Files of any content, and new rows as an encoder reads them."""

import numpy as np
import pytest

from raremetric.table import iter_table


@pytest.fixture
def write(tmp_path):
    """Write a file, and return its path."""

    def write(content, name="file.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


def encoded(table):
    """The encoded rows that an encoder was fitted on."""
    return table.encoder.transform(table.data).tolist()


def read_new(source, encoder):
    """Encoded new rows."""
    return np.concatenate([encoder.transform(piece) for piece in iter_table(source, encoder)])
