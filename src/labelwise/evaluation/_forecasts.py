"""Mean probabilities and what happened, validated: what proper scores, calibration and prediction
sets are computed from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._engine.blocks import mean_in_blocks
from .._frames import library_of_frame, same_rows
from .._validation.labels import as_numpy, outcomes_by_class
from ..distributions import Distribution
from ..distributions.named_predictions import read_names
from ..io import Predictions


def mean_probabilities(q: Any, name: str) -> tuple[np.ndarray, tuple[str, ...] | None, bool | None]:
    """Mean probabilities (..., K) in double precision, the class names if any, and whether the
    classes exclude each other (``None``: of an array, which does not say).
    """
    if isinstance(q, Predictions):
        p = np.empty((len(q), q.n_classes))
        for rows, block in q.blocks():
            p[rows] = as_numpy(mean_in_blocks(block.distribution()), name)
        return p, q.class_names, not q.multilabel
    if isinstance(q, Distribution):
        return as_numpy(mean_in_blocks(q), name).astype(float), q.class_names, q.exclusive
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
    return p, names, None


def check_sums(p: np.ndarray, name: str) -> None:
    """Refuse rows of an array that are not those of one class per instance."""
    sums = p.sum(axis=-1)
    if p.size and not np.allclose(sums, 1, atol=1e-2):
        raise ValueError(
            f"`{name}` must sum to 1 over the classes where one class per instance is true; sums "
            f"range from {sums.min():.4g} to {sums.max():.4g}. For labels that may occur "
            f"together, pass lw.MultiLabelEnsemble({name}[None])"
        )


def forecasts(q: Any, y_true: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], bool]:
    """Mean probabilities (N, K), what happened (N, K), class names, and whether exactly one of the
    classes happens.
    """
    (y_true,) = same_rows(q, y_true=y_true)
    p, names, exclusive = mean_probabilities(q, "q")
    if not p.size:
        raise ValueError("`q` must have at least one instance")
    class_names = names or tuple(map(str, range(p.shape[-1])))
    happened = outcomes_by_class(y_true, class_names, p.shape[:-1])
    one_class = to_numpy(y_true).ndim < p.ndim or bool(np.all(happened.sum(axis=1) == 1))
    p = p.reshape(happened.shape)
    np.minimum(p, 1.0, out=p)
    if exclusive is False:
        return p, happened, class_names, False
    if one_class:
        check_sums(p, "q")
    return p, happened, class_names, one_class
