"""How much memory a file may make us use, and how a bad file is refused: one sentence that names
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np

FLOOR, RATIO = 1 << 28, 100  # an array may take so many bytes, or times its file's size if more
MAX_AXES = 8


class Readable(Protocol):
    """Anything with ``read``."""

    def read(self, n: int, /) -> bytes: ...


def refuse(path: str | Path, why: str) -> ValueError:
    """The error to raise for a file that cannot be used."""
    return ValueError(f"{path}: {why}")


def check_memory(
    path: str | Path,
    shape: Sequence[int],
    itemsize: int,
    *,
    floor: int = FLOOR,
    length: int | None = None,
) -> int:
    """Bytes of an array of this shape, if ``path`` (of ``length`` bytes) may ask for so much."""
    if len(shape) > MAX_AXES or any(n < 0 for n in shape):
        raise refuse(
            path,
            (
                f"its header gives an impossible shape, {tuple(shape[:MAX_AXES])}; the file is "
                "corrupted"
            ),
        )
    nbytes = prod(shape) * itemsize
    length = Path(path).stat().st_size if length is None else length
    if nbytes > max(floor, RATIO * length):
        why = (
            f"its header asks for {human(nbytes)} of memory (shape {tuple(shape)}), but the file "
            f"has only {human(length)}"
        )
        raise refuse(path, f"{why}; it is corrupted or not what it seems")
    return nbytes


def human(nbytes: float) -> str:
    """``1.5 MB`` for 1500000."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if nbytes < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.0f} {unit}" if unit == "bytes" or nbytes >= 1e5 else f"{nbytes:.1f} {unit}"


def read_array(stream: Readable, shape: Sequence[int], dtype: Any, path: str | Path) -> np.ndarray:
    """Fill a new array from ``stream`` block by block: never more memory than the array and two
    blocks.
    """
    try:
        array = np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise refuse(
            path, f"there is not enough memory for an array of shape {tuple(shape)}"
        ) from error
    view = array.reshape(-1).view(np.uint8)
    filled = 0
    while filled < len(view) and (piece := stream.read(min(len(view) - filled, 1 << 20))):
        view[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
    if filled < len(view):
        raise refuse(
            path,
            (
                f"the file ends after {human(filled)} of the {human(len(view))} that its header "
                "promises; it is truncated"
            ),
        )
    return array
