"""Joint measures without a closed form: Monte Carlo with error bounds, and quadrature of the
expected maximum.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array, Arrays, like, namespace, smallest, sum_first, to_numpy
from .._engine.compute import Computed
from ..distributions import Distribution
from ..losses._special import gauss_legendre
from .losses import JointLoss

MIN_DRAWS = 32  # fewer do not tell a standard error
BLOCK = 1 << 18  # numbers held at once
STANDARD_ERRORS = 2  # half-width of a 95 % interval


def joint_parts_from_draws(q: Distribution, loss: JointLoss, seed: int, n_samples: int) -> Computed:
    """Total, aleatoric and epistemic uncertainty from draws of Θ, and 95 % bounds on their errors.

    Epistemic uncertainty is the average divergence of the draws from one forecast, the mean of
    ``q``. The forecast is not taken from the same draws, so that the average is unbiased: deciding
    by the draws and judging the decision by them would make regrets too small. The mean is exact,
    or (LogisticNormal) from quasi-random points of its own.

    Every instance uses the same seed, so its result does not depend on the batch.
    """
    n_draws = max(n_samples, MIN_DRAWS)
    means = q.marginal().mean
    xp = namespace(means[0])
    n_classes, batch = q.n_classes, q.batch_shape
    positions = list(np.ndindex(*batch))
    mean, complement = (xp.reshape(x, (-1, n_classes)) for x in means)

    step = max(1, BLOCK // (n_draws * n_classes))
    blocks = []
    for i in range(0, max(len(positions), 1), step):
        block = slice(i, i + step)
        draws = [(q[j] if batch else q).sample(n_draws, rng=seed) for j in positions[block]]
        stacked = (
            xp.stack(draws, axis=1) if draws else like(np.empty((n_draws, 0, n_classes)), means[0])
        )
        blocks.append(
            _joint_parts_of_block(
                stacked, mean[block, ...], complement[block, ...], loss, q.exact_mean
            )
        )
    columns = (
        xp.reshape(xp.concat(list(column), axis=0), batch) for column in zip(*blocks, strict=True)
    )
    total, aleatoric, epistemic, *errors = columns
    return Computed((total, aleatoric, epistemic), tuple(errors))


def _joint_parts_of_block(
    draws: Array, mean: Array, complement: Array, loss: JointLoss, exact_mean: bool
) -> Arrays:
    """Three uncertainties and their error bounds from draws (n, ..., K)."""
    xp = namespace(draws)
    n_draws = draws.shape[0]
    divergence = loss.divergence(draws, mean, draws - mean)
    epistemic = sum_first(divergence) / n_draws
    # A regret that is rarer than 1 − .025^(1/n) may well have been missed by n draws, whatever they
    # show.
    unseen = loss.largest_divergence(mean) * (1 - 0.025 ** (1 / n_draws))
    epistemic_error = xp.sqrt(_half_width_of_joint_mean(divergence) ** 2 + unseen**2)

    if exact_mean:
        total = loss.entropy(mean, complement)
        epistemic = xp.minimum(epistemic, total)
        aleatoric = total - epistemic
        total_error = 0 * total
        epistemic_error = xp.minimum(
            epistemic_error, xp.maximum(epistemic, aleatoric)
        )  # because 0 ≤ EU ≤ TU
        aleatoric_error = epistemic_error
    else:
        entropy = loss.entropy(draws)
        aleatoric = sum_first(entropy) / n_draws
        total = aleatoric + epistemic
        total_error = _half_width_of_joint_mean(entropy + divergence)
        aleatoric_error = _half_width_of_joint_mean(entropy)

    rounding = 64 * smallest(total)[1] * total
    return (
        total,
        aleatoric,
        epistemic,
        total_error + rounding,
        aleatoric_error + rounding,
        epistemic_error + rounding,
    )


def _half_width_of_joint_mean(values: Array) -> Array:
    """Of the 95 % interval of a mean of draws (n, ...)."""
    n = values.shape[0]
    variance = sum_first((values - sum_first(values) / n) ** 2) / (n - 1)
    return STANDARD_ERRORS * namespace(values).sqrt(variance / n)


def gain_of_maximum(alpha: Array) -> Array:
    r"""E max_k Θ_k − max_k E Θ_k ≥ 0 of a Dirichlet.

    With independent Gamma variables g_k, :math:`\mathbb{E} \max_k \Theta_k = \int_0^\infty (1 -
    \prod_k P(g_k \le x))\,dx / S`.
    """
    from scipy.special import gammaincc

    a = to_numpy(alpha).astype(float)
    top = a.max(axis=-1, initial=0)
    low = np.maximum(top - 14 * np.sqrt(top) - 10, 0.0)
    length = top + 14 * np.sqrt(top) + 60 - low
    total = low.copy()
    # x = low + length · v⁸: the density for small α is concentrated at 0
    for node, weight in zip(*gauss_legendre(256), strict=True):
        above = gammaincc(a, (low + length * node**8)[..., None])
        with np.errstate(divide="ignore"):  # ln 0
            total += weight * 8 * node**7 * length * -np.expm1(np.sum(np.log1p(-above), axis=-1))
    return like(np.maximum(total - top, 0) / a.sum(axis=-1), alpha)
