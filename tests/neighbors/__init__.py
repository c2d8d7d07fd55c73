from functools import cache

from numba import njit


@cache
def from_python(kernel):
    """A kernel that only kernels call, in a way that Python can call."""
    return njit(lambda *arguments: kernel(*arguments))
