"""Joint measures without a closed form: Monte Carlo with error bounds, and quadrature of the expected maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, like, namespace, smallest, sum_first, to_numpy
from .._engine.compute import Computed
from ..distributions import Distribution
from ..distributions.marginals import Atoms
from ..distributions.marginals.logit_normal import REPLICATES, STANDARD_ERRORS
from .losses import JointLoss


def sampled(q: Distribution[Any], loss: JointLoss, seed: int, samples: int) -> Computed:
    """Total, aleatoric and epistemic uncertainty from draws of Θ, and 95 % bounds on their errors.

    The total is exact if the mean is. Epistemic uncertainty is the average divergence from the mean, which has less variance than the
    entropy; aleatoric uncertainty is the rest. Every instance uses the same seed, so its result does not depend on the batch.
    """
    size = max(samples // REPLICATES, 2)
    means = q.marginal().mean
    xp = namespace(means[0])
    k, batch = q.n_classes, q.batch_shape
    positions = list(np.ndindex(*batch))
    flat = [xp.reshape(x, (-1, k)) for x in means]
    step = max(1, (1 << 18) // (REPLICATES * size * k))
    columns: list[tuple[Array, ...]] = []
    for i in range(0, max(len(positions), 1), step):
        draws = [
            q[j].sample(REPLICATES * size, rng=seed) if batch else q.sample(REPLICATES * size, rng=seed) for j in positions[i : i + step]
        ]
        stacked = xp.stack(draws, axis=1) if draws else like(np.empty((REPLICATES * size, 0, k)), means[0])
        columns.append(_of_block(stacked, tuple(x[i : i + step, ...] for x in flat) if q.exact_mean else None, loss, size))
    total, epistemic, total_error, error = (xp.reshape(xp.concat([c[j] for c in columns], axis=0), batch) for j in range(4))
    epistemic = xp.minimum(epistemic, total)
    return Computed((total, total - epistemic, epistemic), (total_error, total_error + error, error))


def _of_block(draws: Array, mean: tuple[Array, ...] | None, loss: JointLoss, size: int) -> tuple[Array, ...]:
    xp = namespace(draws)
    whole = Atoms(draws).mean if mean is None else mean
    totals, epistemics = [], []
    for r in range(REPLICATES):
        p = draws[r * size : (r + 1) * size, ...]
        law = Atoms(p)
        own = law.mean if mean is None else mean
        totals.append(loss.entropy_from(*own))

        def average(x: Array, n: int = size) -> Array:
            return sum_first(x) / n

        epistemics.append(loss.epistemic(average, p, own[0], law.deviation if mean is None else p - own[0]))
    epistemic = xp.stack(epistemics, axis=0)
    total = loss.entropy_from(*whole)
    rounding = 64 * smallest(total)[1] * total

    def bound(x: Array) -> Array:
        variance = sum_first((x - sum_first(x) / REPLICATES) ** 2) / (REPLICATES - 1)
        return STANDARD_ERRORS * xp.sqrt(variance / REPLICATES) + rounding

    return total, sum_first(epistemic) / REPLICATES, bound(xp.stack(totals, axis=0)), bound(epistemic)


def gain_of_maximum(alpha: Array) -> Array:
    r"""E max_k Θ_k − max_k E Θ_k ≥ 0 of a Dirichlet.

    With independent Gamma variables g_k, :math:`\mathbb{E} \max_k \Theta_k = \int_0^\infty (1 - \prod_k P(g_k \le x))\,dx / S`.
    """
    from scipy.special import gammaincc

    a = to_numpy(alpha).astype(float)
    top = a.max(axis=-1) if a.size else a.sum(axis=-1)
    low = np.maximum(top - 14 * np.sqrt(top) - 10, 0.0)
    length = top + 14 * np.sqrt(top) + 60 - low
    x, w = np.polynomial.legendre.leggauss(256)
    v, w = (x + 1) / 2, w / 2
    total = low.copy()
    for node, weight in zip(v, w, strict=True):  # x = low + length · v⁸: the density for small α is concentrated at 0
        above = gammaincc(a, (low + length * node**8)[..., None])
        with np.errstate(divide="ignore"):  # ln 0
            total += weight * 8 * node**7 * length * -np.expm1(np.sum(np.log1p(-above), axis=-1))
    return like(np.maximum(total - top, 0) / a.sum(axis=-1), alpha)
