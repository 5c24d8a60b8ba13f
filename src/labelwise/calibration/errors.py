"""Calibration errors with valid confidence intervals.

Binned calibration errors are biased upwards: even perfect probabilities show one, because
frequencies are noisy. Bootstrap percentiles double that bias and never cover the true value of a
calibrated model. The lower bound here uses the triangle inequality: the observed error is at most
the true error plus the summed noise of the bins. The quantile of that noise is estimated by a
(cluster) bootstrap and by outcomes simulated from the forecasts; the larger one is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._tables import Tabular
from .._validation.arguments import as_rng, check_positive
from ..evaluation._forecasts import forecasts
from .reliability import Binned, with_top_label


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationErrors(Tabular):
    """Expected calibration errors; 0 is perfect."""

    ece: Estimate | None
    """Error of the top label's probability; ``None`` for multi-label data."""
    classwise: Estimate
    """Error of each class's probability, (K,)."""
    class_names: tuple[str, ...]

    def _title(self) -> str:
        if self.ece is None:
            return "Calibration errors of the labels"
        return f"Calibration error of the top label: {self.ece}; of each class:"

    def _columns(self) -> dict[str, Any]:
        return {"class": self.class_names, **self.classwise.columns("error")}


class BinnedErrors:
    """Errors of forecasts for one or more numbers of bins, with bootstrap replicates for intervals
    of any confidence.

    All arrays end in (binnings, columns). The columns are the classes, after the top label if the
    classes exclude each other.
    """

    def __init__(
        self,
        q: Any,
        y_true: Any,
        binnings: Sequence[int],
        adaptive: bool,
        groups: Any,
        n_bootstrap: int,
        confidence: float,
        rng: Any,
    ) -> None:
        for n_bins in binnings:
            check_positive(n_bins, "n_bins")
        y_true, self.groups = same_rows(q, y_true=y_true, groups=groups)
        self.p, self.outcomes, self.class_names, self.exclusive = forecasts(q, y_true)
        self.n = len(self.p)
        self.binnings = len(binnings)
        columns = self.p, self.outcomes
        if self.exclusive:
            columns = with_top_label(*columns)
        forecast, outcomes = (np.tile(x, self.binnings) for x in columns)
        n_bins_of_columns = np.repeat(binnings, columns[0].shape[1]).tolist()
        binned = Binned(forecast, outcomes, n_bins_of_columns, adaptive)
        gaps = binned.gaps
        self.value = self._errors_from_gaps(gaps)
        rng = as_rng(rng)
        resampling = Resampling(self.n, self.groups, n_bootstrap, confidence, rng)
        self.wanted = resampling.wanted
        if self.wanted:
            replicates = binned.bootstrap_gaps(resampling)
            self.replicates = self._errors_from_gaps(replicates)
            wider = widening_of_few_groups(resampling.n_groups, confidence)
            self.noise = wider * self._errors_from_gaps(replicates - gaps)
            simulated = self._simulated_gaps(binned, resampling.n_bootstrap, rng)
            self.null = np.stack([self._errors_from_gaps(x) for x in simulated])

    def _errors_from_gaps(self, gaps: np.ndarray) -> np.ndarray:
        """Errors from gaps (..., columns of all binnings, bins)."""
        each = np.abs(gaps).sum(axis=-1)
        return np.asarray(each.reshape(*each.shape[:-1], self.binnings, -1))

    def _simulated_gaps(
        self, binned: Binned, n: int, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Gaps of outcomes simulated ``n`` times from the forecasts, as if these were right."""
        forecast = binned.sums(binned.forecast)
        cell = binned.cell.reshape(self.n, self.binnings, -1)
        p, every = self.p, np.arange(self.n)
        top, cumulative = p.argmax(axis=1), np.cumsum(p, axis=1)
        for _ in range(n):
            if self.exclusive:  # one class occurs, which may be the top label
                level = rng.random((self.n, 1)) * cumulative[:, -1:]
                drawn = (level >= cumulative[:, :-1]).sum(axis=1)
                hit = np.concatenate([cell[every, :, 1 + drawn], cell[drawn == top, :, 0]])
            else:
                hit = np.moveaxis(cell, 1, 2)[rng.random(p.shape) < p]
            hits = np.bincount(hit.ravel(), minlength=forecast.size).reshape(forecast.shape)
            yield (hits - forecast) / self.n


def widening_of_few_groups(n_groups: int, confidence: float) -> float:
    """What the noise of a bootstrap of few groups lacks: its bias, and Student's t instead of the
    normal distribution.
    """
    from scipy.special import ndtri, stdtrit

    side = (1 + confidence) / 2
    return float(stdtrit(n_groups - 1, side) / ndtri(side) * np.sqrt(n_groups / (n_groups - 1)))


def calibration_errors(
    q: Any,
    y_true: Any,
    *,
    n_bins: int = 15,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> CalibrationErrors:
    r"""Expected calibration errors (ECE) of the top label and of each class.

    .. math:: \mathrm{ECE}_k
              = \sum_b \frac{n_b}{n} \left| \text{frequency}_b - \text{mean forecast}_b \right|
              = \sum_b \Big| \frac1n \sum_{i \in b} (1[y_i = k] - \bar\theta_{ik}) \Big|

    Parameters
    ----------
    q : distribution, or array (N, K)
        Its mean prediction is evaluated.
    y_true : array (N,) or bool array (N, K)
        True classes as names or positions (integers are names if all class names are integers), or
        0/1 for each label.
    n_bins : int
        Number of bins, of equal width.
    groups : array (N,), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) all errors have intervals; ``rng`` is
        the random seed or generator.

    Returns
    -------
    CalibrationErrors

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    >>> errors = calibration_errors(p, [0, 1, 1, 1], n_bins=2)
    >>> round(float(errors.ece), 3), errors.classwise.value.round(3)
    (0.05, array([0.35, 0.35]))
    """
    errors = BinnedErrors(q, y_true, [n_bins], False, groups, n_bootstrap, confidence, rng)
    value = errors.value[0]
    low = high = np.full_like(value, np.nan)
    method = "none"
    if errors.wanted:
        method = "bootstrap and forecasts"
        side = (1 + confidence) / 2
        replicates, noise, null = (
            np.quantile(x[:, 0], side, axis=0)
            for x in (errors.replicates, errors.noise, errors.null)
        )
        low = np.maximum(value - np.maximum(noise, null), 0)
        # the estimate, itself biased upwards, plus the bootstrap spread without its bias
        spread = replicates - errors.replicates[:, 0].mean(axis=0)
        high = value + np.maximum(spread, 0)

    def estimate(columns: Any) -> Estimate:
        return Estimate(value[columns], low[columns], high[columns], confidence, method)

    if errors.exclusive:
        return CalibrationErrors(estimate(0), estimate(slice(1, None)), errors.class_names)
    return CalibrationErrors(None, estimate(slice(None)), errors.class_names)
