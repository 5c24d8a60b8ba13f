r"""The largest values that an entropy, or a weighted sum of entropies, can take: what `normalized`
divides by.

For a proper loss the slope of the entropy is :math:`G'(t) = \varphi(t, 1) - \varphi(t, 0)`, falling
in t, so every maximum is found by bisection. Errors of the place enter the value squared, except at
a corner, where it is found to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .base import Loss


def maximum_entropy(loss: Loss) -> float:
    """max G."""
    return maximum_of_nested(loss, np.ones(1))


def place_of_maximum(loss: Loss) -> float:
    """The t with the largest G(t); exactly ½ where no other is larger."""
    low, high = np.zeros(1), np.ones(1)
    for _ in range(53):
        low, high = _halve(lambda t: _slope(loss, t), low, high)
    half = np.full(1, 0.5)
    if loss.entropy(half) >= loss.entropy(low):
        return 0.5
    return float(low[0])


def maximum_on_simplex(loss: Loss, weights: np.ndarray, exhaustive: bool) -> float:
    r"""max Σ w_k G_k(θ_k) subject to Σ θ_k = 1 (or ≤ 1), by its dual: min over λ of λ + Σ max_t
    [w_k G_k(t) − λ t].

    The best t_k(λ), where w_k G_k' passes λ, falls with λ; at the solution they sum to 1.
    """
    n = weights.size
    if n == 1 and exhaustive:
        return float(np.sum(weights * loss.entropy(np.ones(1), np.zeros(1))))

    def best(
        price: float, low: np.ndarray, high: np.ndarray, until_decided: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the best t, as tight as it takes to see on which side of 1 their sum is."""
        for _ in range(53):
            if until_decided and (low.sum() > 1 or high.sum() <= 1):
                break
            low, high = _halve(lambda t: weights * _slope(loss, t) - price, low, high)
        return low, high

    bottom, top = np.zeros(n), np.ones(n)
    cheap, dear = (-1.0 if exhaustive else 0.0), 1.0
    while exhaustive and best(cheap, bottom, top)[0].sum() <= 1:
        cheap *= 4
    while best(dear, bottom, top)[1].sum() > 1:
        dear *= 4
    for _ in range(64):
        price = (cheap + dear) / 2
        low, high = best(price, bottom, top)
        if low.sum() > 1:
            cheap, top = price, high
        else:
            dear, bottom = price, low
    t = best(dear, bottom, top, until_decided=False)[0]
    return float(dear + np.sum(weights * loss.entropy(t) - dear * t))


def maximum_of_nested(loss: Loss, weights: np.ndarray) -> float:
    """max Σ w_j G_j(t_j) subject to t_1 ≥ … ≥ t_n: neighbors in the wrong order are moved together
    (isotonic regression).
    """
    n = weights.size

    def best(members: list[int]) -> float:
        """Where the sum over the members is largest if they all are at the same place."""

        def slope(t: np.ndarray) -> np.ndarray:
            slopes = weights * _slope(loss, t + np.zeros(n))
            return np.asarray(slopes[members].sum(keepdims=True))

        low, high = np.zeros(1), np.ones(1)
        for _ in range(53):
            low, high = _halve(slope, low, high)
        return float((low + high)[0] / 2)

    blocks: list[tuple[list[int], float]] = []
    for j in range(n):
        block, t = [j], best([j])
        while blocks and blocks[-1][1] < t:
            block = blocks.pop()[0] + block
            t = best(block)
        blocks.append((block, t))
    place = np.concatenate([np.full(len(block), t) for block, t in blocks])
    return float(np.sum(weights * loss.entropy(place)))


def _slope(loss: Loss, t: np.ndarray) -> np.ndarray:
    return np.asarray(loss.phi(t, 1) - loss.phi(t, 0))


def _halve(
    slope: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Narrower bounds on where each falling function passes 0."""
    middle = (low + high) / 2
    up = slope(middle) > 0
    return np.where(up, middle, low), np.where(up, high, middle)
