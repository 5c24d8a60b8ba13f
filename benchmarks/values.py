"""What is computed on: real predictions, and made ones with values of every size."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import labelwise as lw

RANGES = ("real", "smooth", "confident", "one-hot", "subnormal")
"""Real: five networks on FashionMNIST (median 5e-9, smallest 1e-37), tiled. Smooth: as in a
textbook. Confident: median 4e-11. One-hot: 0 and 1. Subnormal: one class near 1, the others below
1e-38 (float32) or 1e-308.
"""


def ensemble(values: str, shape: tuple[int, int, int], dtype: str = "float32") -> np.ndarray:
    """Predictions (members, instances, classes) of one of the `RANGES`."""
    return _real(shape, dtype) if values == "real" else _made(values, shape, dtype)


@lru_cache(maxsize=1)
def _real(shape: tuple[int, int, int], dtype: str) -> np.ndarray:
    probs = np.asarray(lw.demo.load_fashion_ensemble().ensemble.probs)
    if (
        dtype == "float64"
    ):  # numbers with all their digits, as a network in double precision gives them
        probs = probs.astype(dtype)
        probs /= probs.sum(axis=-1, keepdims=True)
    members, n, classes = shape
    if probs.shape[0] != members or probs.shape[2] != classes:
        raise ValueError(
            f"the real predictions have {probs.shape[0]} members and {probs.shape[2]} classes; got "
            f"{shape}"
        )
    return np.ascontiguousarray(np.tile(probs, (1, -(-n // probs.shape[1]), 1))[:, :n])


@lru_cache(maxsize=1)
def _made(values: str, shape: tuple[int, int, int], dtype: str) -> np.ndarray:
    members, n, classes = shape
    rng = np.random.default_rng(0)
    out = np.empty(shape, dtype)
    step = max(1, 500_000 // classes)
    for i in range(0, n, step):
        rows = min(step, n - i)
        logits = 2 * rng.standard_normal((1, rows, classes), np.float32) + rng.standard_normal(
            (members, rows, classes), np.float32
        )
        top = rng.integers(classes, size=(1, rows, 1))
        top = np.where(
            rng.random((members, rows, 1)) < 0.05,
            rng.integers(classes, size=(members, rows, 1)),
            top,
        )  # some disagree
        if values == "confident":
            np.put_along_axis(logits, top, np.float32(24), axis=-1)
        p = np.exp((logits - logits.max(axis=-1, keepdims=True)).astype(dtype))
        p /= p.sum(axis=-1, keepdims=True)
        if values in ("one-hot", "subnormal"):
            p = p * np.finfo(dtype).tiny if values == "subnormal" else np.zeros_like(p)
            np.put_along_axis(p, top, np.asarray(1, dtype), axis=-1)
        out[:, i : i + rows] = p
    return out


def forget() -> None:
    """Free the memory of the predictions that were made last."""
    _real.cache_clear()
    _made.cache_clear()


def dirichlet(shape: tuple[int, ...]) -> np.ndarray:
    """Parameters from 0.1 to 100."""
    return 10 ** np.random.default_rng(1).uniform(-1, 2, shape)


def gaussian(n: int, classes: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Means and full covariances of logits whose standard deviation is ``spread``."""
    rng = np.random.default_rng(2)
    factor = rng.standard_normal((n, classes, classes))
    cov = factor @ factor.transpose(0, 2, 1)
    scale = spread / np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    return 2 * rng.standard_normal((n, classes)), cov * scale[:, :, None] * scale[:, None, :]
