"""Tensors as ``torch.save`` writes them, without unpickling anything else."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from .._lazy import imported
from .files import open_regular
from .npz import check_unpacked

__all__ = ["load_tensors", "read_pt"]


def load_tensors(file: IO[bytes], name: str) -> Any:
    """The content of an open .pt file: tensors and plain values, and nothing that would have to
    run.
    """
    torch = imported("torch", ".pt files need PyTorch", "torch")
    with zipfile.ZipFile(
        file
    ) as archive:  # torch.save writes archives; older forms take memory before they are checked
        check_unpacked(archive.infolist(), os.fstat(file.fileno()).st_size, name)
    file.seek(0)
    return torch.load(file, map_location="cpu", weights_only=True)


def read_pt(path: Path, pick: Callable[[list[str]], Sequence[str]]) -> dict[str, Any]:
    """A tensor, or those of a dictionary that ``pick`` chooses from the names there."""
    import pickle

    try:
        with open_regular(path) as file:
            content = load_tensors(file, path.name)
    except zipfile.BadZipFile as error:
        raise ValueError(
            f"{path.name} is not a file of torch.save (PyTorch 1.6 or newer), or was cut short"
        ) from error
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path.name} holds more than tensors, which is never read; save tensors: "
            f"torch.save({{'probs': …}}, path)"
        ) from error
    found = (
        {str(key): value for key, value in content.items()}
        if isinstance(content, dict)
        else {"probs": content}
    )
    return {key: _array(path, key, found[key]) for key in pick(list(found))}


def _array(path: Path, key: str, value: Any) -> Any:
    import torch

    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_meta:
        raise TypeError(f"{path.name}: `{key}` must be a dense tensor; got {type(value).__name__}")
    if (
        value.untyped_storage().nbytes() < value.element_size() * value.numel() and value.numel()
    ):  # strides of 0 repeat little for ever
        raise ValueError(
            f"{path.name}: `{key}` has {value.numel():,} values, of which few are stored; save "
            f"{key}.contiguous()"
        )
    return (value.detach().float() if value.dtype == torch.bfloat16 else value.detach()).numpy()
