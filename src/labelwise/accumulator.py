r"""Uncertainty of an ensemble that never is in memory as a whole: one member, or one shard of
members, at a time.

Two sets of members with shares α + β = 1 of the weight are joined, for every loss by the same rule
as Chan's for the variance:

.. math:: m = m_a + \beta\,\delta, \quad \delta = m_b - m_a, \qquad
          \mathrm{EU} = \alpha\,[\mathrm{EU}_a + D(m_a \Vert m)] + \beta\,[\mathrm{EU}_b + D(m_b
          \Vert m)]

The deviations from the new mean are −βδ and αδ, so nothing is subtracted: EU is never negative, and
0 where members agree. The mean is a pair of numbers whose sum has twice the digits: members that
differ in their last digits only are told apart. Only shares are multiplied with, never weights, so
that these may be as large or small as they like. The same rule is written in C for arrays in main
memory and the losses of the kernel (``_engine/join.h``).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._arrays import (
    Array,
    ClassNames,
    at_most_one,
    check_names,
    index_like,
    like,
    namespace,
    to_numpy,
)
from ._engine import joining
from ._engine.host import back
from ._errors import InputError
from ._frames import library_of_frame, row_order, values_by_class
from ._named_predictions import moved_last, read_names
from .decomposition import Components, Uncertainty
from .distributions import Ensemble, MultiLabelEnsemble
from .distributions.dirichlet import MOST_MEMBERS
from .losses import CostLoss, CustomLoss, Loss, LossName, as_loss

__all__ = ["Accumulator"]

BLOCK = 1 << 16
"""Numbers of each array that are worked on at once: some dozen temporaries of that size stay in the
cache.
"""
FIRST = 7
"""Members that are kept as they are, if they weigh the same: together they take no more memory than
the state that replaces them.
"""
Pair = tuple[Array, Array]
"""A number as the unevaluated sum of two: the first is the rounded value, the second what rounding
lost.
"""


class _State(NamedTuple):
    """What is known after some members: (..., K), whatever their number; each ``rest`` is what
    rounding lost.
    """

    weight: Array
    """Of all members together: (..., 1), or (1, ..., 1) if it is the same for all instances."""
    weight_rest: Array
    mean: Array
    mean_rest: Array
    complement: Array
    """The mean of 1 − p, which has the digits where the mean is near 1."""
    complement_rest: Array
    entropy: Array
    """The mean of the members' entropies."""
    entropy_rest: Array
    spread: Array
    """EU; for costs the regret of acting."""
    other: Array
    """For costs the regret of not acting, else 0."""


