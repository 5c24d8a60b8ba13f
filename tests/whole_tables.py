"""All rows of a table's data set, whichever part they are in."""

from __future__ import annotations

from collections import Counter

import numpy as np

from labelwise_lab.datasets import Dataset


def whole(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    assert data.train is not None
    return np.concatenate([data.train.x, data.test.x]), np.concatenate([data.train.y, data.test.y])


def rows(data: Dataset) -> Counter[tuple[str, ...]]:
    x, y = whole(data)
    return Counter(
        (*(f"{v:g}" for v in row), data.class_names[k]) for row, k in zip(x, y, strict=True)
    )
