"""Calibration errors by other norms: root mean square, and the largest of any bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import check_positive
from ..evaluation._forecasts import forecasts
from .reliability import Binned, with_top_label


@dataclass(frozen=True, eq=False)
class CalibrationNorms:
    """Calibration errors by a p-norm over the bins; 0 is perfect."""

    p: float
    top_label: float | None
    """Of the top label's probability; ``None`` where several labels may be true."""
    classwise: np.ndarray
    """Of each class's probability, (K,)."""
    class_names: tuple[str, ...]


def calibration_norms(
    q: Any, y_true: Any, *, p: float = 2.0, n_bins: int = 15, adaptive: bool = False
) -> CalibrationNorms:
    r"""Calibration errors by a p-norm: the ECE (p = 1), the root-mean-square (p = 2) or the maximum
    (p = ∞, MCE).

    .. math:: \Big( \sum_b \frac{n_b}{n} \left| \text{frequency}_b - \text{mean forecast}_b \right|^p \Big)^{1/p}, \qquad
              \max_{b: n_b > 0} \left| \text{frequency}_b - \text{mean forecast}_b \right|

    The maximum depends mostly on the bins with fewest instances, where chance dominates. For
    intervals, and for the error of perfect probabilities, use `calibration_errors`.

    Parameters
    ----------
    q, y_true, n_bins, adaptive
        As for `calibration_errors`.
    p : float
        At least 1; ``np.inf`` for the maximum.

    Returns
    -------
    CalibrationNorms

    Examples
    --------
    >>> forecast = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    >>> worst = calibration_norms(forecast, [0, 1, 1, 1], p=np.inf, n_bins=2)
    >>> worst.classwise.round(3)
    array([0.4, 0.4])
    """  # noqa: E501
    check_positive(n_bins, "n_bins")
    if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not p >= 1:
        raise ValueError(f"`p` must be a number from 1 to np.inf; got {p!r}")
    mean, happened, class_names, exclusive = forecasts(q, y_true)
    columns = with_top_label(mean, happened) if exclusive else (mean, happened)
    binned = Binned(*columns, [n_bins] * columns[0].shape[1], adaptive)
    count = binned.sums(np.ones_like(columns[0]))
    gap = (
        np.abs(binned.gaps) * binned.n / np.maximum(count, 1)
    )  # |frequency − mean forecast| of each bin
    norm = (
        gap.max(axis=-1) if np.isinf(p) else np.sum(count / binned.n * gap**p, axis=-1) ** (1 / p)
    )
    return CalibrationNorms(
        float(p),
        float(norm[0]) if exclusive else None,
        norm[1:] if exclusive else norm,
        class_names,
    )
