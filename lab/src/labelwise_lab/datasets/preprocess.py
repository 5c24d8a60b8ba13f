"""From images as stored (uint8, channels last) to what a network takes: whole batches at once, no
loop over images.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Array = Any  # of NumPy or torch


CIFAR10_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR10_STD = (0.2023, 0.1994, 0.2010)
"""The constants of the paper's code. The deviations are not those of all pixels (0.247, 0.243,
0.262) but the means of each image's own.
"""


def _torch() -> Any:
    import torch

    return torch


def to_float(images: Array) -> Array:
    """Images with values in [0, 1], channels first.

    From uint8 (N, H, W) or (N, H, W, C), NumPy or torch, to a float32 tensor (N, C, H, W) in
    channels-last memory format (the order of the input, so nothing is moved).

    >>> labelwise_lab.datasets.preprocess.to_float(np.full((2, 4, 4), 51, np.uint8))[0, 0, 0]
    tensor([0.2000, 0.2000, 0.2000, 0.2000])
    """
    x = _as_images(images)
    return (x.unsqueeze(-1) if x.ndim == 3 else x).permute(0, 3, 1, 2) * (1 / 255)


def channel_statistics(images: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over all pixels, in units of [0, 1]; exact, from
    sums of whole numbers.

    >>> labelwise_lab.datasets.preprocess.channel_statistics(np.array([[[0, 255], [0, 255]]], np.uint8))
    ((0.5,), (0.5,))
    """  # noqa: E501
    x = np.asarray(images)
    if x.dtype != np.uint8 or x.ndim not in (3, 4) or x.size == 0:
        raise ValueError(
            f"`images` must be uint8 of shape (N, H, W) or (N, H, W, C); got {x.dtype} of shape "
            f"{x.shape}"
        )
    channels = x.shape[3] if x.ndim == 4 else 1
    n, sums = (
        x.size // channels,
        np.zeros((2, channels), dtype=object),
    )  # Python's integers: no overflow
    for start in range(0, len(x), 1000):
        block = np.ascontiguousarray(
            x[start : start + 1000].reshape(-1, channels).T, dtype=np.uint32
        )
        sums += np.stack(
            [block.sum(axis=1, dtype=np.int64), (block * block).sum(axis=1, dtype=np.int64)]
        ).astype(object)
    return tuple(s / n / 255 for s in sums[0]), tuple(
        math.sqrt(n * q - s * s) / n / 255 for s, q in sums.T
    )


def normalize(x: Array, mean: Sequence[float], std: Sequence[float]) -> Array:
    """``(x - mean) / std`` for each channel of ``x`` (N, C, H, W), in channels-last memory format;
    one value per channel, or one for all.

    >>> import torch
    >>> labelwise_lab.datasets.preprocess.normalize(torch.ones(1, 2, 1, 2), mean=(0.5, 0.0), std=(0.25, 1.0))[0, :, 0, 0]
    tensor([2., 1.])
    """  # noqa: E501
    torch = _torch()
    n, c, h, w = x.shape
    if len(mean) not in (1, c) or len(std) not in (1, c) or min(std) <= 0:
        raise ValueError(
            f"`mean` and `std` must have 1 or {c} values, `std` positive ones; got {tuple(mean)} "
            f"and {tuple(std)}"
        )
    # Repeated along a row of pixels: with an innermost axis of three channels the same arithmetic
    # takes eight times as long.
    mean, std = (
        torch.as_tensor(v, dtype=x.dtype, device=x.device).expand(c).repeat(w) for v in (mean, std)
    )
    rows = x.permute(0, 2, 3, 1).reshape(n, h, w * c)
    return ((rows - mean) / std).reshape(n, h, w, c).permute(0, 3, 1, 2)


