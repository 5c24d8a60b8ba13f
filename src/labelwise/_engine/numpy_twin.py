"""The same results as the native kernel from NumPy alone: blocks that fit in the cache, and buffers that are used again.

The formulas are those of ``fused_impl.h``, step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 1 << 17
"""Predictions (members x instances x classes) of a block: small enough for the cache, large beside the cost of a call."""
# (artanh(√z)/√z − 1)/z on [0, 1/9], lowest degree first, as in coefficients.h: for float32 and float64
_ARTANH: dict[int, np.ndarray] = {
    4: np.array([0.3333332017, 0.2000378032, 0.141183099, 0.1342574901], np.float32),
    8: np.array(
        [
            0.33333333333333484276,
            0.19999999999780064358,
            0.14285714338330497512,
            0.11111106278964856303,
            0.09091130554209873149,
            0.076866374381790011452,
            0.067511712358785501992,
            0.051613346352495409549,
            0.084353503305486046991,
        ],
        np.float64,
    ),
}
SMALL = 0.35
"""Of probabilities below this, the complement is larger than the label, and no two complements differ by a third of their sum."""
_LOG2_E = 1.4426950408889634


def split_range(
    loss: str,
    probs: np.ndarray,
    weights: np.ndarray | None,
    heaviest: int,
    unit: float,
    class_major: bool,
    tolerance: float | None,
    sum_to_one: bool,
    start: int,
    stop: int,
    outputs: tuple[np.ndarray | None, ...],
) -> int:
    """Instances ``start`` to ``stop``, written into the nine ``outputs``; see `labelwise._engine.kernel.split`."""
    m, _, k = probs.shape
    columns = min(k, max(1, BLOCK // m))  # of a very wide row, some classes after others
    rows = min(max(1, BLOCK // (m * columns)), max(stop - start, 1))
    axes = (0, 2, 1) if class_major else (0, 1, 2)
    space = _Space(m, rows * columns, np.dtype(np.float64 if probs.dtype == np.float64 else np.float32))
    for i in range(start, stop, rows):
        j = min(i + rows, stop)
        w = None
        if weights is not None:
            w = weights.reshape(-1, 1, 1) if weights.ndim == 1 else np.expand_dims(weights[:, i:j], 1 if class_major else 2)
        reference = None if weights is not None and weights.ndim == 2 else heaviest
        of_members: Any = 0
        for first in range(0, k, columns):
            last = min(first + columns, k)
            block = _widen(probs[:, i:j, first:last]).transpose(axes)
            own = space.shaped(block.shape)
            np.copyto(own.x, block)
            if tolerance is not None:
                if not _in_range(own.x, tolerance):
                    return 1
                of_members = of_members + own.x.sum(axis=1 if class_major else 2)
            np.minimum(own.x, 1, out=own.x)  # above 1 only by rounding, as far as the tolerance goes
            parts = _log(own, w, reference, unit) if loss == "log" else _squared(own, w, reference)
            for out, part in zip(outputs[:3], parts[:3], strict=True):
                if out is not None:
                    out[(slice(first, last), slice(i, j)) if class_major else (slice(i, j), slice(first, last))] = part
            for out, part in zip(outputs[3:], parts, strict=False):
                if out is not None:
                    _total(part, out[i:j], 0 if class_major else 1, more=first > 0)
        if tolerance is not None and sum_to_one and not _near_one(of_members, tolerance):
            return 1
    return 0


def _total(part: np.ndarray, out: np.ndarray, axis: int, *, more: bool) -> None:
    """Σ part over its classes; ``more``: added to what is there."""
    if more:
        out += np.add.reduce(part, axis=axis)
    elif axis == 0:
        _add_up(part, out)
    else:
        np.add.reduce(part, axis=axis, out=out)


class _Block:
    """The arrays that one block is worked out in."""

    def __init__(self, large: np.ndarray, small: np.ndarray, shape: tuple[int, ...]) -> None:
        self.x, self.c, self.d, *self.spare = (part.reshape(shape) for part in large)
        self.small = [part.reshape(shape[1:]) for part in small]


class _Space:
    """Memory for the arrays of a block, made once: fresh memory costs more than the arithmetic."""

    def __init__(self, members: int, labels: int, dtype: np.dtype[Any]) -> None:
        self.large = np.empty((9, members * labels), dtype)
        self.small = np.empty((14, labels), dtype)
        self.last: tuple[tuple[int, ...], _Block] | None = None

    def shaped(self, shape: tuple[int, ...]) -> _Block:
        """The arrays for a block of this shape; the last block of all may be smaller."""
        if self.last is None or self.last[0] != shape:
            n = shape[1] * shape[2]
            size = shape[0] * n
            self.last = shape, _Block(self.large[:, :size], self.small[:, :n], shape)
        return self.last[1]


def check_range(probs: np.ndarray, tolerance: float, sum_to_one: bool, start: int, stop: int) -> int:
    """Whether instances ``start`` to ``stop`` hold probabilities; see `labelwise._kernels.check`."""
    rows = max(1, 4 * BLOCK // (probs.shape[0] * probs.shape[2]))
    for i in range(start, stop, rows):
        x = _widen(probs[:, i : min(i + rows, stop)])
        if not _in_range(x, tolerance) or (sum_to_one and not _near_one(x.sum(axis=-1), tolerance)):
            return 1
    return 0


def _in_range(x: np.ndarray, tolerance: float) -> bool:
    return bool(x.min() >= 0 and x.max() <= 1 + tolerance)  # a NaN fails both comparisons


def _near_one(sums: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(np.abs(sums - 1) <= tolerance))


def _widen(x: np.ndarray) -> np.ndarray:
    if x.dtype in (np.float32, np.float64):
        return x
    if x.dtype == np.uint16:  # the upper half of a float32
        return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return x.astype(np.float32)


def _add_up(x: np.ndarray, out: np.ndarray) -> None:
    """Σ x over the first axis, one after another also for a single column, which NumPy adds up in another order."""
    if x.size == x.shape[0]:
        out[...] = np.add.accumulate(x, axis=0)[-1]
    else:
        np.add.reduce(x, axis=0, out=out)


def _mean(x: np.ndarray, w: np.ndarray | None, buffer: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The weighted mean over the members; ``buffer`` is overwritten."""
    if w is None:
        _add_up(x, out)
        np.divide(out, x.dtype.type(x.shape[0]), out=out)
    else:
        _add_up(np.multiply(w, x, out=buffer), out)
    return out


