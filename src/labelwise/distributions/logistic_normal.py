"""Gaussian logits (Laplace approximations, heteroscedastic heads): Θ = softmax(z), z ~ N(mean, cov)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    as_floating,
    check_finite,
    check_names,
    index_like,
    into,
    like,
    namespace,
    smallest,
    sum_first,
    values_known,
    without_gradient,
)
from ..events import Events, Family, as_events
from ..losses import Loss
from ._atoms import Atoms
from ._checks import as_rng, check_classes, check_count, event_sums, set_fields
from ._quadrature import NODES, blocks, corners, logit_nodes, sigmoid, sigmoid_step

REPLICATES = 16
"""Independent randomisations of the quasi-Monte Carlo rule."""
T_QUANTILE = 2.131449545559323  # of Student's t with REPLICATES − 1 degrees of freedom, two-sided 95 %
STANDARD_ERRORS = 3
"""Half-width of the error bounds: more than the t quantile, because replicates of rare events are skewed. Measured coverage for
random means and covariances (K = 3, K = 10): 95 % or more for every loss and seed."""


@dataclass(frozen=True, eq=False, init=False)
class LogisticNormal:
    r"""Θ = softmax(z) with Gaussian logits z ~ N(mean, cov).

    Events that set one class against one other (K = 2, `events.one_vs_one`) have normal log-odds and are integrated by
    quadrature (error below 1e-9 TU in double, 1e-5 TU in single precision). All others are integrated by randomised quasi-Monte
    Carlo (16 scrambled Sobol' sequences) with a 95 % error bound in ``decompose(...).error``; with 256 points each it is typically
    5e-4 TU for K = 3 and 4e-3 TU for K = 10.

    Parameters
    ----------
    mean : array (..., K)
    cov : array (..., K) or (..., K, K)
        Variances of independent logits, or covariance matrices (symmetric, positive semi-definite). A (K, K) array is a
        covariance if it has one axis more than ``mean``.
    names : sequence of str, optional
    seed, points : int
        Seed and length of each Sobol' sequence (a power of 2). The same points serve all instances.

    Examples
    --------
    >>> q = LogisticNormal(np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    >>> q.mean()
    array([0.5, 0.5])
    """

    loc: Array
    cov: Array
    names: tuple[str, ...] | None
    seed: int
    points: int

    def __init__(self, mean: Any, cov: Any, *, names: Sequence[str] | None = None, seed: int = 0, points: int = 256) -> None:
        mean, cov = as_floating(mean, "mean"), as_floating(cov, "cov")
        if mean.ndim < 1:
            raise ValueError("`mean` must have at least 1 axis (..., classes); got a single number")
        check_classes(mean, "mean")
        cov = into(cov, mean, "cov", "mean")
        full = (*mean.shape, mean.shape[-1])
        if tuple(cov.shape) not in (tuple(mean.shape), full):
            shape = tuple(cov.shape)
            fits = next((target for target in (full, full[:-1]) if shape == target[mean.ndim - 1 :]), None)
            hint = f". To share it among the instances: np.broadcast_to(cov, {fits})" if fits and mean.ndim > 1 else ""
            raise ValueError(
                f"`cov` must have the shape of `mean`, {tuple(mean.shape)} (variances), or {full} (covariances); got {shape}{hint}"
            )
        if not isinstance(points, int) or points < 16 or points & (points - 1):
            raise ValueError(f"`points` must be a power of 2, at least 16; got {points!r}")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"`seed` must be an integer, not negative; got {seed!r}")
        if values_known(mean) and values_known(cov) and 0 not in mean.shape:
            _check_covariance(mean, cov)
        set_fields(self, loc=mean, cov=cov, names=check_names(names, mean.shape[-1]), seed=int(seed), points=int(points))

    @property
    def n_classes(self) -> int:
        return int(self.loc.shape[-1])

    @property
    def _factor(self) -> Array:
        """L with L Lᵀ = cov; a tiny ridge keeps singular matrices (a known logit, a removed constant) factorizable.

        It also makes up for eigenvalues that rounding has left below 0, as far as these were let in.
        """
        xp = namespace(self.loc)
        if self.cov.ndim == self.loc.ndim:
            tiny = smallest(self.cov)[0]
            return xp.sqrt(xp.where(self.cov > tiny, self.cov, like(tiny, self.cov)))
        k = self.n_classes
        diagonal = xp.linalg.diagonal(self.cov)
        lowest = xp.linalg.eigvalsh(without_gradient(self.cov))[..., 0]
        ridge = 4 * k * smallest(self.cov)[1] * xp.max(diagonal, axis=-1) + smallest(self.cov)[0] * 1e8
        ridge = ridge + xp.where(lowest < 0, -lowest, 0 * lowest)
        return xp.linalg.cholesky(self.cov + ridge[..., None, None] * like(np.eye(k), self.cov))

    def _logits(self, normals: Array, loc: Array, factor: Array) -> Array:
        """loc + factor · normals, (n, ..., K)."""
        diagonal = factor.ndim == loc.ndim
        return loc + (factor * normals if diagonal else namespace(loc).sum(factor * normals[..., None, :], axis=-1))

    def marginal(self, events: Family | None = None) -> LogitNormal | SampledLaw:
        """The law of each event's probability."""
        k, events = self.n_classes, as_events(events)
        sets = [([i], [1 - i]) for i in range(2)] if events is None and k == 2 else None
        if events is not None:
            sets = events.resolve(k, self.names)
        if sets is not None and all(len(a) == len(b) == 1 for a, b in sets):
            return self._log_odds([a[0] for a, _ in sets], [b[0] for _, b in sets])
        return SampledLaw(self, events)

    def _log_odds(self, i: list[int], j: list[int]) -> LogitNormal:
        xp = namespace(self.loc)
        first, second = index_like(i, self.loc), index_like(j, self.loc)

        def pick(x: Array, k: Array) -> Array:
            return xp.take(x, k, axis=-1)

        if self.cov.ndim == self.loc.ndim:
            variance = pick(self.cov, first) + pick(self.cov, second)
        else:
            variance = self.cov[..., first, first] + self.cov[..., second, second] - 2 * self.cov[..., first, second]
        tiny = smallest(variance)[0] * 1e8
        known = variance <= tiny  # a point mass: the slope of the square root would be infinite
        spread = xp.where(known, 0 * variance, xp.sqrt(xp.where(known, like(tiny, variance), variance)))
        return LogitNormal(pick(self.loc, first) - pick(self.loc, second), spread)

    def mean(self, events: Family | None = None) -> Array:
        """E Θ, of shape (..., K) or (..., E)."""
        return self.marginal(events).mean[0]

    def expect(self, f: Callable[[Array, Array, Array], Array], events: Family | None = None) -> Array:
        """E f(Θ_A, 1 − Θ_A, Θ_A − E Θ_A) for each event A."""
        return self.marginal(events).expect(f)

    def sample(self, n: int, *, rng: int | np.random.Generator) -> Array:
        """``n`` draws of Θ, shape (n, ..., K)."""
        normals = like(as_rng(rng).standard_normal((check_count(n), *self.loc.shape)), self.loc)
        return _softmax(self._logits(normals, self.loc, self._factor))


@dataclass(frozen=True, eq=False)
class LogitNormal:
    """Θ = sigmoid(x), x ~ N(loc, scale²), arrays (..., E); with a scale of 0 a point mass."""

    loc: Array
    scale: Array

    def _expectation(self, corner: Array | None) -> Callable[[Callable[[Array, Array, Array], Array]], Array]:
        """All is reckoned in the distance δ = x − loc: laws far narrower than the last digit of ``loc`` keep theirs."""
        xp = namespace(self.loc)
        loc, known = self.loc, self.scale <= 0
        scale = xp.where(known, xp.ones_like(loc), self.scale)
        # E t may come from far out: t · density is largest where x = loc + scale², or at x = 0 if that is nearer
        up, down = (scale * xp.minimum(xp.maximum(x / scale, 0 * x), scale) for x in (-loc, loc))
        low, high = -9 * scale - down, 9 * scale + up
        reached = (low <= -loc) & (-loc <= high)  # whether x = 0 is, where t turns; elsewhere the nodes are spread evenly
        centre, width = xp.where(reached, -loc, 0 * loc), xp.where(reached, xp.ones_like(loc), high - low)
        away, dx = logit_nodes(low, high, centre, width, [-loc, 0 * loc, *(x - loc for x in corners(corner, loc))])
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

    def expect(self, f: Callable[[Array, Array, Array], Array], corner: Array | None = None) -> Array:
        """E f(Θ, 1 − Θ, Θ − E Θ); ``corner`` is a probability at which f is not smooth."""
        return blocks(lambda loc, scale: (LogitNormal(loc, scale)._expectation(corner)(f),), (self.loc, self.scale), 4 * NODES)[0]

    def split(self, loss: Loss) -> tuple[Array, Array]:
        """Aleatoric and epistemic uncertainty."""

        def of_block(loc: Array, scale: Array) -> tuple[Array, Array]:
            block = LogitNormal(loc, scale)
            expect = block._expectation(loss.kink)
            return expect(lambda t, c, d: loss.entropy(t, c)), loss.epistemic(expect, *block.mean)

        aleatoric, epistemic = blocks(of_block, (self.loc, self.scale), 4 * NODES)
        return aleatoric, epistemic

    def error(self, loss: Loss) -> tuple[Array, Array, Array]:
        """Bounds on the error of total, aleatoric and epistemic uncertainty."""
        bound = (1e-9 + 64 * smallest(self.loc)[1]) * loss.entropy(*self.mean)
        return bound, bound, bound


@dataclass(frozen=True, eq=False)
class SampledLaw:
    """Events of a LogisticNormal that have no one-dimensional form: quasi-random atoms, with the spread of their replicates."""

    q: LogisticNormal
    events: Events | None

    def _atoms(self, loc: Array, factor: Array) -> Atoms:
        """Atoms on an axis of REPLICATES · points for instances ``loc`` (n, K)."""
        normals = like(_normals(self.q.n_classes, self.q.points, self.q.seed), loc)
        z = self.q._logits(normals[:, None, :], loc, factor)
        if self.events is None:
            return Atoms(_softmax(z))
        if self.events.given is None:
            inside, rest = event_sums(_softmax(z), self.events, self.q.names)
            return Atoms(inside, None, rest)
        # a softmax over the classes of the condition alone: however unlikely they are, their odds keep all digits
        xp, sides = namespace(z), []
        for event, others in self.events.resolve(self.q.n_classes, self.q.names):
            given = _softmax(xp.take(z, index_like([*event, *others], z), axis=-1))
            sides.append([xp.sum(given[..., : len(event)], axis=-1), xp.sum(given[..., len(event) :], axis=-1)])
        return Atoms(xp.stack([t for t, _ in sides], axis=-1), None, xp.stack([c for _, c in sides], axis=-1))

    def _map(self, f: Callable[[Atoms], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Apply ``f`` to the atoms of blocks of instances."""
        xp = namespace(self.q.loc)
        k, batch = self.q.n_classes, tuple(self.q.loc.shape[:-1])
        loc, factor = xp.reshape(self.q.loc, (-1, k)), self.q._factor
        factor = xp.reshape(factor, (-1, *factor.shape[len(batch) :]))
        size = max(1, (1 << 22) // (REPLICATES * self.q.points * k * (1 if factor.ndim == 2 else k)))
        parts = [f(self._atoms(loc[i : i + size, ...], factor[i : i + size, ...])) for i in range(0, max(loc.shape[0], 1), size)]
        return tuple(xp.reshape(xp.concat(list(p), axis=0), (*batch, p[0].shape[-1])) for p in zip(*parts, strict=True))

    @property
    def mean(self) -> tuple[Array, Array]:
        t, c = self._map(lambda atoms: atoms.mean)
        return t, c

    def expect(self, f: Callable[[Array, Array, Array], Array]) -> Array:
        """E f(Θ, 1 − Θ, Θ − E Θ)."""
        return self._map(lambda atoms: (atoms.expect(f),))[0]

    def split(self, loss: Loss) -> tuple[Array, Array]:
        """Aleatoric and epistemic uncertainty."""
        aleatoric, epistemic = self._map(lambda atoms: atoms.split(loss))
        return aleatoric, epistemic

    def error(self, loss: Loss) -> tuple[Array, Array, Array]:
        """95 % bounds on the error of total, aleatoric and epistemic uncertainty, from the spread over the replicates.

        A loss with a corner may have all its epistemic uncertainty where no point fell, so one more point as far out as the
        farthest is reckoned with.
        """

        def spread(atoms: Atoms) -> tuple[Array, ...]:
            xp = namespace(atoms.t)
            t, c = (xp.reshape(x, (REPLICATES, self.q.points, *x.shape[1:])) for x in (atoms.t, atoms.c))
            each = [Atoms(t[r, ...], None, c[r, ...]) for r in range(REPLICATES)]
            total = xp.stack([loss.entropy(*a.mean) for a in each], axis=0)
            parts = [a.split(loss) for a in each]
            columns = [total, *(xp.stack([p[i] for p in parts], axis=0) for i in (0, 1))]
            mt, mc = atoms.mean
            overall = loss.entropy(mt, mc)
            extra = 64 * smallest(total)[1] * overall  # rounding
            if not loss.smooth:
                at_the_mean = loss.entropy(atoms.t, atoms.c) + loss.divergence(atoms.t, mt, atoms.c, mc, atoms.deviation)
                extra = extra + xp.max(xp.abs(at_the_mean - overall), axis=0) / atoms.t.shape[0]
            variances = [sum_first((x - sum_first(x) / REPLICATES) ** 2) / (REPLICATES - 1) for x in columns]  # torch.std warns if empty
            return tuple(STANDARD_ERRORS * xp.sqrt(v / REPLICATES) + extra for v in variances)

        total, aleatoric, epistemic = self._map(spread)
        return total, aleatoric, epistemic


def _softmax(z: Array) -> Array:
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


def _check_covariance(mean: Array, cov: Array) -> None:
    xp = namespace(mean)
    check_finite(mean, "mean")
    check_finite(cov, "cov")
    cov = without_gradient(cov)
    if cov.ndim == mean.ndim:
        if float(xp.min(cov)) < 0:
            raise ValueError(f"`cov` holds variances and must not be negative; the lowest is {float(xp.min(cov)):.4g}")
        return
    scale = float(xp.max(xp.abs(cov)))
    tolerance = 1e3 * smallest(cov)[1] * max(scale, 1e-300)
    gap = float(xp.max(xp.abs(cov - xp.matrix_transpose(cov))))
    if gap > tolerance:
        raise ValueError(
            f"`cov` must be symmetric; cov and its transpose differ by up to {gap:.4g}. Use (cov + cov.T) / 2 if that is rounding"
        )
    lowest = float(xp.min(xp.linalg.eigvalsh(cov)))
    if lowest < -tolerance * cov.shape[-1]:
        raise ValueError(f"`cov` must be positive semi-definite; its lowest eigenvalue is {lowest:.4g}")
