"""Predictions with everything that a file can hold."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(4), (5, 7)).astype(np.float32)
FULL = {
    "probs": PROBS,
    "y_true": RNG.integers(0, 4, 7),
    "class_names": ("a", "b", "ç", "d"),
    "ids": np.array([f"case {i}" for i in range(7)]),
    "weights": np.arange(1.0, 6.0),
    "images": RNG.integers(0, 256, (7, 3, 2), dtype=np.uint8),
}
