"""Every compiled function: arrays in, arrays out.

Importing a module of this room imports numba, so the rooms above do it where they first need it.
Each kernel has a slow, obvious twin in ``tests/oracles/``.

What keeps compilation short: a function is optimised again in each that calls it, so call chains
are short; and NumPy's broadcasting, of which one assignment can cost seconds, is written as loops.
"""

from numba import njit

# Summing in any order lets a loop use vector instructions; infinities keep their meaning.
ANY_ORDER = {"reassoc", "contract", "nsz"}
jit = njit(cache=True, nogil=True, error_model="numpy")
any_order = njit(cache=True, nogil=True, error_model="numpy", fastmath=ANY_ORDER)
# The innermost functions, a few instructions each: a call would cost more than they do.
inlined = njit(cache=True, nogil=True, error_model="numpy", fastmath=ANY_ORDER, forceinline=True)
