"""Every compiled function: arrays in, arrays out.

Importing a module of this room imports numba, so the rooms above do it where they first need it.
Each kernel has a slow, obvious twin in ``tests/oracles/``.
"""

from numba import njit

jit = njit(cache=True, nogil=True, error_model="numpy")
