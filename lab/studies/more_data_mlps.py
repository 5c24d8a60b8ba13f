"""Several small MLPs trained side by side: as many steps of Adam whatever the size of the training
set, each member with weights and batches of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

MEMBERS, HIDDEN, CLASSES = 5, 64, 10
STEPS, BATCH, RATE = 1000, 32, 0.003


@dataclass
class Mlps:
    """Weights of all members, in one array: (members, parameters)."""

    parameters: np.ndarray
    inputs: int

    def parts(self, values: np.ndarray | None = None) -> list[np.ndarray]:
        """Weights and biases of both layers, as views of the parameters or of other values."""
        shapes = [(self.inputs, HIDDEN), (1, HIDDEN), (HIDDEN, CLASSES), (1, CLASSES)]
        ends = np.cumsum([rows * columns for rows, columns in shapes])
        pieces = np.split(self.parameters if values is None else values, ends[:-1], axis=1)
        return [piece.reshape(MEMBERS, *shape) for piece, shape in zip(pieces, shapes, strict=True)]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Probabilities (members, cases, classes)."""
        w1, b1, w2, b2 = self.parts()
        return softmax(np.maximum(x @ w1 + b1, 0) @ w2 + b2)

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Of the mean log loss of each member on its own batch, (members, batch, inputs)."""
        w1, b1, w2, b2 = self.parts()
        hidden = np.maximum(x @ w1 + b1, 0)
        error = softmax(hidden @ w2 + b2)
        np.put_along_axis(error, y[..., None], np.take_along_axis(error, y[..., None], -1) - 1, -1)
        error /= x.shape[1]
        back = (error @ w2.transpose(0, 2, 1)) * (hidden > 0)
        parts: list[Any] = [
            x.transpose(0, 2, 1) @ back,
            back.sum(axis=1),
            hidden.transpose(0, 2, 1) @ error,
            error.sum(axis=1),
        ]
        return np.concatenate([part.reshape(MEMBERS, -1) for part in parts], axis=1)


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def train_mlps(x: np.ndarray, y: np.ndarray, seed: int, steps: int = STEPS) -> Mlps:
    """Members trained with Adam, whose rate falls to 0."""
    rng = np.random.default_rng(seed)
    x = x.astype(np.float32)
    size = (x.shape[1] + 1) * HIDDEN + (HIDDEN + 1) * CLASSES
    networks = Mlps(np.zeros((MEMBERS, size), np.float32), x.shape[1])
    w1, _, w2, _ = networks.parts()
    w1[:] = rng.normal(0, np.sqrt(2 / w1.shape[1]), w1.shape)
    w2[:] = rng.normal(0, np.sqrt(1 / w2.shape[1]), w2.shape)
    first, second = np.zeros_like(networks.parameters), np.zeros_like(networks.parameters)
    for step in range(1, steps + 1):
        batch = rng.integers(len(y), size=(MEMBERS, BATCH))
        gradient = networks.gradient(x[batch], y[batch])
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        rate = RATE * (1 - (step - 1) / steps)
        scaled = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        networks.parameters -= rate * first / (1 - 0.9**step) / scaled
    return networks
