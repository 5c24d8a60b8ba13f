"""Predictions of two classes for the commands."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.io import save_predictions

NAMES = ["nevus", "[b]mel[/]"]


@pytest.fixture
def preds(tmp_path):
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([1.0, 1.0], 80)
    probs = np.stack([rng.dirichlet(1 + 30 * t, 5) for t in theta], axis=1)
    y = (rng.random(80) < theta[:, 1]).astype(int)
    path = tmp_path / "preds.npz"
    save_predictions(
        path,
        probs=probs,
        y_true=y,
        class_names=NAMES,
        ids=np.array([f"case {i}" for i in range(80)]),
    )
    return path
