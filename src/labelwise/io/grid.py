"""Predictions with several axes of instances, such as the pixels of images: read as one axis, while
results keep the axes of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .on_disk import flatten_when_read


@dataclass(frozen=True)
class Grid:
    """The axes of instances that were read as one."""

    shape: tuple[int, ...]
    """Cases first: (N, height, width)."""
    label_axis: int
    """Where the classes go among them in a file of results: 1 for (N, K, height, width), 0 for (K,
    height, width).
    """
    ids: Any = None
    """What the user calls the cases, (N,)."""

    def result_axes(self, n_classes: int) -> dict[str, int]:
        """The axes of label-wise results in their order, and how long each is."""
        axes = [(f"axis_{i}", size) for i, size in enumerate(self.shape)]
        axes[0] = "instance", self.shape[0]
        axes.insert(self.label_axis, ("label", n_classes))
        return dict(axes)


def flatten_instances(found: dict[str, Any], kind: str, label_axis: int) -> dict[str, Any]:
    """The fields of a file whose predictions ``kind`` are (M, N, ..., K), for instances on one
    axis.
    """
    shape = tuple(found[kind].shape)
    instances = shape[1:-1]
    flat = dict(found)
    flat[kind] = flatten_when_read(found[kind])
    flat["grid"] = Grid(instances, label_axis, flat.pop("ids", None))
    flat.pop("images", None)
    if "y_true" in found:
        y = np.asarray(found["y_true"])
        if y.size != prod(instances) or y.shape[0] != shape[1]:
            raise ValueError(
                f"`y_true` must have the axes of instances {instances} of `{kind}` {shape}; got "
                f"shape {y.shape}"
            )
        flat["y_true"] = y.reshape(-1)
    if "groups" in found:
        flat["groups"] = np.repeat(np.asarray(found["groups"]), prod(instances[1:]))
    return flat
