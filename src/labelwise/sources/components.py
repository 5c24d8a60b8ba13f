"""Variance components of the factors, corrected for noise."""

from __future__ import annotations

import numpy as np

from .._arrays import quotient
from .design import Design


def variance_components(design: Design, deviation: np.ndarray) -> np.ndarray:
    r"""Variance components (S, K) of the random-effects model, from the members' deviations
    (M, N, K) from their mean; in the order of the names of the sources.

    The mean squares of the cells' means have the expectations :math:`\mathbb{E}\,\mathrm{MS}_{AB} =
    \sigma_{AB}^2` and :math:`\mathbb{E}\,\mathrm{MS}_A = \sigma_{AB}^2 + n_B \sigma_A^2`, where the
    highest effect includes the noise of a cell's mean.
    """
    means = design.cell_means(deviation)
    factors = tuple(range(len(design.sizes)))
    effects = means - means.mean(axis=factors, keepdims=True)
    if len(factors) == 1:
        components = [_mean_square(effects, design.sizes[0] - 1)]
    else:
        a, b = design.sizes
        rows, columns = (effects.mean(axis=axis, keepdims=True) for axis in (1, 0))
        interaction = _mean_square(effects - rows - columns, (a - 1) * (b - 1))
        components = [
            _mean_square(rows, a - 1) - interaction / b,
            _mean_square(columns, b - 1) - interaction / a,
            interaction,
        ]

    n_cells = len(design.cell_sizes)
    if len(deviation) > n_cells:
        residuals = deviation - means.reshape(n_cells, *deviation.shape[1:])[design.cells]
        noise = _mean_square(residuals, len(deviation) - n_cells)
        components[-1] = components[-1] - noise * np.mean(1 / design.cell_sizes)
        components.append(noise)
    return np.stack(components)


def _mean_square(effects: np.ndarray, df: int) -> np.ndarray:
    """(K,): the mean over the instances of effects (..., N, K) with ``df`` degrees of freedom."""
    squares = (effects**2).mean(axis=-2)
    return squares.reshape(-1, effects.shape[-1]).sum(axis=0) / df


def shares_of_sources(parts: np.ndarray) -> np.ndarray:
    """Parts (S, ...) divided by their sum."""
    return quotient(parts, parts.sum(axis=0), 0)
