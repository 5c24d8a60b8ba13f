r"""Uncertainty of an ensemble that never is in memory as a whole: one member, or one shard of members, at a time.

Two sets of members with shares α + β = 1 of the weight are joined, for every loss by the same rule as Chan's for the variance:

.. math:: m = m_a + \beta\,\delta, \quad \delta = m_b - m_a, \qquad
          \mathrm{EU} = \alpha\,[\mathrm{EU}_a + D(m_a \Vert m)] + \beta\,[\mathrm{EU}_b + D(m_b \Vert m)]

The deviations from the new mean are −βδ and αδ, so nothing is subtracted: EU is never negative, and 0 where members agree. The mean
is a pair of numbers whose sum has twice the digits: members that differ in their last digits only are told apart. Only shares are
multiplied with, never weights, so that these may be as large or small as they like.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, at_most_one, check_names, like, namespace, to_numpy
from .decomposition import Uncertainty
from .distributions import Ensemble, MultiLabelEnsemble
from .losses import CostLoss, Loss, as_loss

__all__ = ["Accumulator"]

BLOCK = 1 << 16
"""Numbers of each array that are worked on at once: some dozen temporaries of that size stay in the cache."""
Pair = tuple[Array, Array]
"""A number as the unevaluated sum of two: the first is the rounded value, the second what rounding lost."""


@dataclass(frozen=True, eq=False)
class _State:
    """What is known after some members: (..., K), whatever their number."""

    weight: Pair
    """Of all members together, (..., 1)."""
    mean: Pair
    complement: Pair
    """The mean of 1 − p, which has the digits where the mean is near 1."""
    entropy: Pair
    """The mean of the members' entropies."""
    spread: Array
    """EU; for costs the regret of acting."""
    other: Array
    """For costs the regret of not acting, else 0."""