class Accumulator:
    """Label-wise uncertainty from members that come one after another; the state does not grow with
    their number.

    Parameters
    ----------
    loss : str or Loss
    class_names : sequence of str, optional
        Class names.
    multilabel : bool
        The labels may occur together (`MultiLabelEnsemble`); otherwise each member's probabilities
        sum to 1.

    Examples
    --------
    >>> acc = Accumulator("squared")
    >>> for member in np.array([[[0.9, 0.1]], [[0.7, 0.3]]]):
    ...     _ = acc.update(member)
    >>> acc.result().epistemic.round(3)
    array([[0.01, 0.01]])
    """

    def __init__(
        self,
        loss: LossName | Loss = "log",
        *,
        class_names: ClassNames | None = None,
        multilabel: bool = False,
    ) -> None:
        self.loss = as_loss(loss)
        self.multilabel = bool(multilabel)
        self.n_members = 0
        self._names = class_names
        self._ids: Any = None
        """What the instances are called, if the first member said so."""
        self._state: _State | None = None
        self._own = False
        """Whether the arrays of the state belong to this Accumulator alone, so that they can be
        changed in place.
        """
        self._like: Array = None
        """An array of the library that members come from."""
        self._first: np.ndarray | None = None
        """Up to `FIRST` members of equal weight before there is a state, (FIRST, ..., K), of which
        `n_members` are filled.
        """
        self._weight = 1.0

    def update(self, probs: Any, *, weight: Any = 1.0) -> Accumulator:
        """Add one member: ``probs`` (..., K), ``weight`` a number or one per instance (...,). An
        `Ensemble` adds all its members.

        Data frames are matched to the first one by their columns and index.
        """
        kind = MultiLabelEnsemble if self.multilabel else Ensemble
        if isinstance(probs, Ensemble | MultiLabelEnsemble):
            if not isinstance(probs, kind):
                raise TypeError(
                    f"this Accumulator takes a {kind.__name__}; got {type(probs).__name__}"
                )
            if probs.weights is not None:
                raise ValueError(
                    "an Ensemble's weights are only known up to a factor; add its members one by "
                    "one with `weight`"
                )
            for member in self._in_order(probs.probs, probs.class_names, probs.ids):
                self._update(member, weight, kind)
            return self
        if library_of_frame(probs) is not None:
            given = read_names(
                probs, "probs", None, members=False, any_column=self._names is not None
            )
            probs = self._in_order(moved_last(given), given.class_names, given.ids)
        shape = tuple(getattr(probs, "shape", np.shape(probs)))
        if (
            self.n_members == 0
            and len(shape) == 3
            and shape[0] <= MOST_MEMBERS
            and shape[1] >= 4 * shape[0]
        ):
            warnings.warn(
                f"`probs` of shape {shape} is interpreted as one member's predictions for "
                f"{shape[0]} × {shape[1]} instances. If the first axis "
                "is the members, add them all at once: acc.update(lw.Ensemble(probs))",
                stacklevel=2,
            )
        return self._update(probs, weight, kind)

    def _update(
        self, probs: Any, weight: Any, kind: type[Ensemble] | type[MultiLabelEnsemble]
    ) -> Accumulator:
        """Add one member, which is in the order of the members before."""
        shape = tuple(getattr(probs, "shape", np.shape(probs)))
        if len(shape) < 1:
            raise ValueError(
                "`probs` must be one member's predictions, (..., K); got a single number"
            )
        p = kind(probs[None] if hasattr(probs, "shape") else [probs], member_axis=0).probs[0, ...]
        xp = namespace(p)
        w = like(weight, p) if isinstance(weight, int | float | np.ndarray | np.number) else weight
        if tuple(w.shape) not in ((), tuple(p.shape[:-1])):
            raise ValueError(
                f"`weight` must be a number or have shape {tuple(p.shape[:-1])}; got "
                f"{tuple(w.shape)}"
            )
        if not bool(xp.all(xp.isfinite(w) & (w >= 0))):
            raise ValueError("`weight` must be finite and not negative")
        self._check_shape(p)
        loss = self._bound(p.shape[-1])
        if self._keep(p, w, loss):
            return self
        self._fold()
        self._add(p, w, loss)
        self.n_members += 1
        return self

    def _in_order(self, probs: Array, names: tuple[str, ...] | None, ids: Any) -> Array:
        """Predictions (..., N, K) with their classes and instances in the order of the members
        before, by name where both have names.
        """
        known = check_names(self._names, int(probs.shape[-1]))
        if known is None and self.n_members == 0:
            self._names = names
        elif known is None and names is not None:
            raise InputError(
                "`probs` has class names, but the members before had none", fix="accumulator_names"
            )
        elif known is not None and names is not None and names != known:
            positions = dict(zip(names, range(len(names)), strict=True))
            order = values_by_class(positions, known, "probs")
            probs = namespace(probs).take(probs, index_like(order, probs), axis=-1)
        if self.n_members == 0:
            self._ids = ids
            return probs
        rows = row_order(self._ids, ids, "the members before", "`probs`")
        if rows is not None:
            probs = namespace(probs).take(probs, index_like(rows, probs), axis=-2)
        return probs

    def _keep(self, p: Array, w: Array, loss: Loss) -> bool:
        """Keep a member as it is, if there are only such members and the kernel can compute with
        them.
        """
        if self._state is not None or self.n_members == FIRST or w.ndim or not float(w) > 0:
            return False
        values = joining.in_main_memory(loss, p)
        if values is None:
            return False
        (member,) = values
        if self._first is None:
            self._first = np.empty((FIRST, *p.shape), member.dtype)
        elif member.dtype != self._first.dtype or float(w) != self._weight:
            return False
        self._first[self.n_members] = member
        self._like, self._weight = p[..., :0], float(w)
        self.n_members += 1
        return True

    def _fold(self) -> None:
        """Replace the first members by the state after them."""
        if self._first is None:
            return
        first, like_them = self._first[: self.n_members], self._like
        self._first = None
        weight = np.asarray(self._weight, first.dtype)
        for p in first:
            self._add(p, weight, self._bound(p.shape[-1]))
        self._like = like_them

    def _add(self, p: Array, w: Array, loss: Loss) -> None:
        """Join the state with a member."""
        w = w.reshape((1,) * p.ndim if w.ndim == 0 else (*p.shape[:-1], 1))
        self._take_in((w, 0 * w), [p], loss)

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another Accumulator of the same loss has seen."""
        if (
            not isinstance(other, Accumulator)
            or not _same_loss(other.loss, self.loss)
            or other.multilabel != self.multilabel
        ):
            raise ValueError(
                f"only an Accumulator of the same kind can be merged; this one has {self.loss!r}, "
                f"the other {_describe(other)}"
            )
        other._fold()
        if other._state is None:
            return self
        k = int(other._state.spread.shape[-1])
        names = check_names(self._names, k), check_names(other._names, k)
        same_rows = self._ids is None or other._ids is None or list(self._ids) == list(other._ids)
        if not same_rows or (None not in names and names[0] != names[1]):
            what = "classes" if same_rows else "instances"
            raise InputError(
                f"only an Accumulator with the same {what} in the same order can be merged",
                fix="accumulator_order",
            )
        self._fold()
        if self._state is None:
            self._state, self._own, self._like = other._state, False, other._like
        else:
            self._check_shape(other._state.spread)
            self._take_in(other._state[:2], other._state[2:], self._bound(k))
        self.n_members += other.n_members
        return self

    def _take_in(self, weight: Sequence[Array], added: Sequence[Array], loss: Loss) -> None:
        """Join what has been seen with a member, ``added`` = [p], or with the arrays of another
        state that follow its weight.
        """
        n_added = len(added)
        before: Sequence[Array] = self._state or ()
        if n_added == 1:
            self._like = added[0][..., :0]
        values = joining.in_main_memory(loss, *weight, *added, *before)
        if values is None:

            def join(*x: Array) -> _State:
                weight, added, before = x[:2], x[2 : 2 + n_added], x[2 + n_added :]
                if n_added == 1:
                    state = _member(added[0], weight[0], loss)
                else:
                    state = _State(*weight, *added)
                return _join(_State(*before), state, loss) if before else state

            before = [back(x, added[0]) for x in before]
            self._state = _State(*_in_blocks(join, *weight, *added, *before))
            self._own = False
            return

        dtype, shape = np.result_type(*values), added[0].shape
        new_weight, new, old = values[:2], values[2 : 2 + n_added], values[2 + n_added :]
        n = joining.n_arrays(loss)
        if old:
            old_weight, copy = old[:2], None if self._own else True
            state = [np.array(x, dtype, order="C", copy=copy) for x in old[2 : 2 + n]]
        else:
            old_weight = [np.zeros_like(x) for x in new_weight]
            state = [np.empty(shape, dtype) for _ in range(n)]
        total, alpha, beta = _shares(old_weight, new_weight)
        joining.take_in(
            state,
            [np.ascontiguousarray(x, dtype) for x in new[:n]],
            _of_each(alpha, shape),
            _of_each(beta, shape),
            loss,
            fresh=not old,
        )
        unused = [np.broadcast_to(np.zeros((), dtype), shape)] * (8 - n)
        self._state, self._own = _State(*total, *state, *unused), True

    def result(self) -> Uncertainty:
        """Label-wise uncertainty of all members so far."""
        found: tuple[tuple[Array, ...], tuple[Array, ...]]
        if self._first is not None:
            k = int(self._first.shape[-1])
            loss = self._bound(k)
            found = joining.of_members(self._first[: self.n_members], loss)
        elif self._state is not None:
            k = int(self._state.spread.shape[-1])
            loss = self._bound(k)
            found = _concluded(self._state, loss)
        else:
            raise ValueError("there is no result yet: `update` has not been called")
        (total, aleatoric, epistemic), sums = (
            tuple(x if self._like is None else back(x, self._like) for x in xs) for xs in found
        )
        return Uncertainty(
            total,
            aleatoric,
            epistemic,
            check_names(self._names, k) or tuple(str(i) for i in range(k)),
            loss,
            structure="free" if self.multilabel else "partition",
            ids=self._ids,
            sums=Components(sums[0], sums[1], sums[2]) if sums else None,
            n_members=self.n_members,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to an .npz file, so that another process can go on (`load`) or join it
        (`merge`).
        """
        from .io.atomic import replacing
        from .io.npz import write_npz

        self._fold()
        if self._state is None:
            raise ValueError("there is nothing to save yet: `update` has not been called")
        arrays = {key: to_numpy(value) for key, value in self._state._asdict().items()}
        arrays["n_members"] = np.asarray(self.n_members)
        arrays["description"] = np.asarray(_describe(self))
        path = Path(path)
        with replacing(path) as file:
            write_npz(file, arrays)
        return path

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], loss: LossName | Loss = "log", **options: Any
    ) -> Accumulator:
        """An Accumulator as it was saved; ``loss`` and options must be those it was made with."""
        from .io.npz import read_npz

        self = cls(loss, **options)
        keys = [*_State._fields, "n_members", "description"]
        found = read_npz(Path(path), keys)
        missing = [key for key in keys if key not in found]
        if missing:
            raise ValueError(
                f"{str(path)!r} is not a saved Accumulator: it has no {', '.join(missing)}"
            )
        if str(found["description"]) != _describe(self):
            raise ValueError(
                f"{str(path)!r} was saved with {found['description']}; it cannot go on with "
                f"{_describe(self)}"
            )
        state = _State(*(np.array(found[key]) for key in _State._fields))
        shape = state.spread.shape
        shapes = [{(*shape[:-1], 1), (1,) * len(shape)}] * 2 + [{shape}] * 8
        fits = [
            x.shape in allowed and x.dtype.kind == "f" and bool(np.isfinite(x).all())
            for x, allowed in zip(state, shapes, strict=True)
        ]
        if not shape or not all(fits):
            raise ValueError(
                f"{str(path)!r} is not a saved Accumulator: its arrays do not fit together"
            )
        self._state, self._own = state, True
        self.n_members = int(found["n_members"])
        return self

    def _bound(self, k: int) -> Loss:
        return self.loss.bind(check_names(self._names, k) or tuple(str(i) for i in range(k)))

    def _check_shape(self, p: Array) -> None:
        before = p
        if self._state is not None:
            before = self._state.spread
        elif self._first is not None:
            before = self._first[0]
        if tuple(p.shape) != tuple(before.shape):
            raise ValueError(
                f"`probs` must have the shape of the members before, {tuple(before.shape)}; got "
                f"{tuple(p.shape)}"
            )
        check_names(self._names, int(p.shape[-1]))


