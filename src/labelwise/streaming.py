r"""Uncertainty of an ensemble that never is in memory as a whole: one member, or one shard of members, at a time.

The divergence from the mean is kept as the mean moves, for every loss by the same rule as Welford's and Chan's for the variance:

.. math:: n\,\mathrm{EU}_n = n'\,\mathrm{EU}_{n'} + n' D(m_{n'} \Vert m_n) + w\, D(p \Vert m_n), \qquad n = n' + w

Nothing is subtracted, so EU is never negative. The mean is a pair of numbers whose sum has twice the digits: members that differ in
their last digits only are told apart.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, check_names, like, namespace, to_numpy
from .decomposition import Uncertainty
from .distributions import Ensemble, MultiLabelEnsemble
from .losses import CostLoss, Loss, as_loss

Pair = tuple[Array, Array]
"""A number as the unevaluated sum of two: the first is the rounded value, the second what rounding lost."""


@dataclass(frozen=True, eq=False)
class _State:
    """What is known after some members: all (..., K), whatever their number."""

    weight: Pair
    sum_t: Pair
    sum_c: Array
    sum_entropy: Array
    spread: Array
    """Weight times EU; for costs the regret of acting."""
    other: Array
    """For costs the regret of not acting, else 0."""


class Accumulator:
    """Label-wise uncertainty from members that come one after another; the state does not grow with their number.

    Parameters
    ----------
    loss : str or Loss
    names : sequence of str, optional
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

    def __init__(self, loss: str | Loss = "log", *, names: Sequence[str] | None = None, multilabel: bool = False) -> None:
        self.loss = as_loss(loss)
        self.multilabel = bool(multilabel)
        self.n_members = 0
        self._names = names
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
        w = (w if w.ndim == 0 else w[..., None]) + 0 * p
        self._check_shape(p)
        loss = self._bound(p.shape[-1])
        c = 1 - p
        c = xp.where(c > 0, c, 0 * c)
        zero = 0 * p
        member = _State((w, zero), _two_prod(w, p), w * c, w * loss.entropy(p, c), zero, zero)
        if isinstance(loss, CostLoss):
            do_not_act, act = loss.regrets(p, c)
            member = replace(member, spread=w * act, other=w * do_not_act)
        self._state = member if self._state is None else _join(self._state, member, loss)
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
        self._check_shape(other._state.sum_c)
        self._state = _join(self._state, other._state, self._bound(self._state.sum_c.shape[-1]))
        self.n_members += other.n_members
        return self

    def result(self) -> Uncertainty:
        """Label-wise uncertainty of all members so far."""
        if self._state is None:
            raise ValueError("there is no result yet: `update` has not been called")
        s = self._state
        k = int(s.sum_c.shape[-1])
        xp = namespace(s.sum_c)
        if not bool(xp.all(s.weight[0] > 0)):
            raise ValueError("the weights so far are all zero (for some instance)")
        loss = self._bound(k)
        (t, _), c = _divide(s.sum_t, s.weight), s.sum_c / s.weight[0]
        spread = xp.minimum(s.spread, s.other) if isinstance(loss, CostLoss) else s.spread
        return Uncertainty(
            loss.entropy(t, c),
            s.sum_entropy / s.weight[0],
            spread / s.weight[0],
            check_names(self._names, k) or tuple(str(i) for i in range(k)),
            loss,
            n_classes=k,
            structure="free" if self.multilabel else "partition",
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to an .npz file, so that another process can go on (`load`) or join it (`merge`)."""
        from ._npz import replacing, write_npz

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
        from ._npz import read_npz

        self = cls(loss, **options)
        keys = [*_KEYS, "n_members", "description"]
        found = read_npz(Path(path), keys)
        missing = [key for key in keys if key not in found]
        if missing:
            raise ValueError(f"{str(path)!r} is not a saved Accumulator: it has no {', '.join(missing)}")
        if str(found["description"]) != _describe(self):
            raise ValueError(f"{str(path)!r} was saved with {found['description']}; it cannot go on with {_describe(self)}")
        shapes = {found[key].shape for key in _KEYS}
        if len(shapes) != 1 or any(found[key].dtype.kind != "f" or not np.all(np.isfinite(found[key])) for key in _KEYS):
            raise ValueError(f"{str(path)!r} is not a saved Accumulator: its arrays do not fit together")
        values = [np.array(found[key]) for key in _KEYS]
        self._state = _State((values[0], values[1]), (values[2], values[3]), *values[4:])
        self.n_members = int(found["n_members"])
        return self

    def _bound(self, k: int) -> Loss:
        return self.loss.bind(check_names(self._names, k) or tuple(str(i) for i in range(k)))

    def _check_shape(self, p: Array) -> None:
        if self._state is not None and tuple(p.shape) != tuple(self._state.sum_c.shape):
            raise ValueError(f"`probs` must have the shape of the members before, {tuple(self._state.sum_c.shape)}; got {tuple(p.shape)}")
        check_names(self._names, int(p.shape[-1]))


_KEYS = ("weight", "weight_rest", "sum_t", "sum_t_rest", "sum_c", "sum_entropy", "spread", "other")


def _flat(s: _State) -> dict[str, Array]:
    return dict(zip(_KEYS, (*s.weight, *s.sum_t, s.sum_c, s.sum_entropy, s.spread, s.other), strict=True))


def _describe(acc: Any) -> str:
    return f"{acc.loss!r}{', multilabel' if acc.multilabel else ''}" if isinstance(acc, Accumulator) else type(acc).__name__


def _join(a: _State, b: _State, loss: Loss) -> _State:
    """The state of both sets of members together."""
    xp = namespace(a.sum_c)
    weight, sum_t = _add(a.weight, b.weight), _add(a.sum_t, b.sum_t)
    sum_c = a.sum_c + b.sum_c
    spread, other = a.spread + b.spread, a.other + b.other
    if not isinstance(loss, CostLoss):
        mean, mc = _divide(sum_t, weight), sum_c / _positive(weight[0])
        for part in (a, b):
            own, own_c = _divide(part.sum_t, part.weight), part.sum_c / _positive(part.weight[0])
            counts = part.weight[0] > 0  # members of weight 0 have no mean
            high, low, own_c = (xp.where(counts, x, y) for x, y in ((own[0], mean[0]), (own[1], mean[1]), (own_c, mc)))
            spread = spread + part.weight[0] * loss.divergence(high, mean[0], own_c, mc, _difference((high, low), mean))
    return _State(weight, sum_t, sum_c, a.sum_entropy + b.sum_entropy, spread, other)


def _positive(x: Array) -> Array:
    return namespace(x).where(x > 0, x, namespace(x).ones_like(x))


def _difference(a: Pair, b: Pair) -> Array:
    """a − b; 0 where they are equal to twice the digits of their type."""
    xp = namespace(a[0])
    d = (a[0] - b[0]) + (a[1] - b[1])
    eps = float(xp.finfo(a[0].dtype).eps)
    return xp.where(xp.abs(d) <= 32 * eps * eps * b[0], 0 * d, d)


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


def _divide(a: Pair, b: Pair) -> Pair:
    """a / b; 0 where b is 0."""
    divisor = _positive(b[0])
    first = a[0] / divisor
    product, lost = _two_prod(first, divisor)
    rest = ((a[0] - product) - lost) + (a[1] - first * b[1])
    return _two_sum(first, rest / divisor)
