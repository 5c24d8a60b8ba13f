"""From arrays as they are stored to the inputs of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from ..datasets.preprocess import channel_statistics, normalize, to_float
from ..validation import to_numpy
from .recipes import Recipe, Statistics


@runtime_checkable
class LazyImages(Protocol):
    """Images that need not fit in memory: they look like a uint8 array (N, H, W, C) and are read
    batch by batch.

    It is sent to other processes, so it must be possible to pickle it; they open what they need.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    ndim: int
    fingerprint: str
    """Different for different images: a training is resumed only with the same."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> np.ndarray:
        """The images of a slice or of an array of positions, as a new array."""


@dataclass(frozen=True)
class Inputs:
    """What is done to each instance before the network sees it; the same in training and
    prediction.

    Images are uint8, (N, H, W) or (N, H, W, C), and become float32 (N, C, H, W), scaled to 0 … 1
    and then by the statistics of each channel. Everything else must be floating point, (N, ...),
    and is only converted to float32.
    """

    shape: tuple[int, ...]
    """Of one input of the network: (C, H, W) for images."""
    images: bool
    statistics: Statistics | None = None
    """Mean and standard deviation of each channel."""

    @classmethod
    def of(cls, x: np.ndarray) -> Inputs:
        """The plain inputs that ``x`` gives."""
        if not _is_images(x):
            return cls(tuple(x.shape[1:]), images=False)
        return cls((x.shape[3] if x.ndim == 4 else 1, x.shape[1], x.shape[2]), images=True)

    @classmethod
    def fit(cls, x: np.ndarray, recipe: Recipe) -> Inputs:
        """The inputs that ``recipe`` asks for, with the statistics of the training set ``x`` where
        it wants them.
        """
        plain = cls.of(x)
        if not plain.images and (recipe.augment or recipe.normalize is not None):
            fix = "use replace(recipe, augment=False, normalize=None)"
            raise ValueError(
                f"the recipe augments or normalizes images, but `x` is not uint8 images; {fix}"
            )
        if recipe.normalize is None:
            return plain
        if isinstance(x, LazyImages) and not isinstance(recipe.normalize, tuple):
            fix = "use replace(recipe, normalize=(means, deviations))"
            raise ValueError(
                f"the statistics of images that are read from disk must be given: {fix}"
            )
        mean, std = (
            recipe.normalize if isinstance(recipe.normalize, tuple) else channel_statistics(x)
        )
        if not len(mean) == len(std) == plain.shape[0]:
            raise ValueError(
                f"`normalize` must have a mean and a deviation for each of the {plain.shape[0]} "
                f"channels; got {len(mean)} and {len(std)}"
            )
        return cls(plain.shape, True, (tuple(mean), tuple(s if s > 0 else 1.0 for s in std)))

    def check(self, x: Any, name: str) -> Any:
        """``x`` as a NumPy array (a memory map or a source stays one) that these inputs can be made
        from.
        """
        array = as_instances(x, name)
        given = Inputs.of(array)
        if (given.shape, given.images) != (self.shape, self.images):
            kinds = {True: "uint8 images", False: "numbers"}
            raise ValueError(
                f"`{name}` must be like the training set, {kinds[self.images]} that give inputs of "
                f"shape {self.shape}; "
                f"got {kinds[given.images]} that give {given.shape}"
            )
        return array

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """A batch for the network; images are in channels-last memory format."""
        if not self.images:
            return x.float()
        x = to_float(x)
        return x if self.statistics is None else normalize(x, *self.statistics)


def as_instances(x: Any, name: str) -> Any:
    """``x`` as a NumPy array of images or numbers, instances first; a source stays one."""
    array: Any = x if isinstance(x, np.ndarray | LazyImages) else to_numpy(x)
    if array.ndim < 2 or len(array) == 0:
        raise ValueError(
            f"`{name}` must hold at least one instance on its first axis, and its values on "
            f"others; got shape {array.shape}"
        )
    if array.dtype.kind != "f" and not _is_images(array):
        raise TypeError(
            f"`{name}` must be uint8 images, shape (N, H, W) or (N, H, W, C), or floating-point "
            f"numbers; got {array.dtype} of shape {array.shape}"
        )
    return array


def check_finite_blocks(x: np.ndarray, name: str) -> None:
    """Refuse missing and infinite values without a second array of the size of ``x``."""
    if x.dtype.kind == "f" and not all(
        np.isfinite(x[start : start + 4096]).all() for start in range(0, len(x), 4096)
    ):
        raise ValueError(
            f"`{name}` must be finite; it has missing or infinite values. For tables, "
            "labelwise_lab.datasets.standardize fills them in"
        )


def _is_images(x: np.ndarray) -> bool:
    return bool(x.dtype == np.uint8) and x.ndim in (3, 4)
