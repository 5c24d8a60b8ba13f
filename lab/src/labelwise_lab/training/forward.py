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


def check_model(model: Any) -> None:
    """Refuse what is not a torch module."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"`model` must be a torch.nn.Module; got {type(model).__name__}")


def as_input(x: Any) -> Any:
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


def batches(x: Any, batch_size: int, model: nn.Module) -> Iterator[torch.Tensor]:
    """Parts of ``x`` on the device and in the floating-point type of the model's weights."""
    weight = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    for start in range(0, x.shape[0], batch_size):
        part = torch.as_tensor(
            np.array(x[start : start + batch_size])
            if isinstance(x, np.ndarray)
            else x[start : start + batch_size]
        )
        yield part.to(
            device=weight.device, dtype=weight.dtype if part.is_floating_point() else None
        )


def run(model: nn.Module, x: Any, batch_size: int) -> torch.Tensor:
    """The class scores of ``model`` for all instances, on the device of ``x``."""
    device = x.device if isinstance(x, torch.Tensor) else "cpu"
    parts = []
    for batch in batches(x, batch_size, model):
        out = model(batch)
        if not isinstance(out, torch.Tensor):
            advice = "Wrap it in a module whose forward returns the logits"
            raise TypeError(
                f"`model` must return one tensor of class scores; got {type(out).__name__}. "
                f"{advice}"
            )
        if out.ndim < 2 or out.shape[0] != batch.shape[0]:
            came = f"got shape {tuple(out.shape)} for {batch.shape[0]} instances"
            raise ValueError(f"`model` must return one row of class scores per instance; {came}")
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
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def like_input(result: torch.Tensor, x: Any) -> Any:
    """A tensor if the user gave one, otherwise a NumPy array."""
    return result if isinstance(x, torch.Tensor) else result.numpy()
