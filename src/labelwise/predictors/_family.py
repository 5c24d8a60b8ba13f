"""How the models of one library are asked: the small interface that `from_models` works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._batches import Batch


@dataclass(frozen=True)
class Family:
    """Models of one library."""

    predict: Callable[[Batch], Sequence[Any]]
    """The scores of each member for a batch: (n, K), (n, ..., K) or, for two classes, (n,) or (n, 1)."""
    scores: str
    """``"logits"``, ``"probabilities"``, or ``"unknown"``: the values decide, and must be clear."""
    class_names: tuple[str, ...] | None = None
    batch_size: int | None = None
    """Rows of an array at a time; ``None``: all, the library cuts them itself."""
    running: Callable[[], AbstractContextManager[Any]] = field(default=nullcontext)
    """Entered while the models are asked; restores what it changes."""
    weights: Any = None
    multilabel: bool = False
    """Whether the models say that labels may occur together."""


def aligned(probs: np.ndarray, classes: Any, all_classes: Any) -> np.ndarray:
    """Columns for ``all_classes`` (sorted) from columns for some of them; 0 for a class that a member has never seen."""
    if len(classes) == len(all_classes):
        return probs
    full = np.zeros((*probs.shape[:-1], len(all_classes)), dtype=probs.dtype)
    full[..., np.searchsorted(all_classes, np.asarray(classes))] = probs
    return full


def same_names(names: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The class names that all members have."""
    known = [each for each in names if each is not None]
    for each in known[1:]:
        if each != known[0]:
            raise ValueError(f"the models must have the same classes in the same order; got {known[0]} and {each}")
    return known[0] if known else None


def only_one_way(n_samples: int | None, library: str) -> None:
    """Refuse ``n_samples`` where there is no dropout to sample."""
    if n_samples is not None:
        raise ValueError(f"`n_samples` is for dropout in torch modules and for catboost's virtual ensembles; got {n_samples} for {library}")
