"""What a data set is: arrays, labels, class names and the split that its publishers made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..validation import as_rng


@dataclass(frozen=True, eq=False)
class Examples:
    """Instances and their labels.

    ``x`` is uint8 of shape (N, H, W) or (N, H, W, C) for images, float64 of shape (N, D) for tables
    (NaN: missing). ``y`` is int64 of shape (N,), values 0 … K−1.
    """

    x: np.ndarray
    y: np.ndarray

    def __post_init__(self) -> None:
        if self.y.shape != (len(self.x),):
            raise ValueError(
                f"`y` must have one label per instance, shape ({len(self.x)},); got shape "
                f"{self.y.shape}"
            )

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: slice | np.ndarray) -> Examples:
        """The instances at ``index``: ``split[:100]``, ``split[split.y == 3]``."""
        return Examples(self.x[index], self.y[index])


@dataclass(frozen=True, eq=False)
class Dataset:
    """A classification data set; ``data.train.x``, ``data.test.y``, ``data.class_names[k]``.

    ``train`` is ``None`` where only the test files are there, ``val`` where the publishers made no
    validation set.
    """

    name: str
    train: Examples | None
    test: Examples
    class_names: tuple[str, ...]
    val: Examples | None = None
    features: tuple[str, ...] | None = None
    """Names of the columns of a table."""
    published_split: bool = True
    """Whether the split is the publishers'; otherwise it was drawn here, see `resplit`."""

    def __post_init__(self) -> None:
        k = len(self.class_names)
        for part in ("train", "val", "test"):
            y = np.empty(0, int) if (examples := getattr(self, part)) is None else examples.y
            if len(y) and not 0 <= y.min() <= y.max() < k:
                raise ValueError(
                    f"`{part}` of {self.name} has labels from {y.min()} to {y.max()}; they must be "
                    f"0 to {k - 1} for {k} classes"
                )

    def resplit(self, *, test_size: float = 0.3, rng: Any = 0) -> Dataset:
        """The same instances with a new random split that keeps the share of each class.

        All parts are pooled (train, val, test, in this order) and a share ``test_size`` of each
        class is drawn for the test set; there is no validation set. The order of the pool is kept
        inside each part.

        >>> data = labelwise_lab.datasets.load("digits").resplit(test_size=0.5, rng=1)
        >>> len(data.train), len(data.test), data.published_split
        (898, 899, False)
        """
        if not 0 < test_size < 1:
            raise ValueError(f"`test_size` must be a share between 0 and 1; got {test_size}")
        parts = [part for part in (self.train, self.val, self.test) if part is not None]
        pool = Examples(
            np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts])
        )
        chosen = _stratified(pool.y, test_size, as_rng(rng))
        return Dataset(
            self.name, pool[~chosen], pool[chosen], self.class_names, None, self.features, False
        )


def _stratified(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Mask of a random part with ``share`` of each class: systematic sampling along the instances
    sorted by class.

    With positions (r + 0.5) · share, the part of every prefix of the sorted order is within one
    instance of its share, so each class is within one of its own share and the total is round(N ·
    share), without a table of remainders.
    """
    order = np.lexsort((rng.random(len(y)), y))
    steps = np.floor(np.arange(len(y) + 1) * share + 0.5)
    mask = np.zeros(len(y), dtype=bool)
    mask[order] = np.diff(steps) > 0
    return mask
