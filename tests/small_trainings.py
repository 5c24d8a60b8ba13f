"""A small data set, and trainings on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from labelwise_lab.datasets import Dataset, Examples
from labelwise_lab.training import Recipe, fit_ensemble

RNG = np.random.default_rng(0)
N = 200
X = RNG.integers(0, 256, (N, 6, 6), dtype=np.uint8)
Y = (X[:, :3].mean((1, 2)) > X[:, 3:].mean((1, 2))).astype(np.int64)
DATA = Dataset(
    "halves",
    Examples(X, Y),
    Examples(X[:50], Y[:50]),
    ("top", "bottom"),
    Examples(X[50:80], Y[50:80]),
)
RECIPE = Recipe("mlp", epochs=3, batch_size=32)


def weights(fitted) -> list[dict[str, torch.Tensor]]:
    return [torch.load(path, weights_only=True)["model"] for path in fitted.checkpoints]


def same(a, b) -> bool:
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all(torch.equal(x[k], y[k]) for k in x)
        for x, y in zip(a, b, strict=True)
    )


def fit(folder: Path, make_model="mlp", data=DATA, **options):
    return fit_ensemble(
        make_model,
        data,
        **{"n_members": 2, "recipe": RECIPE, "rng": 7, "n_jobs": 1, "out_dir": folder} | options,
    )
