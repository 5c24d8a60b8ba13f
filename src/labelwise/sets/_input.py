"""Validate predictions, true classes and groups for prediction sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._frames import library_of_frame, same_rows
from .._resampling import group_codes
from .._validation.labels import as_labels, as_numpy
from ..distributions import Distribution
from ..distributions.named_predictions import read_names
from ..io import Predictions


def mean_probabilities(q: Any, name: str) -> tuple[np.ndarray, tuple[str, ...] | None, bool]:
    """Mean probabilities (..., K) in double precision, the class names if any, and whether the
    classes exclude each other.
    """
    if isinstance(q, Predictions):
        blocks = [as_numpy(block.distribution().mean(), name) for _, block in q.blocks()]
        p = np.concatenate(blocks) if blocks else np.empty((0, q.n_classes))
        return p.astype(float), q.class_names, not q.multilabel
    if isinstance(q, Distribution):
        return as_numpy(q.mean(), name).astype(float), q.class_names, q.exclusive
    names = None
    if library_of_frame(q) is not None:
        q, _, _, names, _, _ = read_names(q, name, None, members=False)
    p = as_numpy(q, name).astype(float)
    if p.ndim < 2:
        raise ValueError(
            f"`{name}` must be a distribution or mean probabilities (N, K); got shape {p.shape}"
        )
    if p.size and (p.min() < 0 or p.max() > 1 + 1e-3):
        raise ValueError(
            f"`{name}` must hold probabilities between 0 and 1; values range from {p.min():.4g} to "
            f"{p.max():.4g}"
        )
    sums = p.sum(axis=-1)
    if p.size and not np.allclose(sums, 1, atol=1e-2):
        raise ValueError(
            f"`{name}` must sum to 1 over the classes; sums range from {sums.min():.4g} to "
            f"{sums.max():.4g}. "
            f"For labels that may occur together, pass lw.MultiLabelEnsemble({name}[None])"
        )
    return p, names, True


def one_class_each(q: Any, name: str) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Mean probabilities of classes that exclude each other, (..., K), and the class names if
    any.
    """
    p, names, exclusive = mean_probabilities(q, name)
    if not exclusive:
        raise ValueError(
            f"the labels of `{name}` may occur together, so there is no one class to cover. Use "
            "lw.sets.fit_labels: yes, no or unsure"
        )
    return p, names


def calibration_cases(
    q: Any, y: Any, q_name: str = "q_cal", y_name: str = "y_cal"
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Mean probabilities (N, K), true classes (N,) and class names."""
    p, found = one_class_each(q, q_name)
    names = found or tuple(str(k) for k in range(p.shape[-1]))
    (y,) = same_rows(q, **{y_name: y})
    labels = as_labels(y, y_name, names, p.shape[:-1])
    if not len(labels):
        raise ValueError(f"`{y_name}` must have at least one case; got none")
    return p.reshape(len(labels), -1), labels, names


def check_classes(
    p: np.ndarray, names: tuple[str, ...] | None, fitted: tuple[str, ...], name: str = "q"
) -> None:
    """Refuse probabilities (..., K) of other classes than those that were fitted."""
    if p.shape[-1] != len(fitted):
        raise ValueError(
            f"`{name}` must have the {len(fitted)} classes of the calibration cases; got K = "
            f"{p.shape[-1]}"
        )
    for k, (found, expected) in enumerate(zip(names or fitted, fitted, strict=True)):
        if found != expected:
            raise ValueError(
                f"`{name}` must have the classes of the calibration cases in their order; class "
                f"{k} is {found!r} instead of {expected!r}"
            )


def codes_of(groups: Any, n: int) -> np.ndarray | None:
    """Groups of ``n`` cases as codes 0, 1, …"""
    if groups is None:
        return None
    return np.asarray(group_codes(np.asarray(groups).reshape(-1), n)[0])
