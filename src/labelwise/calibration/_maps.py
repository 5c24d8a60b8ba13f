"""Isotonic maps of probabilities, fitted to outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A nondecreasing function, linear between its knots and constant outside them."""

    x: np.ndarray
    y: np.ndarray

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(np.interp(p, self.x, self.y))


def fit_isotonic(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> IsotonicMap:
    """The nondecreasing function of ``x`` with the least (weighted) squared error; equal ``x`` have
    equal values.

    >>> fitted = fit_isotonic(np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.1, 0.9]))
    >>> fitted(np.array([0.0, 2.0, 2.5])).round(3)
    array([0.15 , 0.15 , 0.525])
    """
    from scipy.optimize import isotonic_regression

    w = np.ones_like(x, float) if weights is None else weights
    knots, which = np.unique(x, return_inverse=True)
    size, sums = np.bincount(which, w), np.bincount(which, w * y)
    used = size > 0
    if not used.any():
        raise ValueError("an isotonic map needs at least one value of positive weight")
    knots, mean = knots[used], sums[used] / size[used]
    fitted = isotonic_regression(mean, weights=size[used])
    # Between the ends of a block the function is constant.
    ends = np.unique([fitted.blocks[:-1], fitted.blocks[1:] - 1])
    return IsotonicMap(knots[ends], fitted.x[ends])
