"""Arrays of numbers from .npz files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..files import read_npz, refuse


def read_numbers(path: str | Path, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays ``keys`` of an .npz file; pickled objects and text are refused."""
    path = Path(path)
    found = read_npz(path, keys)
    for key in keys:
        if key not in found:
            raise refuse(path, f"no array {key!r} in the file")
        if found[key].dtype.kind not in "biuf":
            raise refuse(path, f"`{key}` holds {found[key].dtype} instead of numbers")
    return found
