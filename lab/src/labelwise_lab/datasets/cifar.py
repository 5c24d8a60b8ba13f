"""CIFAR-10 batches of the binary version, https://www.cs.toronto.edu/~kriz/cifar.html.

The Python version is a pickle, and a pickle is a program: it is not read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..files import refuse

CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
ROW = 3 * 32 * 32


def read_cifar10(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, 32, 32, 3) uint8 and labels (N,) int64 of one ``.bin`` batch: per image one label
    byte, then 3 × 32 × 32 pixels.
    """
    content = np.fromfile(path, np.uint8)
    if len(content) == 0 or len(content) % (1 + ROW):
        raise refuse(
            path,
            f"a CIFAR-10 batch has {1 + ROW} bytes per image; this file has {len(content)}, which "
            "is not a multiple: truncated?",
        )
    records = content.reshape(-1, 1 + ROW)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        raise refuse(path, f"labels must be 0 to 9; found {labels.max()}: not a CIFAR-10 batch")
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pixels), labels