def _same_loss(a: Loss, b: Loss) -> bool:
    """Whether two losses are the same; functions of one name need not be."""
    if isinstance(a, CustomLoss) and isinstance(b, CustomLoss):
        return bool(a.function == b.function)
    return repr(a) == repr(b)


def _describe(acc: Any) -> str:
    if not isinstance(acc, Accumulator):
        return type(acc).__name__
    return f"{acc.loss!r}, multilabel" if acc.multilabel else repr(acc.loss)


def _concluded(s: _State, loss: Loss) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Total, aleatoric and epistemic uncertainty after some members and, if they came along, their
    sums.
    """
    xp = namespace(s.spread)
    if not bool(xp.all(s.weight > 0)):
        raise ValueError("the weights so far are all zero (for some instance)")
    values = joining.in_main_memory(loss, *s)
    if values is not None:
        return joining.concluded(values[2:], loss)
    spread = xp.minimum(s.spread, s.other) if isinstance(loss, CostLoss) else s.spread
    (total,) = _in_blocks(lambda t, c: [loss.entropy(t, c)], s.mean, s.complement)
    return (total, s.entropy, spread), ()


def _in_blocks(f: Callable[..., Sequence[Array]], *arrays: Array) -> Sequence[Array]:
    """``f`` of ``arrays`` (..., K) or (..., 1); of large ones of NumPy a block of instances at a
    time, so that its temporaries are small.
    """
    last = arrays[-1]
    if not isinstance(last, np.ndarray) or last.size <= BLOCK:
        return f(*arrays)
    batch = last.shape[:-1]
    n, step = int(np.prod(batch)), max(1, BLOCK // last.shape[-1])
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(n, -1) for x in arrays]
    whole: list[np.ndarray] = []
    for i in range(0, n, step):
        parts = f(*(x[i : i + step] for x in rows))
        whole = whole or [np.empty((n, part.shape[-1]), part.dtype) for part in parts]
        for out, part in zip(whole, parts, strict=True):
            out[i : i + step] = part
    return [x.reshape(*batch, x.shape[-1]) for x in whole]


def _member(p: Array, w: Array, loss: Loss) -> _State:
    """The state after one member alone."""
    p = at_most_one(p)
    zero = 0 * p
    c, rest = _two_sum(namespace(p).ones_like(p), -p)
    member = _State(w, 0 * w, p, zero, c, rest, loss.entropy(p, c), zero, zero, zero)
    if not isinstance(loss, CostLoss):
        return member
    do_not_act, act = loss.regrets(p, c)
    return member._replace(spread=act, other=do_not_act)


def _join(a: _State, b: _State, loss: Loss) -> _State:
    """The state of both sets of members together."""
    xp = namespace(a.spread)
    weight, alpha, beta = _shares(a[:2], b[:2])

    def mean(x: Pair, y: Pair) -> tuple[Pair, Array]:
        """The lighter set moves the mean of the heavier."""
        delta = (y[0] - x[0]) + (y[1] - x[1])
        swap = beta > alpha
        step = xp.where(swap, -alpha * delta, beta * delta)
        high, low = _two_sum(xp.where(swap, y[0], x[0]), step)
        return _two_sum(high, low + xp.where(swap, y[1], x[1])), delta

    (t, delta), (c, delta_c), (entropy, _) = (mean(a[i : i + 2], b[i : i + 2]) for i in (2, 4, 6))
    spread_a, spread_b = a.spread, b.spread
    if not isinstance(loss, CostLoss):
        delta = xp.where(t[0] <= c[0], delta, -delta_c)
        spread_a = spread_a + loss.divergence(a.mean, t[0], a.complement, c[0], -beta * delta)
        spread_b = spread_b + loss.divergence(b.mean, t[0], b.complement, c[0], alpha * delta)
    spread, other = alpha * spread_a + beta * spread_b, alpha * a.other + beta * b.other
    return _State(*weight, *t, *c, *entropy, spread, other)


def _shares(a: Sequence[Array], b: Sequence[Array]) -> tuple[Pair, Array, Array]:
    """The sum of two weights and their shares of it; 0 where it is 0."""
    high, low = _two_sum(a[0], b[0])
    weight = _two_sum(high, low + (a[1] + b[1]))
    whole = namespace(high).where(weight[0] > 0, weight[0], namespace(high).ones_like(high))
    return weight, a[0] / whole, b[0] / whole


def _of_each(share: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The share of each instance, (..., 1); one number for all of them is not written down again
    and again.
    """
    return np.broadcast_to(share.reshape(()) if share.size == 1 else share, (*shape[:-1], 1))


def _two_sum(a: Array, b: Array) -> Pair:
    """a + b exactly (Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)
