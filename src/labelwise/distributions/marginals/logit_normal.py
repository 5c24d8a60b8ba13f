"""The laws of events under Gaussian logits: normal log-odds of two classes, or quasi-random atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..._arrays import Array, index_like, like, namespace, smallest, sum_first
from ..._validation import event_sums
from ...events import Events
from ...losses import Loss
from ._quadrature import NODES, blocks, corners, logit_nodes, sigmoid, sigmoid_step
from .atoms import Atoms
from .base import Function, Marginal

REPLICATES = 16
"""Independent randomisations of the quasi-Monte Carlo rule."""
T_QUANTILE = 2.131449545559323  # of Student's t with REPLICATES − 1 degrees of freedom, two-sided 95 %
STANDARD_ERRORS = 3
"""Half-width of the error bounds: more than the t quantile, because replicates of rare events are skewed. Measured coverage for
random means and covariances (K = 3, K = 10): 95 % or more for every loss and seed."""


@dataclass(frozen=True, eq=False)
class LogitNormal(Marginal):
    """Θ = sigmoid(x), x ~ N(loc, scale²), arrays (..., E); with a scale of 0 a point mass."""

    loc: Array
    scale: Array

    def _expectation(self, kink: Array | None) -> Callable[[Function], Array]:
        """All is reckoned in the distance δ = x − loc: laws far narrower than the last digit of ``loc`` keep theirs."""
        xp = namespace(self.loc)
        loc, known = self.loc, self.scale <= 0
        scale = xp.where(known, xp.ones_like(loc), self.scale)
        # E t may come from far out: t · density is largest where x = loc + scale², or at x = 0 if that is nearer
        up, down = (scale * xp.minimum(xp.maximum(x / scale, 0 * x), scale) for x in (-loc, loc))
        low, high = -9 * scale - down, 9 * scale + up
        reached = (low <= -loc) & (-loc <= high)  # whether x = 0 is, where t turns; elsewhere the nodes are spread evenly
        centre, width = xp.where(reached, -loc, 0 * loc), xp.where(reached, xp.ones_like(loc), high - low)
        away, dx = logit_nodes(low, high, centre, width, [-loc, 0 * loc, *(x - loc for x in corners(kink, loc))])
        z = away / scale
        weights = dx * xp.exp(-z * z / 2)
        weights = weights / sum_first(weights)
        away = xp.where(known, 0 * away, away)
        t, c = sigmoid(loc + away), sigmoid(-loc - away)
        step = sigmoid_step(loc, away)
        d = step - sum_first(weights * step)
        return lambda f: sum_first(weights * f(t, c, d))

    @property
    def mean(self) -> tuple[Array, Array]:
        def of_block(loc: Array, scale: Array) -> tuple[Array, Array]:
            expect = LogitNormal(loc, scale)._expectation(None)
            return expect(lambda t, c, d: t), expect(lambda t, c, d: c)

        t, c = blocks(of_block, (self.loc, self.scale), 4 * NODES)
        return t, c

    def expect(self, f: Function, kink: Array | None = None) -> Array:
        return blocks(lambda loc, scale: (LogitNormal(loc, scale)._expectation(kink)(f),), (self.loc, self.scale), 4 * NODES)[0]

    def epistemic(self, loss: Loss) -> Array:
        def of_block(loc: Array, scale: Array) -> tuple[Array]:
            block = LogitNormal(loc, scale)
            return (loss.epistemic(block._expectation(loss.kink), *block.mean),)

        return blocks(of_block, (self.loc, self.scale), 4 * NODES)[0]

    def error(self, loss: Loss) -> tuple[Array, Array, Array]:
        """Bounds on the error of total, aleatoric and epistemic uncertainty."""
        bound = (1e-9 + 64 * smallest(self.loc)[1]) * loss.entropy(*self.mean)
        return bound, bound, bound


@dataclass(frozen=True, eq=False)
class Sampled(Marginal):
    """Events of Gaussian logits that have no one-dimensional form: quasi-random atoms, with the spread of their replicates."""

    loc: Array
    """Means of the logits, (..., K)."""
    factor: Array
    """L with L Lᵀ = cov, (..., K, K), or standard deviations (..., K)."""
    events: Events | None
    class_names: tuple[str, ...] | None
    seed: int
    points: int

    def _atoms(self, loc: Array, factor: Array) -> Atoms:
        """Atoms on an axis of REPLICATES · points for instances ``loc`` (n, K)."""
        k = loc.shape[-1]
        normals = like(_normals(k, self.points, self.seed), loc)
        z = correlated(normals[:, None, :], loc, factor)
        if self.events is None:
            return Atoms(softmax(z))
        if self.events.given is None:
            inside, rest = event_sums(softmax(z), self.events, self.class_names)
            return Atoms(inside, None, rest)
        # a softmax over the classes of the condition alone: however unlikely they are, their odds keep all digits
        xp, sides = namespace(z), []
        for event, others in self.events.resolve(k, self.class_names):
            given = softmax(xp.take(z, index_like([*event, *others], z), axis=-1))
            sides.append([xp.sum(given[..., : len(event)], axis=-1), xp.sum(given[..., len(event) :], axis=-1)])
        return Atoms(xp.stack([t for t, _ in sides], axis=-1), None, xp.stack([c for _, c in sides], axis=-1))

    def _map(self, f: Callable[[Atoms], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Apply ``f`` to the atoms of blocks of instances."""
        xp = namespace(self.loc)
        k, batch = self.loc.shape[-1], tuple(self.loc.shape[:-1])
        loc = xp.reshape(self.loc, (-1, k))
        factor = xp.reshape(self.factor, (-1, *self.factor.shape[len(batch) :]))
        size = max(1, (1 << 22) // (REPLICATES * self.points * k * (1 if factor.ndim == 2 else k)))
        parts = [f(self._atoms(loc[i : i + size, ...], factor[i : i + size, ...])) for i in range(0, max(loc.shape[0], 1), size)]
        return tuple(xp.reshape(xp.concat(list(p), axis=0), (*batch, p[0].shape[-1])) for p in zip(*parts, strict=True))

    @property
    def mean(self) -> tuple[Array, Array]:
        t, c = self._map(lambda atoms: atoms.mean)
        return t, c

    def expect(self, f: Function, kink: Array | None = None) -> Array:
        return self._map(lambda atoms: (atoms.expect(f),))[0]

    def aleatoric(self, loss: Loss) -> Array:
        return self._map(lambda atoms: (atoms.aleatoric(loss),))[0]

    def epistemic(self, loss: Loss) -> Array:
        return self._map(lambda atoms: (atoms.epistemic(loss),))[0]

    def error(self, loss: Loss) -> tuple[Array, Array, Array]:
        """95 % bounds on the error of total, aleatoric and epistemic uncertainty, from the spread over the replicates.

        A loss with a corner may have all its epistemic uncertainty where no point fell, so one more point as far out as the
        farthest is reckoned with.
        """

        def spread(atoms: Atoms) -> tuple[Array, ...]:
            xp = namespace(atoms.t)
            t, c = (xp.reshape(x, (REPLICATES, self.points, *x.shape[1:])) for x in (atoms.t, atoms.c))
            each = [Atoms(t[r, ...], None, c[r, ...]) for r in range(REPLICATES)]
            total = xp.stack([loss.entropy(*a.mean) for a in each], axis=0)
            aleatoric, epistemic = (
                xp.stack(parts, axis=0) for parts in zip(*((a.aleatoric(loss), a.epistemic(loss)) for a in each), strict=True)
            )
            mt, mc = atoms.mean
            overall = loss.entropy(mt, mc)
            extra = 64 * smallest(total)[1] * overall  # rounding
            if not loss.smooth:
                at_the_mean = loss.entropy(atoms.t, atoms.c) + loss.divergence(atoms.t, mt, atoms.c, mc, atoms.deviation)
                extra = extra + xp.max(xp.abs(at_the_mean - overall), axis=0) / atoms.t.shape[0]
            variances = [
                sum_first((x - sum_first(x) / REPLICATES) ** 2) / (REPLICATES - 1) for x in (total, aleatoric, epistemic)
            ]  # torch.std warns if empty
            return tuple(STANDARD_ERRORS * xp.sqrt(v / REPLICATES) + extra for v in variances)

        total, aleatoric, epistemic = self._map(spread)
        return total, aleatoric, epistemic


def correlated(normals: Array, loc: Array, factor: Array) -> Array:
    """loc + factor · normals, (n, ..., K)."""
    diagonal = factor.ndim == loc.ndim
    return loc + (factor * normals if diagonal else namespace(loc).sum(factor * normals[..., None, :], axis=-1))


def softmax(z: Array) -> Array:
    """Probabilities from logits on the last axis."""
    xp = namespace(z)
    odds = xp.exp(z - xp.max(z, axis=-1, keepdims=True))
    return odds / xp.sum(odds, axis=-1, keepdims=True)


@lru_cache(maxsize=8)
def _normals(k: int, points: int, seed: int) -> np.ndarray:
    """REPLICATES scrambled Sobol' sequences of standard normal vectors, (REPLICATES · points, k)."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    root = np.random.default_rng(seed)
    uniform = np.concatenate([qmc.Sobol(k, rng=child).random(points) for child in root.spawn(REPLICATES)])
    return np.asarray(ndtri(np.clip(uniform, 1e-16, 1 - 1e-16)))
