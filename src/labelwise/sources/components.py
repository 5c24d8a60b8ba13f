"""Variance components of the factors, their shares of the variance, and intervals of these."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .design import Design, degrees_of_freedom, project

CONFIDENCE = 0.95
N_DRAWS = 4000  # of the mean squares: an end moves by less than a point between seeds
Term = tuple[int, ...]
"""Which factors an effect depends on: ``(0,)`` is a main effect, ``(0, 2)`` an interaction."""


class MeanSquare(NamedTuple):
    """A mean square of the analysis of variance of the cells' means."""

    values: np.ndarray
    """(K,)"""
    df: int
    """Degrees of freedom, of one label and instance."""
    dependence: float
    """Squared correlation of two independent contrasts: 1 if all labels and instances move as one,
    0 if each by itself.
    """


class Components(NamedTuple):
    """What is estimated of the sources; see `Sources`."""

    variance: np.ndarray
    estimates: np.ndarray
    intervals: np.ndarray


def estimate_components(design: Design, deviation: np.ndarray) -> Components:
    """From the members' deviations (M, N, K) from their mean."""
    means = design.cell_means(deviation)
    squares = _mean_squares(means)
    n_cells = prod(design.sizes)
    noise = None
    if len(deviation) > n_cells:
        residuals = deviation - means.reshape(n_cells, *deviation.shape[1:])[design.cells]
        noise = _mean_square(residuals, len(deviation) - n_cells)
    values = {term: square.values for term, square in squares.items()}
    variance = _variance_components(values, None if noise is None else noise.values, design)
    estimates, intervals = _shares_of_variance(squares, noise, design, variance.sum(axis=1))
    return Components(variance, estimates, intervals)


def shares_of(parts: np.ndarray) -> np.ndarray:
    """Parts (S, ...) divided by their sum."""
    whole = parts.sum(axis=0)
    return np.asarray(parts / np.where(whole > 0, whole, 1))


def _mean_squares(means: np.ndarray) -> dict[Term, MeanSquare]:
    """The mean square of each main effect and interaction, from the cells' means (*sizes, N, K)."""
    *sizes, n, k = means.shape
    squares = {}
    for order in range(len(sizes), 0, -1):
        for term in combinations(range(len(sizes)), order):
            effect = project(means, centered=term)
            repeated = means.size // effect.size
            df = degrees_of_freedom(sizes, term)
            squares[term] = _mean_square(effect.reshape(-1, n, k), df, repeated)
    return squares


def _mean_square(deviations: np.ndarray, df: int, repeated: int = 1) -> MeanSquare:
    """Of deviations (U, N, K), each of which stands for as many equal ones as ``repeated``."""
    flat = deviations.reshape(len(deviations), -1)
    values = repeated * (deviations**2).mean(axis=1).sum(axis=0) / df
    return MeanSquare(values, df, _dependence(flat @ flat.T, df))


def _dependence(products: np.ndarray, df: int) -> float:
    r"""How much of a mean square's spread over instances and labels is common to all:
    :math:`\mathrm{tr}\Sigma^2 / (\mathrm{tr}\Sigma)^2`.

    From the products of ``df`` independent normal vectors with covariance Σ, by the first two
    moments. Few vectors tell little, so one of them counts as if all of its values moved together:
    at least 1 / ``df``.
    """
    trace = np.trace(products)
    if df == 1 or trace <= 0:
        return 1.0
    ratio = float((products**2).sum() / trace**2)
    estimate = (ratio * df - 1) / (df + 1 - 2 * ratio)
    return ((df - 1) * min(max(estimate, 0.0), 1.0) + 1) / df


def _variance_components(
    squares: Mapping[Term, np.ndarray], noise: np.ndarray | None, design: Design
) -> np.ndarray:
    r"""Variance components (S, ...) of the random-effects model with all interactions, from the
    mean squares (...) of the cells' means.

    :math:`\mathbb{E}\,\mathrm{MS}_S = \sum_{T \supseteq S} \sigma_T^2 \prod_{j \notin T} n_j`,
    where the highest interaction includes the noise of a cell's mean. Solved by inclusion and
    exclusion: :math:`\sigma_S^2 \prod_{j \notin S} n_j = \sum_{T \supseteq S} (-1)^{|T| - |S|}\,
    \mathrm{MS}_T`.
    """
    sizes = design.sizes
    factors = tuple(range(len(sizes)))
    components = {}
    for term in squares:
        alternating: Any = 0
        for other, square in squares.items():
            if {*term} <= {*other}:
                alternating = alternating + (-1) ** (len(other) - len(term)) * square
        components[term] = alternating / prod(sizes[j] for j in factors if j not in term)
    if noise is not None:
        components[factors] = components[factors] - noise * np.mean(1 / design.cell_sizes)
    # In the order of the factors, then what they share.
    sources = [components.pop((j,)) for j in factors]
    if components:
        sources.append(np.sum(list(components.values()), axis=0))
    if noise is not None:
        sources.append(noise)
    return np.stack(sources)


def _shares_of_variance(
    squares: Mapping[Term, MeanSquare],
    noise: MeanSquare | None,
    design: Design,
    variance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Each source's share (S,) of the variance, and generalized confidence intervals (F, 2) of the
    factors'.

    A mean square is its expectation times χ²/df for normal effects, where df counts as many
    independent labels and instances as `_dependence` tells. The interval takes the quantiles of the
    shares when each expectation is drawn as its mean square · df/χ² (Weerahandi, 1993). The draws
    are always the same, so that equal designs have equal intervals.
    """
    rng = np.random.default_rng(0)

    def draw(square: MeanSquare) -> np.ndarray:
        df = square.df / square.dependence
        return np.asarray(square.values.sum() * df / rng.chisquare(df, N_DRAWS))

    drawn = {term: draw(square) for term, square in squares.items()}
    components = _variance_components(drawn, None if noise is None else draw(noise), design)
    estimates = shares_of(np.maximum(variance, 0))
    n_factors = len(design.sizes)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(
        shares_of(np.maximum(components, 0))[:n_factors], (tail, 1 - tail), axis=1
    )
    factors = estimates[:n_factors]
    return estimates, np.stack([np.minimum(low, factors), np.maximum(high, factors)], axis=1)
