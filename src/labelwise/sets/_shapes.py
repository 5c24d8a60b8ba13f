"""Sets without gaps on an ordered scale.

A set is replaced by a larger one, so that coverage can only grow; a higher level never removes a
class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..events import Events


def without_gaps(member: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Sets (N, K) with all classes between their lowest and their highest; ``order`` holds the
    positions of the classes from lowest to highest, (K,).
    """
    inside = member[:, order]
    from_lowest = np.logical_or.accumulate(inside, axis=-1)
    to_highest = np.logical_or.accumulate(inside[:, ::-1], axis=-1)[:, ::-1]
    filled = np.empty_like(member)
    filled[:, order] = from_lowest & to_highest
    return filled


def order_of(shape: Any, names: tuple[str, ...]) -> np.ndarray | None:
    """Positions of the classes from lowest to highest, from ``lw.events.ordinal``."""
    if shape is None:
        return None
    if not isinstance(shape, Events) or shape.kind != "ordinal" or shape.given is not None:
        raise TypeError(f"`shape` must be lw.events.ordinal(...); got {shape!r}")
    k = len(names)
    above_first, _ = shape.resolve(k, names)[0]
    first = next(c for c in range(k) if c not in above_first)
    return np.asarray([first, *above_first])
