"""Many texts in two arrays, which take no more space than the texts themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def text_array(texts: Sequence[str]) -> NDArray:
    """An array of texts as objects: NumPy's own type has as much space for each as the longest."""
    return np.array(texts, dtype=object)


@dataclass(eq=False)
class PackedTexts:
    """The texts of an array, as a model file holds them: one member of the file for each array.

    Parameters
    ----------
    content : ndarray of uint8
        All texts in UTF-8, one after the other.
    ends : ndarray of int64, of shape (n_texts,)
        Where each of them ends.
    """

    content: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def pack(cls, texts: NDArray) -> PackedTexts:
        """Copy the texts of an array."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(content.copy(), np.cumsum([*map(len, encoded)], dtype=np.int64))

    def unpack(self) -> NDArray:
        """The texts; an error if the arrays do not fit together."""
        if self.content.dtype != np.uint8 or np.diff(self.ends, prepend=0).min(initial=0) < 0:
            raise ValueError("its texts do not fit together.")
        raw, bounds = self.content.tobytes(), pairwise([0, *self.ends.tolist()])
        return text_array([raw[a:b].decode("utf-8", "surrogatepass") for a, b in bounds])
