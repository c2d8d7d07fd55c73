"""Every compiled function: arrays in, arrays out.

Importing a module of this room imports numba, so the rooms above do it where they first need it.
Each kernel has a slow, obvious twin in ``tests/oracles/``.

What keeps compilation short: a function is optimised again in each that calls it, so call chains
are short; NumPy's broadcasting, of which one assignment can cost seconds, is written as loops; and
arrays are made and multiplied in few ways (``np.empty(shape, dtype)``, ``np.dot(a, b, out)``), each
of which is compiled apart.
"""

from typing import Any

from numba import njit

# Summing in any order lets a loop use vector instructions; infinities keep their meaning.
ANY_ORDER = {"reassoc", "contract", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
jit = njit(cache=True, **OPTIONS)
any_order = njit(cache=True, fastmath=ANY_ORDER, **OPTIONS)
# What only kernels call: no time is spent on a way in from Python, nor on a file of its own.
INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, **OPTIONS}
internal = njit(**INTERNAL)
internal_any_order = njit(fastmath=ANY_ORDER, **INTERNAL)
# The innermost functions, a few instructions each: a call would cost more than they do.
inlined = njit(fastmath=ANY_ORDER, forceinline=True, **INTERNAL)
# Long functions with one caller: compiled with it, not also before it.
merged = njit(inline="always", **OPTIONS)
