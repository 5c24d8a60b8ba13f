"""Cases of four classes for prediction sets."""

from __future__ import annotations

import numpy as np

import labelwise as lw

NAMES = ["nevus", "melanoma", "lentigo", "angioma"]


def cases(n: int = 400, k: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    p = rng.dirichlet(np.ones(k), n) + 0.8 * np.eye(k)[y] * rng.random((n, 1))
    return p / p.sum(axis=1, keepdims=True), y


def ensemble(p: np.ndarray) -> lw.Ensemble:
    return lw.Ensemble(p[None], class_names=NAMES[: p.shape[-1]])
