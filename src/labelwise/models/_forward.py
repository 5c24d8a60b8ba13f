"""Run a torch model without changing it: evaluation mode, batches, random seeds; everything is
restored afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from .._arrays import Array


def check_model(model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"`model` must be a torch.nn.Module; got {type(model).__name__}")


def as_input(x: Any) -> Array:
    """``x`` as a tensor or NumPy array of numbers with instances on its first axis."""
    if not isinstance(x, torch.Tensor):
        x = np.asarray(x)
        if x.dtype.kind not in "fiub":
            raise TypeError(
                f"`x` must hold numbers; got an array of {x.dtype}. Encode text and categories "
                "first"
            )
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError(
            f"`x` must hold at least one instance on its first axis; got shape {tuple(x.shape)}"
        )
    return x


def batches(x: Array, batch_size: int, model: nn.Module) -> Iterator[torch.Tensor]:
    """Parts of ``x`` on the device of ``model``, floating-point numbers in the type of its weights.

    Converted part by part, so that a memory-mapped or double-precision ``x`` is never copied as a
    whole.
    """
    weight = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    for start in range(0, x.shape[0], batch_size):
        part = x[start : start + batch_size]
        tensor = (
            part if isinstance(part, torch.Tensor) else torch.tensor(np.ascontiguousarray(part))
        )
        yield tensor.to(
            device=weight.device, dtype=weight.dtype if tensor.is_floating_point() else None
        )


def run(model: nn.Module, x: Array, batch_size: int) -> torch.Tensor:
    """The outputs of ``model`` for all instances, on the device of ``x``; modes and gradients are
    the caller's business.
    """
    parts = []
    device = x.device if isinstance(x, torch.Tensor) else "cpu"
    for batch in batches(x, batch_size, model):
        out = model(batch)
        if not isinstance(out, torch.Tensor):
            what = f"got {type(out).__name__}. Wrap it in a module whose forward returns the logits"
            raise TypeError(f"`model` must return one tensor of class scores; {what}")
        if out.ndim < 2 or out.shape[0] != batch.shape[0]:
            what = f"got shape {tuple(out.shape)} for {batch.shape[0]} instances"
            raise ValueError(f"`model` must return one row of class scores per instance; {what}")
        parts.append(out.to(device))
    return torch.cat(parts)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every module is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's global generators start from ``seed`` inside and go on as before afterwards."""
    cuda = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield


def like_input(result: torch.Tensor, x: Any) -> Array:
    """A tensor if the user gave one, otherwise a NumPy array."""
    return result if isinstance(x, torch.Tensor) else result.numpy()
