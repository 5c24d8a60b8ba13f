"""Values of PyTorch and JAX in main memory as NumPy arrays without a copy, and back: so that the
kernel can work on them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._arrays import Array, is_traced, library, values_known


def on_host(x: Array) -> np.ndarray | None:
    """``x`` as a NumPy array on the same memory, or ``None``: on another device, traced, lazy, or
    to be differentiated.

    bfloat16, which NumPy does not have, comes as its bits.
    """
    if isinstance(x, np.ndarray):
        return x
    if library(x) == "PyTorch":
        return _torch_on_host(x)
    if library(x) == "JAX":
        return _jax_on_host(x)
    return None


def _torch_on_host(x: Any) -> np.ndarray | None:
    import torch

    if not in_main_memory(x) or (x.requires_grad and torch.is_grad_enabled()):
        return None
    x = x.detach()
    if x.dtype == torch.bfloat16:
        x = x.view(torch.uint16)
    return x.numpy()


def in_main_memory(x: Any) -> bool:
    """Whether a tensor of PyTorch is an ordinary one in main memory, not traced and not in
    forward-mode differentiation.
    """
    import torch
    from torch.autograd import forward_ad

    ordinary = (
        not is_traced(x)
        and type(x) in (torch.Tensor, torch.nn.Parameter)
        and x.device.type == "cpu"
        and x.layout is torch.strided
    )
    return ordinary and getattr(forward_ad, "_current_level", -1) < 0


def _jax_on_host(x: Any) -> np.ndarray | None:
    if not values_known(x):
        return None
    if {device.platform for device in x.devices()} != {"cpu"}:
        return None
    values = np.asarray(x)
    if values.dtype.name == "bfloat16":
        return values.view(np.uint16)
    return values


def back_to_library(result: Array, x: Array) -> Array:
    """``result``, of NumPy or of that library already, in the library of ``x``."""
    if isinstance(x, np.ndarray) or not isinstance(result, np.ndarray):
        return result
    if library(x) == "PyTorch":
        import torch

        if not result.flags.writeable:  # a tensor always is
            result = result.copy()
        return torch.from_numpy(result)
    return sys.modules["jax"].numpy.asarray(result)
