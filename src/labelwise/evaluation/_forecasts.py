"""Mean probabilities and what happened, validated: what proper scores, calibration and prediction
sets are computed from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._engine.blocks import row_blocks
from .._frames import library_of_frame, same_rows
from .._validation.labels import as_numpy, outcomes_by_class
from .._validation.probabilities import check_range, check_sums
from ..distributions import Distribution
from ..distributions.named_predictions import read_names
from ..io import Predictions
from ..io.blocks import in_blocks_of

ROUNDED = 1e-2  # how far the sum of probabilities that were rounded may be from 1


def mean_probabilities(q: Any, name: str) -> tuple[np.ndarray, tuple[str, ...] | None, bool | None]:
    """Mean probabilities (..., K) in double precision, the class names if any, and whether the
    classes exclude each other (``None``: of an array, which does not say).
    """
    if isinstance(q, Distribution | Predictions):
        (p,) = in_blocks_of(lambda block: (as_numpy(block.mean(), name).astype(float),), q)
        exclusive = not q.multilabel if isinstance(q, Predictions) else q.exclusive
        return p, q.class_names, exclusive
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


def accuracy_and_confidence(
    p: np.ndarray, outcomes: np.ndarray, exclusive: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each instance is right, and how probable that was, (N,); of labels that may occur
    together, the share that are.
    """
    if exclusive:
        top = np.arange(len(p)), p.argmax(axis=1)
        return outcomes[top].astype(float), p[top]
    right, confidence = np.empty((2, len(p)))
    for rows in row_blocks(*p.shape):
        right[rows] = ((p[rows] > 0.5) == outcomes[rows]).mean(axis=1)
        confidence[rows] = np.maximum(p[rows], 1 - p[rows]).mean(axis=1)
    return right, confidence


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
