"""The same results as the native kernel from NumPy alone: blocks that fit in the cache, and buffers that are used again.

The formulas are those of ``fused_impl.h``, step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 1 << 15
"""Predictions (members x instances x classes) of a block: small enough for the cache, large beside the cost of a call."""
# (artanh(√z)/√z − 1)/z on [0, 1/9], lowest degree first, from make_coefficients.py: for float32 and float64
_ARTANH: dict[int, np.ndarray] = {
    4: np.array([0.3333333333, 0.2000000538, 0.1428515286, 0.111323556, 0.08732351233, 0.1039380843], np.float32),
    8: np.array(
        [
            0.3333333333333333344,
            0.1999999999999976125,
            0.1428571428580004965,
            0.1111111109911838528,
            0.09090909948981357191,
            0.07692271982430274643,
            0.06667589315724627918,
            0.0586713953065159873,
            0.05422589197440007411,
            0.0374607189777538365,
            0.07815288900461425223,
        ],
        np.float64,
    ),
}
# −(1−u) log2(1−u) / u on [0, ½] for float32
_COMPLEMENT = np.array(
    [1.442695039, -0.721346763, -0.2404890294, -0.119426937, -0.08000871347, -0.00537632707, -0.1657199029, 0.1943066163, -0.1871668699],
    np.float32,
)
_LOG2_E = 1.4426950408889634


def split_range(
    loss: str,
    probs: np.ndarray,
    weights: np.ndarray | None,
    heaviest: int,
    unit: float,
    class_major: bool,
    tolerance: float | None,
    start: int,
    stop: int,
    outputs: tuple[np.ndarray | None, ...],
) -> int:
    """Instances ``start`` to ``stop``, written into the nine ``outputs``; see `labelwise._kernels.split`."""
    rows = max(1, BLOCK // (probs.shape[0] * probs.shape[2]))
    axes = (0, 2, 1) if class_major else (0, 1, 2)
    for i in range(start, stop, rows):
        j = min(i + rows, stop)
        x = np.ascontiguousarray(_widen(probs[:, i:j]).transpose(axes))
        if tolerance is not None and not _in_range(x, tolerance):
            return 1
        w = None
        if weights is not None:
            w = weights.reshape(-1, 1, 1) if weights.ndim == 1 else np.expand_dims(weights[:, i:j], 1 if class_major else 2)
        parts = _log(x, w, heaviest, unit) if loss == "log" else _squared(x, w, heaviest)
        for out, part in zip(outputs[:3], parts[:3], strict=True):
            if out is not None:
                out[(slice(None), slice(i, j)) if class_major else slice(i, j)] = part
        for out, part in zip(outputs[3:], parts, strict=False):
            if out is not None:
                out[i:j] = part.sum(axis=0 if class_major else -1)
    return 0


def check_range(probs: np.ndarray, tolerance: float, sum_to_one: bool, start: int, stop: int) -> int:
    """Whether instances ``start`` to ``stop`` hold probabilities; see `labelwise._kernels.check`."""
    rows = max(1, 4 * BLOCK // (probs.shape[0] * probs.shape[2]))
    for i in range(start, stop, rows):
        x = _widen(probs[:, i : min(i + rows, stop)])
        if not _in_range(x, tolerance):
            return 1
        if sum_to_one and not np.all(np.abs(x.sum(axis=-1) - 1) <= tolerance):
            return 2
    return 0


def _widen(x: np.ndarray) -> np.ndarray:
    if x.dtype in (np.float32, np.float64):
        return x
    if x.dtype == np.uint16:  # the upper half of a float32
        return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return x.astype(np.float32)


def _in_range(x: np.ndarray, tolerance: float) -> bool:
    return bool(x.min() >= 0 and x.max() <= 1 + tolerance) if x.size else True  # a NaN fails both comparisons


def _mean(x: np.ndarray, w: np.ndarray | None, buffer: np.ndarray) -> np.ndarray:
    """The weighted mean over the members; ``buffer`` is overwritten."""
    if w is None:
        return np.asarray(np.add.reduce(x, axis=0) / x.dtype.type(x.shape[0]))
    return np.asarray(np.add.reduce(np.multiply(w, x, out=buffer), axis=0))


def _deviation(x: np.ndarray, w: np.ndarray | None, heaviest: int, buffer: np.ndarray) -> np.ndarray:
    """x − mean, from the heaviest member: exactly 0 where all agree."""
    if w is None or w.shape[1:] == (1, 1):
        reference = x[heaviest]
    else:
        reference = np.take_along_axis(x, np.broadcast_to(w.argmax(axis=0)[None], (1, *x.shape[1:])), axis=0)[0]
    d: np.ndarray = x - reference
    shift = _mean(d, w, buffer)
    np.subtract(d, shift, out=d)
    return d


def _squared(x: np.ndarray, w: np.ndarray | None, heaviest: int) -> tuple[np.ndarray, ...]:
    c = np.maximum(1 - x, 0)
    buffer = np.empty_like(x)
    total = _mean(x, w, buffer) * _mean(c, w, buffer)
    d = _deviation(x, w, heaviest, buffer)
    np.multiply(x, c, out=c)
    np.multiply(d, d, out=d)
    return total, _mean(c, w, buffer), _mean(d, w, buffer)


def _two_terms(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log u, −u log u and −(1−u) log(1−u) in bits, for 0 ≤ u ≤ ½."""
    log_u = np.maximum(u, np.finfo(u.dtype).tiny)
    np.log(log_u, out=log_u)
    np.multiply(log_u, u.dtype.type(_LOG2_E), out=log_u)
    a = np.multiply(u, log_u)
    np.negative(a, out=a)
    if u.dtype == np.float32:  # NumPy has no fast log1p for it
        b = _polynomial(u, _COMPLEMENT)
        np.multiply(b, u, out=b)
    else:
        b = np.negative(u)
        np.log1p(b, out=b)
        np.multiply(b, u - 1, out=b)
        np.multiply(b, _LOG2_E, out=b)
    return log_u, a, b


