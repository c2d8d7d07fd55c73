"""What RareClassifier takes: arrays of numbers as they are, any other table through an encoder."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from raremetric.rare.importances import N_ROWS
from raremetric.rare.policy import MAX_LEVELS
from raremetric.sampling import draw_evenly
from raremetric.scales import as_dense, check_size, is_numeric, validate_rows
from raremetric.validation import forget_attributes


class InputMixin:
    """How a RareClassifier turns the rows that it is given into finite numbers."""

    encoder: Any
    categorical_features: Any
    encoder_: Any
    n_features_in_: int
    _some_rows: NDArray

    def _check_training_rows(self, X, y, copies) -> tuple[NDArray, NDArray, NDArray | None]:
        """Rows as numbers, their labels, and the copies among them, unless they are known.

        Those of a table are found in its raw columns; of an array, they are None.
        """
        self.encoder_ = self._new_encoder(X)
        if self.encoder_ is None:
            rows, y = validate_rows(self, X, y, ensure_min_samples=4)
        else:
            from raremetric.encoding.columns import plain_columns  # needs pandas
            from raremetric.encoding.copies import copies_in
            from raremetric.encoding.table_encoder import as_frame, with_names

            given = as_frame(X)
            frame = plain_columns(with_names(given))
            encoded = self.encoder_.fit(frame).transform(frame)
            rows, y = validate_rows(self, encoded, y, ensure_min_samples=4)
            validate_data(self, given, skip_check_array=True)  # keeps the names of the raw columns
            copies = copies_in(frame).numbers if copies is None else copies
        # For ``feature_importances_``.
        self._some_rows = rows[draw_evenly(len(rows), y, N_ROWS, np.random.RandomState(0))]
        return rows, y, copies

    def _new_encoder(self, X) -> Any:
        """An encoder that is not fitted yet; None if the rows need none."""
        if self.encoder is None and self.categorical_features is not None:
            raise ValueError(
                "categorical_features are for the encoder, but encoder=None switches it off. Leave "
                "out one of them."
            )
        if self.encoder is None:
            return None
        if hasattr(self.encoder, "transform"):
            return clone(self.encoder)
        if self.encoder != "auto":
            raise ValueError(
                "encoder must be 'auto', None or a transformer, such as TableEncoder(); got "
                f"{self.encoder!r}."
            )
        if self.categorical_features is None and not hasattr(X, "columns") and is_numeric(X):
            return None
        from raremetric.encoding import TableEncoder  # needs pandas

        features = self.categorical_features
        return TableEncoder(max_levels=MAX_LEVELS, categorical_features=features)

    def without_encoder(self) -> Any:
        """The same fitted model, for rows that ``encoder_`` has transformed."""
        model = copy(self)
        if self.encoder_ is not None:
            model.encoder_, model.n_features_in_ = None, self._some_rows.shape[1]
            forget_attributes(model, "feature_names_in_", "feature_importances_")
        return model

    def _check_queries(self, X) -> NDArray:
        """New rows as numbers, in the same way as those of ``fit``."""
        check_is_fitted(self)
        if self.encoder_ is None:
            return validate_rows(self, X, reset=False)
        from raremetric.encoding.table_encoder import as_frame, find_columns

        encoded = self.encoder_.transform(find_columns(self, as_frame(X)))
        rows = check_array(encoded, accept_sparse="csr", dtype=np.float64, order="C")
        rows = rows if isinstance(rows, np.ndarray) else as_dense(rows)
        check_size(rows)
        return rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        takes_all = self.encoder is not None
        tags.input_tags.allow_nan = tags.input_tags.string = takes_all
        tags.input_tags.categorical = takes_all
        return tags
