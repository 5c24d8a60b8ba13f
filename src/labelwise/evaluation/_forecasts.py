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
from .._validation.probabilities import check_range, check_sums
from ..distributions import Distribution
from ..distributions.named_predictions import read_names
from ..io import Predictions

ROUNDED = 1e-2  # how far the sum of probabilities that were rounded may be from 1


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
    if p.size:
        check_range(p, name, 1e-3, "Ensemble")
    return p, names, None


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
        check_sums(p, "q", ROUNDED)
    return p, happened, class_names, one_class
