"""The laws of events under Gaussian logits: normal log-odds of two classes, or quasi-random
atoms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from ..._arrays import (
    Array,
    Arrays,
    Names,
    Pair,
    index_like,
    like,
    namespace,
    sigmoid,
    sigmoid_step,
    smallest,
    softmax,
    sum_first,
)
from ..._engine.blocks import in_instance_blocks
from ..._engine.ensembles import kernel_name, split_atoms_in_kernel
from ..._engine.host import back_to_library, on_host
from ...events import Events
from ...losses import Expectation, Loss
from ._quadrature import kink_log_odds, logit_nodes, quadrature_in_blocks
from .atoms import Atoms, atoms_of_events
from .base import Marginal, Split

REPLICATES = 16
"""Independent randomizations of the quasi-Monte Carlo rule."""
STANDARD_ERRORS = 3
"""Half-width of the error bounds: more than the quantile 2.13 of Student's t, because replicates of
rare events are skewed. Measured coverage for random means and covariances (K = 3, K = 10): 95 % or
more for every loss and seed.
"""


@dataclass(frozen=True, eq=False)
class LogitNormal(Marginal):
    """Θ = sigmoid(x), x ~ N(loc, scale²), arrays (..., E); with a scale of 0 a point mass."""

    loc: Array
    scale: Array

    def expectation(self, kink: Array | None = None) -> Expectation:
        """By quadrature in the distance δ = x − loc: laws far narrower than the last digit of
        ``loc`` keep theirs.
        """
        xp = namespace(self.loc)
        loc, known = self.loc, self.scale <= 0
        scale = xp.where(known, xp.ones_like(loc), self.scale)
        # E t may come from far out: t · density is largest where x = loc + scale², or at x = 0 if
        # that is nearer
        up = scale * xp.minimum(xp.maximum(-loc / scale, 0 * loc), scale)
        down = scale * xp.minimum(xp.maximum(loc / scale, 0 * loc), scale)
        low, high = -9 * scale - down, 9 * scale + up
        # whether x = 0 is, where t turns; elsewhere the nodes are spread evenly
        reached = (low <= -loc) & (-loc <= high)
        center = xp.where(reached, -loc, 0 * loc)
        width = xp.where(reached, xp.ones_like(loc), high - low)
        away, dx = logit_nodes(
            low, high, center, width, [-loc, 0 * loc, *(x - loc for x in kink_log_odds(kink, loc))]
        )
        z = away / scale
        weights = dx * xp.exp(-z * z / 2)
        weights = weights / sum_first(weights)
        away = xp.where(known, 0 * away, away)
        t, c = sigmoid(loc + away), sigmoid(-loc - away)
        step = sigmoid_step(loc, away)
        d = step - sum_first(weights * step)
        return lambda f: sum_first(weights * f(t, c, d))

    @property
    def mean(self) -> Pair:
        def of_block(block: LogitNormal) -> Pair:
            expect = block.expectation()
            return expect(lambda t, c, d: t), expect(lambda t, c, d: c)

        t, c = self._in_blocks(of_block)
        return t, c

    def split(self, loss: Loss) -> Split:
        total, aleatoric, epistemic = self._in_blocks(lambda block: Marginal.split(block, loss)[:3])
        bound = (1e-9 + 64 * smallest(self.loc)[1]) * total
        return Split(total, aleatoric, epistemic, (bound, bound, bound))

    def _in_blocks(self, f: Callable[[LogitNormal], Arrays]) -> Arrays:
        """``f`` of this law, a block of instances at a time: each has hundreds of nodes."""
        return quadrature_in_blocks(
            lambda *block: f(LogitNormal(*block)), (self.loc, self.scale), 4
        )


@dataclass(frozen=True, eq=False)
class Sampled(Marginal):
    """Events of Gaussian logits that have no one-dimensional form: quasi-random atoms, with the
    spread of their replicates.
    """

    loc: Array
    """Means of the logits, (..., K)."""
    factor: Array
    """L with L Lᵀ = cov, (..., K, K), or standard deviations (..., K)."""
    events: Events | None
    class_names: Names | None
    seed: int
    points: int

    def _law_of_points(self, loc: Array, factor: Array) -> Atoms:
        """The law of the events at all points, (points, REPLICATES, n, E)."""
        xp, k = namespace(loc), loc.shape[-1]
        normals = like(_quasi_random_logits(k, self.points, self.seed), loc)
        if factor.ndim == loc.ndim:
            z = normals.T[:, :, None] * factor.T[:, None, :]
        else:
            z = xp.matmul(normals, xp.permute_dims(factor, (1, 2, 0)))
        z = xp.permute_dims(
            xp.reshape(z + loc.T[:, None, :], (k, self.points, REPLICATES, -1)), (1, 2, 3, 0)
        )
        if self.events is None or self.events.given is None:
            return atoms_of_events(softmax(z), None, self.events, self.class_names)
        # a softmax over the classes of the condition alone: however unlikely they are, their odds
        # keep all digits
        inside, outside = [], []
        for event, others in self.events.resolve(k, self.class_names):
            given = softmax(xp.take(z, index_like([*event, *others], z), axis=-1))
            inside.append(xp.sum(given[..., : len(event)], axis=-1))
            outside.append(xp.sum(given[..., len(event) :], axis=-1))
        return Atoms(xp.stack(inside, axis=-1), None, xp.stack(outside, axis=-1))

    def _over_instance_blocks(self, f: Callable[[Atoms], Arrays]) -> Arrays:
        """Apply ``f`` to the points of blocks of instances, which have as many for any batch."""
        size = min(16, (1 << 22) // (REPLICATES * self.points * self.loc.shape[-1]))
        return in_instance_blocks(
            lambda *block: f(self._law_of_points(*block)),
            (self.loc, self.factor),
            self.loc.ndim - 1,
            max(1, size),
        )

    def split(self, loss: Loss) -> Split:
        """With 95 % bounds on the error, from the spread over the replicates.

        A loss with a corner may have all its epistemic uncertainty where no point fell, so one more
        point as far out as the farthest is reckoned with.
        """
        loc, factor = on_host(self.loc), on_host(self.factor)
        law, has_kernel = self, kernel_name(loss) is not None
        if has_kernel and loc is not None and factor is not None and loc.dtype.char in "df":
            law = replace(self, loc=loc, factor=factor)  # NumPy is much faster than other libraries
        parts = law._over_instance_blocks(partial(_split_of_replicates, loss))
        total, aleatoric, epistemic, *errors = (back_to_library(x, self.loc) for x in parts)
        return Split(total, aleatoric, epistemic, (errors[0], errors[1], errors[2]))

    @property
    def mean(self) -> Pair:
        t, c = self._over_instance_blocks(lambda points: _law_of_replicate_means(points).mean)
        return t, c


def _law_of_replicate_means(points: Atoms) -> Atoms:
    """The law of the replicates' means, each over its points."""
    t, c = points.t, points.complement
    xp, n = namespace(t), t.shape[0]
    return Atoms(xp.sum(t, axis=0) / n, None, None if c is None else xp.sum(c, axis=0) / n)