class Accumulator:
    """Label-wise uncertainty from members that come one after another; the state does not grow with their number.

    Parameters
    ----------
    loss : str or Loss
    class_names : sequence of str, optional
        Class names.
    multilabel : bool
        The labels may occur together (`MultiLabelEnsemble`); otherwise each member's probabilities sum to 1.

    Examples
    --------
    >>> acc = Accumulator("squared")
    >>> for member in np.array([[[0.9, 0.1]], [[0.7, 0.3]]]):
    ...     _ = acc.update(member)
    >>> acc.result().epistemic.round(3)
    array([[0.01, 0.01]])
    """

    def __init__(self, loss: str | Loss = "log", *, class_names: Sequence[str] | None = None, multilabel: bool = False) -> None:
        self.loss = as_loss(loss)
        self.multilabel = bool(multilabel)
        self.n_members = 0
        self._names = class_names
        self._state: _State | None = None

    def update(self, probs: Any, *, weight: Any = 1.0) -> Accumulator:
        """Add one member: ``probs`` (..., K), ``weight`` a number or one per instance (...,). An `Ensemble` adds all its members."""
        kind = MultiLabelEnsemble if self.multilabel else Ensemble
        if isinstance(probs, Ensemble | MultiLabelEnsemble):
            if not isinstance(probs, kind):
                raise TypeError(f"this Accumulator takes a {kind.__name__}; got {type(probs).__name__}")
            if probs.weights is not None:
                raise ValueError("an Ensemble's weights are only known up to a factor; add its members one by one with `weight`")
            for member in probs.probs:
                self.update(member, weight=weight)
            return self
        shape = tuple(getattr(probs, "shape", np.shape(probs)))
        if len(shape) < 1:
            raise ValueError("`probs` must be one member's predictions, (..., K); got a single number")
        p = kind(probs[None] if hasattr(probs, "shape") else [probs], member_axis=0).probs[0, ...]
        xp = namespace(p)
        w = like(weight, p) if isinstance(weight, int | float | np.ndarray | np.number) else weight
        if tuple(w.shape) not in ((), tuple(p.shape[:-1])):
            raise ValueError(f"`weight` must be a number or have shape {tuple(p.shape[:-1])}; got {tuple(w.shape)}")
        if not bool(xp.all(xp.isfinite(w) & (w >= 0))):
            raise ValueError("`weight` must be finite and not negative")
        self._check_shape(p)
        loss = self._bound(p.shape[-1])
        w = (w if w.ndim == 0 else w[..., None]) + 0 * p[..., :1]
        before = () if self._state is None else tuple(_flat(self._state).values())

        def joined(p: Array, w: Array, *before: Array) -> _State:
            member = _member(p, w, loss)
            return _join(_state(before), member, loss) if before else member

        self._state = _in_blocks(joined, p, w, *before)
        self.n_members += 1
        return self

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another Accumulator of the same loss has seen."""
        if not isinstance(other, Accumulator) or repr(other.loss) != repr(self.loss) or other.multilabel != self.multilabel:
            raise ValueError(
                f"only an Accumulator of the same kind can be merged; this one has {self.loss!r}, the other {_describe(other)}"
            )
        if other._state is None:
            return self
        if self._state is None:
            self._state, self.n_members = other._state, other.n_members
            return self
        self._check_shape(other._state.spread)
        loss = self._bound(self._state.spread.shape[-1])
        arrays = [*_flat(self._state).values(), *_flat(other._state).values()]
        self._state = _in_blocks(lambda *x: _join(_state(x[: len(_KEYS)]), _state(x[len(_KEYS) :]), loss), *arrays)
        self.n_members += other.n_members
        return self

    def result(self) -> Uncertainty:
        """Label-wise uncertainty of all members so far."""
        if self._state is None:
            raise ValueError("there is no result yet: `update` has not been called")
        s = self._state
        k = int(s.spread.shape[-1])
        xp = namespace(s.spread)
        if not bool(xp.all(s.weight[0] > 0)):
            raise ValueError("the weights so far are all zero (for some instance)")
        loss = self._bound(k)
        return Uncertainty(
            loss.entropy(s.mean[0], s.complement[0]),
            s.entropy[0],
            xp.minimum(s.spread, s.other) if isinstance(loss, CostLoss) else s.spread,
            check_names(self._names, k) or tuple(str(i) for i in range(k)),
            loss,
            structure="free" if self.multilabel else "partition",
            n_members=self.n_members,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to an .npz file, so that another process can go on (`load`) or join it (`merge`)."""
        from .io.atomic import replacing
        from .io.npz import write_npz

        if self._state is None:
            raise ValueError("there is nothing to save yet: `update` has not been called")
        arrays = {key: to_numpy(value) for key, value in _flat(self._state).items()}
        arrays["n_members"] = np.asarray(self.n_members)
        arrays["description"] = np.asarray(_describe(self))
        path = Path(path)
        with replacing(path) as file:
            write_npz(file, arrays)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str], loss: str | Loss = "log", **options: Any) -> Accumulator:
        """An Accumulator as it was saved; ``loss`` and options must be those it was made with."""
        from .io.npz import read_npz

        self = cls(loss, **options)
        keys = [*_KEYS, "n_members", "description"]
        found = read_npz(Path(path), keys)
        missing = [key for key in keys if key not in found]
        if missing:
            raise ValueError(f"{str(path)!r} is not a saved Accumulator: it has no {', '.join(missing)}")
        if str(found["description"]) != _describe(self):
            raise ValueError(f"{str(path)!r} was saved with {found['description']}; it cannot go on with {_describe(self)}")
        shape = found["spread"].shape
        fits = all(found[key].shape == ((*shape[:-1], 1) if key.startswith("weight") else shape) for key in _KEYS)
        if not shape or not fits or any(found[key].dtype.kind != "f" or not np.all(np.isfinite(found[key])) for key in _KEYS):
            raise ValueError(f"{str(path)!r} is not a saved Accumulator: its arrays do not fit together")
        self._state = _state([np.array(found[key]) for key in _KEYS])
        self.n_members = int(found["n_members"])
        return self

    def _bound(self, k: int) -> Loss:
        return self.loss.bind(check_names(self._names, k) or tuple(str(i) for i in range(k)))

    def _check_shape(self, p: Array) -> None:
        if self._state is not None and tuple(p.shape) != tuple(self._state.spread.shape):
            raise ValueError(f"`probs` must have the shape of the members before, {tuple(self._state.spread.shape)}; got {tuple(p.shape)}")
        check_names(self._names, int(p.shape[-1]))


_KEYS = ("weight", "weight_rest", "mean", "mean_rest", "complement", "complement_rest", "entropy", "entropy_rest", "spread", "other")


def _flat(s: _State) -> dict[str, Array]:
    return dict(zip(_KEYS, (*s.weight, *s.mean, *s.complement, *s.entropy, s.spread, s.other), strict=True))


def _state(v: Sequence[Array]) -> _State:
    """The reverse of `_flat`."""
    return _State((v[0], v[1]), (v[2], v[3]), (v[4], v[5]), (v[6], v[7]), v[8], v[9])


def _describe(acc: Any) -> str:
    return f"{acc.loss!r}{', multilabel' if acc.multilabel else ''}" if isinstance(acc, Accumulator) else type(acc).__name__


