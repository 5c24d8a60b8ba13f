"""From images as stored (uint8, channels last) to what a network takes: whole batches at once, no loop over images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._arrays import Array

CIFAR10_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR10_STD = (0.2023, 0.1994, 0.2010)
"""The constants of the paper's code. The deviations are not those of all pixels (0.247, 0.243, 0.262) but means over images."""


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError('Preprocessing needs PyTorch; install it with: pip install "labelwise[torch]"') from error
    return torch


def to_float(images: Array) -> Array:
    """Images with values in [0, 1], channels first.

    Parameters
    ----------
    images
        uint8 of shape (N, H, W) or (N, H, W, C), NumPy or torch.

    Returns
    -------
    torch.Tensor
        float32 of shape (N, C, H, W), in channels-last memory format (the order of the input, so nothing is moved).

    Examples
    --------
    >>> lw.datasets.preprocess.to_float(np.full((2, 4, 4), 51, np.uint8))[0, 0, 0]
    tensor([0.2000, 0.2000, 0.2000, 0.2000])
    """
    x = _as_images(images)
    return (x.unsqueeze(-1) if x.ndim == 3 else x).permute(0, 3, 1, 2) * (1 / 255)


def channel_statistics(images: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over all pixels, in units of [0, 1]; exact, from the counts of the 256 values.

    Examples
    --------
    >>> lw.datasets.preprocess.channel_statistics(np.array([[[0, 255], [0, 255]]], np.uint8))
    ((0.5,), (0.5,))
    """
    x = np.asarray(images)
    if x.dtype != np.uint8 or x.ndim not in (3, 4) or x.size == 0:
        raise ValueError(f"`images` must be uint8 of shape (N, H, W) or (N, H, W, C); got {x.dtype} of shape {x.shape}")
    pixels = x.reshape(-1, x.shape[3] if x.ndim == 4 else 1)
    value = np.arange(256) / 255
    share = np.stack([np.bincount(channel, minlength=256) for channel in pixels.T]) / len(pixels)
    mean = share @ value
    std = np.sqrt((share * (value - mean[:, None]) ** 2).sum(axis=1))
    return tuple(mean.tolist()), tuple(std.tolist())


def normalize(x: Array, mean: Sequence[float], std: Sequence[float]) -> Array:
    """``(x - mean) / std`` for each channel of ``x``, (N, C, H, W)."""
    torch = _torch()
    mean, std = (torch.as_tensor(v, dtype=x.dtype, device=x.device).reshape(-1, 1, 1) for v in (mean, std))
    return (x - mean) / std


def crop_and_flip(images: Array, *, generator: Array, padding: int = 4, flip: bool = True) -> Array:
    """A random crop of each image padded with black, mirrored with probability one half: the paper's augmentation of CIFAR-10.

    Parameters
    ----------
    images
        uint8 of shape (N, H, W) or (N, H, W, C), NumPy or torch.
    generator
        A ``torch.Generator``: the only source of randomness.
    padding
        Pixels on each side; the crop has the size of the image, so each image moves by up to ``padding`` pixels.
    flip
        Whether images are mirrored left to right.

    Returns
    -------
    torch.Tensor
        uint8, of the shape of ``images``.

    Examples
    --------
    >>> import torch
    >>> image = np.arange(1, 10, dtype=np.uint8).reshape(1, 3, 3)
    >>> lw.datasets.preprocess.crop_and_flip(image, generator=torch.Generator().manual_seed(3), padding=1)
    tensor([[[0, 3, 2],
             [0, 6, 5],
             [0, 9, 8]]], dtype=torch.uint8)
    """
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
    return padded[torch.arange(n)[:, None, None], row[:, :, None], column[:, None, :]]


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
    x, y
        Images (uint8, channels last) and labels, as in a `Split`.
    batch_size
        Images per batch; the last batch may be smaller.
    generator
        A ``torch.Generator`` for the order and the augmentation; without it the order is that of ``x``.
    augment
        Whether `crop_and_flip` is applied.
    mean, std
        For `normalize`, such as ``CIFAR10_MEAN``, ``CIFAR10_STD`` or `channel_statistics` of the training images.

    Examples
    --------
    >>> data = lw.datasets.load("digits")
    >>> [tuple(x.shape) for x, y in lw.datasets.preprocess.batches(data.test.x, data.test.y)]
    [(256, 1, 8, 8), (256, 1, 8, 8), (27, 1, 8, 8)]
    """
    torch = _torch()
    if augment and generator is None:
        raise ValueError("`augment` is random, so it needs a `generator`: torch.Generator().manual_seed(0)")
    if batch_size < 1:
        raise ValueError(f"`batch_size` must be at least 1; got {batch_size}")
    x, y = _as_images(x), torch.as_tensor(y)
    if len(x) != len(y):
        raise ValueError(f"`x` and `y` must have the same length; got {len(x)} and {len(y)}")
    order = torch.arange(len(x)) if generator is None else torch.randperm(len(x), generator=generator)
    for index in order.split(batch_size):
        images = x[index]
        if augment:
            images = crop_and_flip(images, generator=generator)
        yield normalize(to_float(images), mean, std), y[index]


def _as_images(images: Array) -> Array:
    torch = _torch()
    x = torch.as_tensor(images)
    if x.dtype != torch.uint8 or x.ndim not in (3, 4):
        raise ValueError(f"`images` must be uint8 of shape (N, H, W) or (N, H, W, C); got {x.dtype} of shape {tuple(x.shape)}")
    return x
