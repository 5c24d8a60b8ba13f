"""Calibration errors with valid confidence intervals.

Binned calibration errors are biased upwards: even perfect probabilities show one, because
frequencies are noisy. Bootstrap percentiles double that bias and never cover the true value of a
calibrated model. The lower bound here uses the triangle inequality: the observed error is at most
the true error plus the summed noise of the bins. The quantile of that noise is estimated by a
(cluster) bootstrap and by outcomes simulated from the forecasts; the larger one is used.

Of very many instances (or groups) random groups are resampled: their sums vary as much, and a
replicate takes no longer for a million instances than for `MAX_UNITS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import quotient
from .._frames import same_rows
from .._resampling import Estimate, Resampling, t_quantile
from .._tables import Tabular
from .._validation.arguments import as_rng, check_positive
from ..evaluation._forecasts import forecasts
from .reliability import BinnedForecasts, forecasts_to_bin

MAX_UNITS = 1 << 12  # the standard deviation of the noise is then known to about one percent


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

    Errors and their replicates end in (binnings, columns). The columns are the classes, after the
    top label if the classes exclude each other.
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
        from scipy.special import ndtri

        y_true, self.groups = same_rows(q, y_true=y_true, groups=groups)
        self.p, self.outcomes, self.class_names, self.exclusive = forecasts(q, y_true)
        self.n = len(self.p)
        resampling = Resampling(self.n, self.groups, n_bootstrap, confidence, as_rng(rng))
        self.wanted = resampling.wanted
        if self.wanted:
            unit, counts = _resampled_units(resampling)
            n_units = counts.shape[1]
            n_drawn = counts @ np.bincount(unit)
            # What the noise of a bootstrap of few groups lacks: its bias, and Student's t instead
            # of the normal distribution.
            wider = t_quantile(n_units - 1, confidence) / ndtri((1 + confidence) / 2)
            wider *= np.sqrt(n_units / (n_units - 1))
        value, replicates, noise, null = [], [], [], []
        for forecast, outcome in forecasts_to_bin(self.p, self.outcomes, self.exclusive):
            binned = BinnedForecasts(forecast, outcome, binnings, adaptive)
            value.append(binned.errors(binned.gaps))
            if self.wanted:
                drawn = counts @ binned.sums_by_unit(unit, n_units) / n_drawn[:, None]
                replicates.append(binned.errors(drawn))
                noise.append(wider * binned.errors(drawn - binned.gaps))
                null.append(binned.errors(_simulated_gaps(binned, n_bootstrap, resampling.rng)))
        self.value = np.stack(value, axis=-1)
        if self.wanted:
            self.replicates, self.noise, self.null = (
                np.stack(columns, axis=-1) for columns in (replicates, noise, null)
            )


def _resampled_units(resampling: Resampling) -> tuple[np.ndarray, np.ndarray]:
    """The unit of each instance, which are resampled as a whole, and how often each unit was drawn,
    (replicates, units): the groups (or instances) that were given, or random ones of very many.
    """
    n_units, rng = resampling.n_groups, resampling.rng
    unit = resampling.code
    if n_units > MAX_UNITS:
        unit = (rng.permutation(n_units) % MAX_UNITS)[unit]
        n_units = MAX_UNITS
    of_units = Resampling(n_units, None, resampling.n_bootstrap, resampling.confidence, rng)
    return unit, np.concatenate([*of_units.group_counts()]).astype(float)


def _simulated_gaps(binned: BinnedForecasts, n: int, rng: np.random.Generator) -> np.ndarray:
    """Gaps of the cells, (n, cells), if the forecasts were right.

    The number of occurrences is drawn from the binomial distribution with the mean and about the
    variance of a sum of independent outcomes: Σp / p̂ of them with the probability p̂ = Σp² / Σp.
    """
    expected, squares = binned.sums(binned.forecast), binned.sums(binned.forecast**2)
    outcomes = np.ceil(quotient(expected**2, squares, 1)).clip(1)
    hits = rng.binomial(
        outcomes.astype(int), np.minimum(expected / outcomes, 1), (n, len(outcomes))
    )
    return (hits - expected) / len(binned.cell)


def top_label_error(confidence: np.ndarray, right: np.ndarray, n_bins: int = 15) -> float:
    """`calibration_errors(...).ece` from the top label's probabilities and outcomes, (N,)."""
    binned = BinnedForecasts(confidence, right, [n_bins], adaptive=False)
    return float(binned.errors(binned.gaps)[0])


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

    Memory: the mean prediction (N, K) in double precision, and a byte for each of its numbers; no
    copy of the members.

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
        the random seed or generator. Of more than 4,096 instances (or groups), random groups of
        them are resampled.

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
    check_positive(n_bins, "n_bins")
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
    found = Estimate(value, low, high, confidence, method)
    if errors.exclusive:
        return CalibrationErrors(found[0], found[1:], errors.class_names)
    return CalibrationErrors(None, found, errors.class_names)