def _deviation(own: _Block, w: np.ndarray | None, heaviest: int | None, buffer: np.ndarray, mean: np.ndarray) -> None:
    """``own.d`` becomes x − mean, from the heaviest member (``None``: of each instance): exactly 0 where all agree."""
    x, d = own.x, own.d
    if heaviest is not None or w is None:
        reference = x[heaviest or 0]
    else:
        reference = np.take_along_axis(x, np.broadcast_to(w.argmax(axis=0)[None], (1, *x.shape[1:])), axis=0)[0]
    np.subtract(x, reference, out=d)
    np.subtract(d, _mean(d, w, buffer, mean), out=d)


def _squared(own: _Block, w: np.ndarray | None, heaviest: int | None) -> tuple[np.ndarray, ...]:
    x, c, d, buffer = own.x, own.c, own.d, own.spare[0]
    total, other, aleatoric, epistemic = own.small[:4]
    np.subtract(1, x, out=c)
    np.multiply(_mean(x, w, buffer, total), _mean(c, w, buffer, other), out=total)
    _deviation(own, w, heaviest, buffer, other)
    np.multiply(x, c, out=c)
    np.multiply(d, d, out=d)
    return total, _mean(c, w, buffer, aleatoric), _mean(d, w, buffer, epistemic)


def _two_terms(u: np.ndarray, log_u: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray) -> None:
    """log u, a = u log u and b = (1−u) log(1−u) in nats, for 0 ≤ u ≤ ½; ``w`` is overwritten."""
    info = np.finfo(u.dtype)
    np.add(u, info.tiny / 2, out=log_u)  # minima and maxima with a number take several times as long
    np.log(log_u, out=log_u)
    np.multiply(u, log_u, out=a)
    # log(1−u) = log(w) u / (1−w) with w < 1 next to 1−u: NumPy's log1p is many times slower than its log
    np.subtract(1 - info.epsneg, u, out=w)
    np.log(w, out=b)
    np.multiply(b, w, out=b)
    np.subtract(1, w, out=w)
    np.divide(b, w, out=b)
    np.multiply(b, u, out=b)


