"""Inputs and small networks for `from_models`."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
CODES = np.argmax(X[:, :3] + 0.3 * RNG.normal(size=(60, 3)), axis=1)
Y = np.array(["ant", "bee", "cat"])[CODES]
BINARY = np.where(X[:, 0] > 0, "yes", "no")


def net(outputs: int = 3, *, dropout: float = 0.0) -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, outputs)
    )


def softmax_by_hand(nets: list[nn.Module], x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return np.stack([torch.softmax(n.eval()(torch.from_numpy(x)), -1).numpy() for n in nets])