def _split_of_replicates(loss: Loss, points: Atoms) -> Arrays:
    """Total, aleatoric and epistemic uncertainty and their three error bounds.

    Each replicate is an ensemble of its points; what their means disagree is the rest of the
    epistemic uncertainty.
    """
    t, xp = points.t, namespace(points.t)
    replicates = None
    if points.complement is None:
        replicates = split_atoms_in_kernel(loss, t)
    total, aleatoric, epistemic = replicates or points.split(loss)[:3]
    across = _law_of_replicate_means(points)
    mt, mc = across.mean
    overall = loss.entropy(mt, mc)
    extra = 64 * smallest(total)[1] * overall  # rounding
    if not loss.smooth:
        for end in (xp.max, xp.min):  # the loss of deciding by the mean is linear
            far = end(end(t, axis=0), axis=0)
            near = mc + (mt - far)
            if points.complement is None:
                near = 1 - far
            at_the_mean = loss.entropy(far, near) + loss.divergence(far, mt, near, mc, far - mt)
            one_more = xp.abs(at_the_mean - overall) / (t.shape[0] * REPLICATES)
            extra = xp.maximum(extra, one_more)
    errors = []
    for x in (total, aleatoric, epistemic):
        # torch.std warns if empty
        variance = sum_first((x - sum_first(x) / REPLICATES) ** 2) / (REPLICATES - 1)
        errors.append(STANDARD_ERRORS * xp.sqrt(variance / REPLICATES) + extra)
    between = loss.epistemic(across.expectation(), mt, mc)
    return overall, across.average(aleatoric), across.average(epistemic) + between, *errors


def gaussian_logits(normals: Array, loc: Array, factor: Array) -> Array:
    """loc + factor · normals, (n, ..., K)."""
    if factor.ndim == loc.ndim:  # standard deviations
        return loc + factor * normals
    return loc + namespace(loc).sum(factor * normals[..., None, :], axis=-1)


@lru_cache(maxsize=8)
def _quasi_random_logits(k: int, points: int, seed: int) -> np.ndarray:
    """REPLICATES scrambled Sobol' sequences of standard normal vectors, (points · REPLICATES, k):
    the replicates of a point side by side.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    root = np.random.default_rng(seed)
    uniform = np.stack(
        [qmc.Sobol(k, rng=child).random(points) for child in root.spawn(REPLICATES)], axis=1
    )
    return ndtri(np.clip(uniform, 1e-16, 1 - 1e-16)).reshape(-1, k)