def _exchanged(a: np.ndarray, b: np.ndarray, low: np.ndarray, buffer: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a and b as they are where ``low`` is 1, exchanged where it is 0, and an array to spare. Products choose faster than masks do."""
    np.multiply(a, low, out=buffer)
    np.subtract(a, buffer, out=a)
    np.subtract(1, low, out=low)
    np.multiply(b, low, out=low)
    np.subtract(b, low, out=b)
    np.add(buffer, low, out=buffer)
    np.add(a, b, out=a)
    return buffer, a, b


def _kl_term(
    x: np.ndarray, m: np.ndarray, d: np.ndarray, xlogx: np.ndarray, log_m: np.ndarray, spare: list[np.ndarray], *, all_near: bool = False
) -> np.ndarray:
    """x ln(x/m) − d with d = x − m, see ``kl_term`` in fused_impl.h, in one of four ``spare`` arrays; ``all_near``: |d| < (x + m)/3."""
    close, s, z, far = spare
    np.add(x, m, out=s)
    np.add(s, np.finfo(x.dtype).tiny, out=s)
    np.divide(d, s, out=s)
    np.multiply(s, s, out=z)
    coefficients = _ARTANH[x.dtype.itemsize]
    np.multiply(z, coefficients[-1], out=close)
    for coefficient in coefficients[-2:0:-1]:
        np.add(close, coefficient, out=close)
        np.multiply(close, z, out=close)
    np.add(close, coefficients[0], out=close)
    np.add(z, s, out=far)
    np.multiply(close, far, out=close)
    np.add(close, 1, out=close)
    np.multiply(close, s, out=close)
    np.multiply(close, d, out=close)
    if all_near:
        return close
    np.multiply(x, log_m, out=far)
    np.subtract(xlogx, far, out=far)
    np.subtract(far, d, out=far)
    near = np.less(z, 1 / 9, out=z)  # 1 or 0: products choose faster than masks do
    np.multiply(close, near, out=close)
    np.subtract(1, near, out=near)
    np.multiply(far, near, out=far)
    np.add(close, far, out=close)
    return close


def _log(own: _Block, w: np.ndarray | None, heaviest: int | None, unit: float) -> tuple[np.ndarray, ...]:
    x, c, d = own.x, own.c, own.d
    first, second, buffer, low, *more = own.spare
    mt, mc, u, lt, lc, a, b, total, aleatoric, epistemic, joint_aleatoric, joint_epistemic, low_mean, rest = own.small
    all_low = bool(x.max() < SMALL)  # as of many classes: then some steps would change nothing
    np.subtract(1, x, out=c)
    _mean(x, w, buffer, mt)
    _mean(c, w, buffer, mc)
    np.minimum(mt, mc, out=u)
    _two_terms(u, lt, a, b, rest)
    np.subtract(1, u, out=rest)
    np.divide(b, rest, out=lc)
    np.add(a, b, out=total)
    joint_total, _, rest = _exchanged(a, b, np.less_equal(mt, mc, out=low_mean), rest)
    lt, lc, rest = _exchanged(lt, lc, np.less_equal(mt, mc, out=low_mean), rest)

    _two_terms(x if all_low else np.minimum(x, c, out=d), buffer, first, second, low)
    x_part, c_part = first, second
    if not all_low:
        x_part, c_part, buffer = _exchanged(first, second, np.less_equal(x, c, out=low), buffer)
    _mean(x_part, w, buffer, joint_aleatoric)
    np.add(joint_aleatoric, _mean(c_part, w, buffer, aleatoric), out=aleatoric)
    _deviation(own, w, heaviest, buffer, rest)
    spare = [buffer, low, *more]
    _mean(_kl_term(x, mt, d, x_part, lt, spare), w, x_part, joint_epistemic)
    np.negative(d, out=d)
    _mean(_kl_term(c, mc, d, c_part, lc, spare, all_near=all_low), w, x_part, epistemic)
    np.maximum(joint_epistemic, 0, out=joint_epistemic)  # below zero only where p is subnormal
    np.maximum(epistemic, 0, out=epistemic)
    np.add(epistemic, joint_epistemic, out=epistemic)
    bits = x.dtype.type(unit * _LOG2_E)
    for part in (epistemic, joint_epistemic):
        np.multiply(part, bits, out=part)
    for part in (total, aleatoric, joint_total, joint_aleatoric):
        np.subtract(0, np.multiply(part, bits, out=part), out=part)
    return total, aleatoric, epistemic, joint_total, joint_aleatoric, joint_epistemic
