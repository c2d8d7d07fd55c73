"""Every compiled function: arrays in, arrays out.

Importing a module of this room imports numba, so the rooms above do it where they first need it.
Each kernel has a slow, obvious twin in ``tests/oracles/``.

What keeps compilation short: a function is optimised again in each that calls it, so call chains
are short; and NumPy's broadcasting, of which one assignment can cost seconds, is written as loops.
"""

from numba import njit

jit = njit(cache=True, nogil=True, error_model="numpy")
# Summing in any order lets a loop use vector instructions; infinities keep their meaning.
any_order = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
)