def crop_and_flip(images: Array, *, generator: Array, padding: int = 4, flip: bool = True) -> Array:
    """A random crop of each image padded with black, mirrored with probability one half: the
    paper's augmentation of CIFAR-10.

    ``images`` are uint8 of shape (N, H, W) or (N, H, W, C), NumPy or torch, and keep type and
    shape. The crop has the size of the image, so each image moves by up to ``padding`` pixels.
    ``generator``, a ``torch.Generator``, is the only source of randomness.

    >>> import torch
    >>> image = np.arange(1, 10, dtype=np.uint8).reshape(1, 3, 3)
    >>> labelwise_lab.datasets.preprocess.crop_and_flip(image, generator=torch.Generator().manual_seed(3), padding=1)
    tensor([[[0, 3, 2],
             [0, 6, 5],
             [0, 9, 8]]], dtype=torch.uint8)
    """  # noqa: E501
    torch = _torch()
    x = _as_images(images)
    n, h, w = x.shape[:3]
    if padding < 0:
        raise ValueError(f"`padding` must not be negative; got {padding}")
    top, left = torch.randint(0, 2 * padding + 1, (2, n), generator=generator)
    mirrored = torch.rand(n, generator=generator) < (0.5 if flip else -1.0)
    row = top[:, None] + torch.arange(h)
    column = torch.arange(w).expand(n, w)
    column = left[:, None] + torch.where(mirrored[:, None], w - 1 - column, column)
    padded = torch.nn.functional.pad(x, (0, 0) * (x.ndim - 3) + (padding,) * 4)
    # One list of pixel numbers: ten times as fast as indexing with three tensors.
    image = torch.arange(n)[:, None, None] * (h + 2 * padding)
    pixel = (image + row[:, :, None]) * (w + 2 * padding) + column[:, None, :]
    return padded.reshape(-1, *x.shape[3:]).index_select(0, pixel.reshape(-1)).reshape(x.shape)


def batches(
    x: Array,
    y: Array,
    *,
    batch_size: int = 256,
    generator: Array | None = None,
    augment: bool = False,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
) -> Iterator[tuple[Array, Array]]:
    """One epoch: pairs of a float32 batch (B, C, H, W) and its labels (B,) int64.

    Parameters
    ----------
    x, y, batch_size
        Images (uint8, channels last) and labels, as in `Examples`; the last batch may be smaller.
    generator
        A ``torch.Generator`` for the order and the augmentation (`crop_and_flip`); without it the
        order is that of ``x``.
    mean, std
        For `normalize`, such as ``CIFAR10_MEAN``, ``CIFAR10_STD`` or `channel_statistics` of the
        training images.

    Examples
    --------
    >>> data = labelwise_lab.datasets.load("digits")
    >>> [tuple(x.shape) for x, y in labelwise_lab.datasets.preprocess.batches(data.test.x, data.test.y)]
    [(256, 1, 8, 8), (256, 1, 8, 8), (27, 1, 8, 8)]
    """  # noqa: E501
    torch = _torch()
    if augment and generator is None:
        raise ValueError(
            "`augment` is random, so it needs a `generator`: torch.Generator().manual_seed(0)"
        )
    if batch_size < 1:
        raise ValueError(f"`batch_size` must be at least 1; got {batch_size}")
    x, y = _as_images(x), _tensor(y)
    if len(x) != len(y):
        raise ValueError(f"`x` and `y` must have the same length; got {len(x)} and {len(y)}")
    order = (
        torch.arange(len(x)) if generator is None else torch.randperm(len(x), generator=generator)
    )
    for index in order.split(batch_size):
        images = x.index_select(0, index)
        if augment:
            images = crop_and_flip(images, generator=generator)
        yield normalize(to_float(images), mean, std), y[index]


def _as_images(images: Array) -> Array:
    torch = _torch()
    x = _tensor(images)
    if x.dtype != torch.uint8 or x.ndim not in (3, 4):
        raise ValueError(
            f"`images` must be uint8 of shape (N, H, W) or (N, H, W, C); got {x.dtype} of shape "
            f"{tuple(x.shape)}"
        )
    return x


def _tensor(array: Array) -> Array:
    """A tensor that shares the memory of ``array``. It is only read here, so that arrays which must
    not be written to will do.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return _torch().as_tensor(array)
