"""Tensors as ``torch.save`` writes them; nothing else in their files is unpickled."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from .._lazy import imported


def read_pt(path: Path) -> dict[str, Any]:
    """A tensor, or the tensors of a dictionary by key, mapped."""
    torch = imported("torch", ".pt files need PyTorch", "torch")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path.name} holds more than tensors, which is never read; save tensors: "
            "torch.save({'probs': …}, path)"
        ) from error
    if not isinstance(content, dict):
        content = {"probs": content}
    arrays = {}
    for key, value in content.items():
        if isinstance(value, torch.Tensor):
            if value.dtype == torch.bfloat16:  # which NumPy has not
                value = value.float()
            value = value.detach().numpy()
        arrays[str(key)] = np.asarray(value)
    return arrays
