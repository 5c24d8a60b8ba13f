"""Mean probabilities and what happened, validated: what proper scores and calibration are computed
from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._frames import library_of_frame, same_rows
from .._validation.labels import as_numpy, outcomes_by_class
from ..distributions import Distribution
from ..distributions.named_predictions import read_names


def forecasts(q: Any, y_true: Any) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], bool]:
    """Mean probabilities (N, K), what happened (N, K), class names, and whether exactly one of the
    classes happens.
    """
    distribution = isinstance(q, Distribution)
    (y_true,) = same_rows(q, y_true=y_true)
    names = q.class_names if distribution else None
    if library_of_frame(q) is not None:
        q, _, _, names, _, _ = read_names(q, "q", None, members=False)
    p = as_numpy(q.mean() if distribution else q, "q").astype(float)
    if p.ndim < 2:
        raise ValueError(
            f"`q` must be a distribution or mean probabilities of shape (N, K); got shape {p.shape}"
        )
    if not p.size:
        raise ValueError("`q` must have at least one instance")
    if p.min() < 0 or p.max() > 1 + 1e-3:
        raise ValueError(
            f"`q` must hold probabilities between 0 and 1; values range from {p.min():.4g} to "
            f"{p.max():.4g}"
        )
    class_names = names or tuple(str(k) for k in range(p.shape[-1]))
    happened = outcomes_by_class(y_true, class_names, p.shape[:-1])
    single = to_numpy(y_true).ndim < p.ndim
    p = p.reshape(-1, p.shape[-1])
    if isinstance(q, Distribution) and not q.exclusive:
        return np.minimum(p, 1.0), happened, class_names, False
    sums = p.sum(axis=1)
    exclusive = bool(np.allclose(sums, 1, atol=1e-2))
    one_hot = bool(np.all(happened.sum(axis=1) == 1))
    if (single or one_hot) and not exclusive:
        raise ValueError(
            "`q` must sum to 1 over the classes where `y_true` gives one class per instance; sums "
            f"range from {sums.min():.4g} to "
            f"{sums.max():.4g}. For labels that may occur together, pass "
            "lw.MultiLabelEnsemble(q[None])"
        )
    return np.minimum(p, 1.0), happened, class_names, exclusive and one_hot