def _in_blocks(f: Callable[..., _State], *arrays: Array) -> _State:
    """``f`` of ``arrays`` (..., K) or (..., 1); of large ones of NumPy a block of instances at a time, so that its temporaries are small."""
    first = arrays[0]
    if not isinstance(first, np.ndarray) or first.size <= BLOCK:
        return f(*arrays)
    batch = first.shape[:-1]
    n, step = int(np.prod(batch)), max(1, BLOCK // first.shape[-1])
    rows = [x.reshape(n, x.shape[-1]) for x in arrays]
    whole: list[np.ndarray] = []
    for i in range(0, n, step):
        parts = _flat(f(*(x[i : i + step] for x in rows))).values()
        whole = whole or [np.empty((n, part.shape[-1]), part.dtype) for part in parts]
        for out, part in zip(whole, parts, strict=True):
            out[i : i + step] = part
    return _state([x.reshape(*batch, x.shape[-1]) for x in whole])


def _member(p: Array, w: Array, loss: Loss) -> _State:
    """The state after one member alone."""
    p = at_most_one(p)
    zero = 0 * p
    c, rest = _two_sum(namespace(p).ones_like(p), -p)
    member = _State((w, 0 * w), (p, zero), (c, rest), (loss.entropy(p, c), zero), zero, zero)
    if not isinstance(loss, CostLoss):
        return member
    do_not_act, act = loss.regrets(p, c)
    return replace(member, spread=act, other=do_not_act)


def _join(a: _State, b: _State, loss: Loss) -> _State:
    """The state of both sets of members together."""
    xp = namespace(a.spread)
    a, b = _heavier_first(a, b)
    weight = _add(a.weight, b.weight)
    alpha, beta = _divide(a.weight, weight), _divide(b.weight, weight)

    def mean(x: Pair, y: Pair) -> tuple[Pair, Array]:
        delta = _add(y, (-x[0], -x[1]))
        return _add(x, _multiply(beta, delta)), delta[0]

    (t, delta), (c, delta_c) = mean(a.mean, b.mean), mean(a.complement, b.complement)
    spread_a, spread_b = a.spread, b.spread
    if not isinstance(loss, CostLoss):
        delta = xp.where(t[0] <= c[0], delta, -delta_c)
        spread_a = spread_a + loss.divergence(a.mean[0], t[0], a.complement[0], c[0], -beta[0] * delta)
        spread_b = spread_b + loss.divergence(b.mean[0], t[0], b.complement[0], c[0], alpha[0] * delta)
    return _State(
        weight,
        t,
        c,
        mean(a.entropy, b.entropy)[0],
        alpha[0] * spread_a + beta[0] * spread_b,
        alpha[0] * a.other + beta[0] * b.other,
    )


def _heavier_first(a: _State, b: _State) -> tuple[_State, _State]:
    """Both, so that the lighter moves the mean of the heavier; one of weight 0 becomes like the other, whatever it says."""
    where = namespace(a.spread).where
    swap, none = b.weight[0] > a.weight[0], (a.weight[0] <= 0) | (b.weight[0] <= 0)
    pairs = list(zip(_flat(a).values(), _flat(b).values(), strict=True))
    heavy = [where(swap, y, x) for x, y in pairs]
    light = [where(swap, x, y) for x, y in pairs]
    return _state(heavy), _state([*light[:2], *(where(none, x, y) for x, y in zip(heavy[2:], light[2:], strict=True))])


def _positive(x: Array) -> Array:
    return namespace(x).where(x > 0, x, namespace(x).ones_like(x))


def _two_sum(a: Array, b: Array) -> Pair:
    """a + b exactly (Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def _two_prod(a: Array, b: Array) -> Pair:
    """a · b exactly (Dekker), unless the lost part underflows."""
    factor = float(2**27 + 1 if float(namespace(a).finfo(a.dtype).eps) < 1e-12 else 2**12 + 1)

    def halves(x: Array) -> Pair:
        big = factor * x
        high = big - (big - x)
        return high, x - high

    p = a * b
    (a1, a2), (b1, b2) = halves(a), halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _add(a: Pair, b: Pair) -> Pair:
    high, low = _two_sum(a[0], b[0])
    return _two_sum(high, low + (a[1] + b[1]))


def _multiply(a: Pair, b: Pair) -> Pair:
    high, low = _two_prod(a[0], b[0])
    return _two_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def _divide(a: Pair, b: Pair) -> Pair:
    """a / b; 0 where b is 0."""
    divisor = _positive(b[0])
    first = a[0] / divisor
    product, lost = _two_prod(first, divisor)
    rest = ((a[0] - product) - lost) + (a[1] - first * b[1])
    return _two_sum(first, rest / divisor)
