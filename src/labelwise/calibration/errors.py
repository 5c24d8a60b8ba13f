"""Calibration errors with valid confidence intervals.

Binned calibration errors are biased upwards: even perfect probabilities show one, because
frequencies are noisy. Bootstrap percentiles double that bias and never cover the true value of a
calibrated model. The lower bound here uses the triangle inequality: the observed error is at most
the true error plus the summed noise of the bins. The quantile of that noise is estimated by a
(cluster) bootstrap and by outcomes simulated from the forecasts; the larger one is used.

Of many independent instances random groups are resampled: their sums vary as much, and a replicate
takes no longer for a million instances than for `MAX_UNITS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._engine.blocks import row_blocks
from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._tables import Tabular
from .._validation.arguments import as_rng, check_positive
from ..evaluation._forecasts import forecasts
from .reliability import Binned, with_top_label

MAX_UNITS = 1 << 13  # the standard deviation of the noise is then known to one percent
MIN_UNITS = 1 << 10  # fewer groups than these would vary less surely than the instances do
MAX_SUMS = 1 << 22  # sums of random groups that are held: 32 MB, and no more than forecasts


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
        for n_bins in binnings:
            check_positive(n_bins, "n_bins")
        y_true, self.groups = same_rows(q, y_true=y_true, groups=groups)
        self.p, self.outcomes, self.class_names, self.exclusive = forecasts(q, y_true)
        self.n = len(self.p)
        forecast, outcomes = self.p, self.outcomes
        if self.exclusive:
            forecast, outcomes = with_top_label(self.p, self.outcomes)
            self.p, self.outcomes = forecast[:, 1:], outcomes[:, 1:]  # one table of each is held
        binned = Binned(forecast, outcomes, binnings, adaptive)
        gaps = binned.gaps
        self.value = binned.errors(gaps)
        rng = as_rng(rng)
        resampling = Resampling(self.n, self.groups, n_bootstrap, confidence, rng)
        self.wanted = resampling.wanted
        if self.wanted:
            n_units = min(MAX_UNITS, MAX_SUMS // binned.n_places, self.n // binned.n_cells)
            if self.groups is None and self.n > MAX_UNITS and n_units >= MIN_UNITS:
                self._resample_random_groups(binned, n_units, resampling)
            else:
                self._resample(binned, resampling)

    def _resample(self, binned: Binned, resampling: Resampling) -> None:
        """Replicates of the errors, their noise, and that of forecasts that are right."""
        wider = widening_of_few_groups(resampling.n_groups, resampling.confidence)
        replicates, noise = [], []
        for drawn in binned.bootstrap_gaps(resampling):
            replicates.append(binned.errors(drawn))
            noise.append(wider * binned.errors(drawn - binned.gaps))
        self.replicates, self.noise = np.concatenate(replicates), np.concatenate(noise)
        simulated = self._simulated_gaps(binned, resampling.n_bootstrap, resampling.rng)
        self.null = np.stack([binned.errors(gaps) for gaps in simulated])

    def _resample_random_groups(self, binned: Binned, n_units: int, resampling: Resampling) -> None:
        """The same from sums over random groups of instances: those of the data, and those of
        outcomes that are simulated once.
        """
        rng = resampling.rng
        of_groups = Resampling(n_units, None, resampling.n_bootstrap, resampling.confidence, rng)
        wider = widening_of_few_groups(n_units, resampling.confidence)
        order = rng.permutation(self.n)
        ends = np.arange(n_units + 1) * self.n // n_units

        def noise_of(sums: np.ndarray) -> np.ndarray:
            mean = (sums.sum(axis=0) / self.n).reshape(binned.columns, binned.n_cells)
            return np.asarray(wider * binned.errors(gaps - mean))

        sums = binned.sums_of_groups(order, ends, lambda rows: binned.outcomes[rows])
        gaps = binned.resampled_gaps(sums, np.diff(ends), of_groups)
        self.replicates, self.noise = binned.errors(gaps), noise_of(sums)
        sums = binned.sums_of_groups(order, ends, lambda rows: self._simulated(rows, rng))
        gaps = binned.resampled_gaps(sums, np.diff(ends), of_groups)
        self.null = noise_of(sums)

    def _simulated(self, rows: Any, rng: np.random.Generator) -> np.ndarray:
        """Outcomes of some instances simulated from their forecasts, with that of the top label."""
        p = self.p[rows]
        if not self.exclusive:
            return np.asarray(rng.random(p.shape) < p)
        cumulative = np.cumsum(p, axis=1)
        drawn = _count_not_above(cumulative[:, :-1], rng.random(len(p)) * cumulative[:, -1])
        happens = drawn[:, None] == np.arange(p.shape[1])
        return np.column_stack([drawn == p.argmax(axis=1), happens])

    def _simulated_gaps(
        self, binned: Binned, n: int, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Gaps of outcomes simulated ``n`` times from the forecasts, as if these were right."""
        forecast = binned.sums(binned.forecast)
        blocks = list(row_blocks(self.n, binned.columns))
        if self.exclusive:
            top, cumulative = self.p.argmax(axis=1), np.cumsum(self.p, axis=1)
        for _ in range(n):
            hits = np.zeros(forecast.size, np.int64)
            for rows in blocks:
                if self.exclusive:  # one class occurs, which may be the top label
                    level = rng.random(rows.stop - rows.start) * cumulative[rows, -1]
                    drawn = _count_not_above(cumulative[rows, :-1], level)
                    columns = 1 + drawn
                    every = np.arange(rows.start, rows.stop)
                    hit = binned.cell[every, columns] + binned.n_cells * columns
                    hit = np.append(hit, binned.cell[every[drawn == top[rows]], 0])
                else:
                    p = self.p[rows]
                    hit = binned.places(rows)[rng.random(p.shape) < p]
                hits += np.bincount(hit, minlength=len(hits))
            yield (hits.reshape(forecast.shape) - forecast) / self.n


def top_label_error(confidence: np.ndarray, right: np.ndarray, n_bins: int = 15) -> float:
    """`calibration_errors(...).ece` from the top label's probabilities and outcomes, (N,)."""
    binned = Binned(confidence[:, None], right[:, None], [n_bins], adaptive=False)
    return float(binned.errors(binned.gaps)[0, 0])


def _count_not_above(rows: np.ndarray, level: np.ndarray) -> np.ndarray:
    """How many values of each increasing row (n, K) are at most its ``level`` (n,)."""
    n, k = rows.shape
    if k < 32:
        return np.asarray((level[:, None] >= rows).sum(axis=1))
    every, found = np.arange(n), np.zeros(n, np.int64)
    step = 1 << k.bit_length()
    while step > 1:  # the binary digits of the number, from the highest
        step //= 2
        tried = np.minimum(found + step, k)
        found = np.where(rows[every, tried - 1] <= level, tried, found)
    return found


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

    Memory: at most twice the mean prediction (N, K) in double precision, and two bytes for each of
    its numbers; no copy of the members.

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
        the random seed or generator. Of more than 8,192 instances without ``groups``, random groups
        are resampled.

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
