"""From columns of any type to numbers, with one transformer per kind of column."""

from raremetric.extras import import_optional

import_optional("pandas")  # one sentence if it is not installed

from raremetric.encoding.table_encoder import TableEncoder  # noqa: E402

__all__ = ["TableEncoder"]
