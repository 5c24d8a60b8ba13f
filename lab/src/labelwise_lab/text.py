"""Words and numbers for people and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

PARTS = ("total", "aleatoric", "epistemic")


def counted(n: int, one: str) -> str:
    """``3 labels``, ``1 label``."""
    return f"{n:,} {one if n == 1 else one + 's'}"


def enumerated(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def percent(x: float, decimals: int = 1) -> str:
    """A share in percent: ``86.8 %``."""
    return f"{100 * x:.{decimals}f} %"


def one_line(text: str, longest: int = 2000) -> str:
    """``text`` on one line, cut with an ellipsis if it is longer."""
    return shortened(" ".join(text.splitlines()), longest)


def shortened(text: str, longest: int) -> str:
    """``text``, cut with an ellipsis if it is longer."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def plain(value: Any, digits: int = 17) -> Any:
    """``value`` as JSON can hold it: lists for arrays, numbers of at most so many digits, ``None``
    for NaN and infinity.
    """
    if isinstance(value, dict):
        return {str(key): plain(part, digits) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), digits)
    if isinstance(value, list | tuple):
        return [plain(part, digits) for part in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{digits}g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.integer | np.bool_) else value