def _polynomial(x: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.multiply(x, coefficients[-1])
    for coefficient in coefficients[-2:0:-1]:
        np.add(result, coefficient, out=result)
        np.multiply(result, x, out=result)
    np.add(result, coefficients[0], out=result)
    return result


def _kl_term(x: np.ndarray, m: np.ndarray, d: np.ndarray, neg_xlogx: np.ndarray, log_m: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """(x ln(x/m) − d) / ln 2, see ``kl_term`` in fused_impl.h."""
    s = np.add(x, m)
    np.maximum(s, np.finfo(x.dtype).tiny, out=s)
    np.divide(d, s, out=s)
    z = np.multiply(s, s)
    near = z < 1 / 9
    close = _polynomial(z, _ARTANH[x.dtype.itemsize])
    np.multiply(close, s, out=close)
    np.multiply(close, np.add(s, 1, out=z), out=close)
    np.add(close, 1, out=close)
    np.multiply(close, s, out=close)
    np.multiply(close, d, out=close)
    np.multiply(close, x.dtype.type(_LOG2_E), out=close)
    if near.all():
        return close
    np.multiply(x, log_m, out=buffer)
    np.add(buffer, neg_xlogx, out=buffer)
    np.add(buffer, np.multiply(d, x.dtype.type(_LOG2_E), out=z), out=buffer)
    np.negative(buffer, out=buffer)
    return np.where(near, close, np.maximum(buffer, 0, out=buffer))


def _log(x: np.ndarray, w: np.ndarray | None, heaviest: int, unit: float) -> tuple[np.ndarray, ...]:
    c = np.maximum(1 - x, 0)
    buffer = np.empty_like(x)
    mt, mc = _mean(x, w, buffer), _mean(c, w, buffer)
    low = mt <= mc
    u = np.minimum(mt, mc)
    log_u, a, b = _two_terms(u)
    log_rest = -b / (1 - u)
    lt, lc = np.where(low, log_u, log_rest), np.where(low, log_rest, log_u)
    total, joint_total = a + b, np.where(low, a, b)

    low = x <= c
    _, a, b = _two_terms(np.minimum(x, c))
    aleatoric = _mean(np.add(a, b, out=buffer), w, buffer)
    x_part = np.where(low, a, b)
    c_part = np.where(low, b, a)
    d = _deviation(x, w, heaviest, buffer)
    et = _kl_term(x, mt, d, x_part, lt, buffer)
    joint_epistemic = _mean(et, w, buffer)
    np.negative(d, out=d)
    ec = _kl_term(c, mc, d, c_part, lc, buffer)
    epistemic = _mean(np.add(et, ec, out=et), w, buffer)
    parts: list[Any] = [total, aleatoric, epistemic, joint_total, _mean(x_part, w, buffer), joint_epistemic]
    return tuple(part * x.dtype.type(unit) for part in parts)
