"""Predictions with several axes of instances, such as the pixels of images: read as one axis, while
results keep the axes of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .on_disk import flattened

__all__ = ["Grid", "flatten_instances"]


@dataclass(frozen=True)
class Grid:
    """The axes of instances that were read as one."""

    shape: tuple[int, ...]
    """Cases first: (N, height, width)."""
    label_axis: int
    """Where the classes go among them in a file of results: 1 for (N, K, height, width), 0 for (K,
    height, width).
    """
    ids: np.ndarray | None = None
    """What the user calls the cases, (N,)."""

    @property
    def dimension_names(self) -> tuple[str, ...]:
        """Names of the axes of results."""
        names = ["instance", *(f"axis_{i}" for i in range(1, len(self.shape)))]
        return (*names[: self.label_axis], "label", *names[self.label_axis :])

    def row_shape(self, n_classes: int) -> tuple[int, ...]:
        """Shape of the label-wise results of one case; cases come first until they are packed."""
        axis = max(self.label_axis, 1)
        return (*self.shape[1:axis], n_classes, *self.shape[axis:])


def flatten_instances(found: dict[str, Any], kind: str, label_axis: int) -> dict[str, Any]:
    """The fields of a file whose predictions ``kind`` are (M, N, ..., K), for instances on one
    axis.
    """
    values = found[kind]
    shape = tuple(int(n) for n in values.shape)
    flat = dict(found)
    ids = flat.pop("ids", None)
    flat.pop("images", None)
    flat["grid"] = grid = Grid(shape[1:-1], label_axis, None if ids is None else np.asarray(ids))
    flat[kind] = flattened(values)
    if "y_true" in found:
        y = np.asarray(found["y_true"])
        if y.size != prod(grid.shape) or y.shape[0] != shape[1]:
            raise ValueError(
                f"`y_true` must have the axes of instances {grid.shape} of `{kind}` {shape}; got "
                f"shape {y.shape}"
            )
        flat["y_true"] = y.reshape(-1)
    if "groups" in found:
        flat["groups"] = np.repeat(np.asarray(found["groups"]), prod(grid.shape[1:]))
    return flat
