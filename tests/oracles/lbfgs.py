"""BFGS with the whole inverse Hessian in memory."""

import numpy as np


def inverse_hessian(start, steps, changes):
    """The inverse Hessian after the given updates, oldest first, of a starting one."""
    H = np.array(start)
    for s, y in zip(steps, changes, strict=True):
        rho = 1 / (s @ y)
        V = np.eye(len(s)) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    return H
