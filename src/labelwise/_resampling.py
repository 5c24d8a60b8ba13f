"""Estimates with confidence intervals, and the (cluster) bootstrap.

Instances are taken to be independent. Those of the same group (the slices of a patient) are not: with ``groups``, whole groups are resampled, and
the estimand stays that of a random case, so that groups count by their size. Functions compute bootstrap intervals if ``n_bootstrap`` > 0:
percentiles, or with fewer than 100 groups (or instances), where percentiles are too narrow, Student's t with the bootstrap's standard error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, inf, isfinite, log10, nan
from typing import Any

import numpy as np

from ._arrays import Array, to_numpy
from ._validation import as_rng

FEW = 100
"""Number of groups (or instances) below which percentiles of a bootstrap are too narrow (coverage of a Brier score: .92 with 20, .93 with 40)."""
Bounds = tuple[float, float]
_CELLS = 4_000_000
"""Counts drawn per block: 32 MB."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number (or an array of numbers) with a confidence interval; the bounds are NaN if no interval was requested.

    >>> print(Estimate(0.8123, 0.79, 0.834, method="DeLong"))
    0.812 (95 % interval 0.790 to 0.834)
    """

    value: Array
    low: Array = nan
    high: Array = nan
    confidence: float = 0.95
    method: str = "none"

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        if np.ndim(self.value):
            rows = np.broadcast(self.value, self.low, self.high)
            return "\n".join(str(Estimate(value, low, high, self.confidence)) for value, low, high in rows)
        size = abs(self.value)
        digits = 3 if not isfinite(size) or size == 0 else max(3, 1 - floor(log10(size)))  # at least two that count
        if not isfinite(self.low) and not isfinite(self.high):
            return f"{self.value:.{digits}f}"
        return f"{self.value:.{digits}f} ({100 * self.confidence:g} % interval {self.low:.{digits}f} to {self.high:.{digits}f})"


class Resampling:
    """Bootstrap resampling of ``n`` instances, or of the groups they belong to."""

    def __init__(self, n: int, groups: Any, n_bootstrap: int, confidence: float, rng: Any) -> None:
        check_confidence(confidence)
        self.confidence = confidence
        self.n = n
        self.code, self.n_groups = group_codes(None if groups is None else to_numpy(groups).reshape(-1), n)
        self.n_bootstrap = check_replicates(n_bootstrap)
        self.wanted = self.n_bootstrap > 0
        if not self.wanted:
            if groups is not None:
                raise ValueError("`groups` are used only for bootstrap intervals. Pass `n_bootstrap` too, such as n_bootstrap=1000")
            return
        if self.n_groups < 2:
            what = "`groups` must name at least 2 groups" if groups is not None else "a bootstrap needs at least 2 instances"
            raise ValueError(
                f"{what}; got {self.n_groups}. One {'group' if groups is not None else 'instance'} says nothing about the spread"
            )
        self.rng = as_rng(rng)
        self.method = "bootstrap" if groups is None else f"bootstrap over {self.n_groups} groups"

    def group_counts(self, row: int | None = None) -> Iterator[np.ndarray]:
        """How often each group was drawn: blocks of shape (replicates, groups), sized for ``row`` numbers per replicate."""
        step = max(1, _CELLS // (row or self.n_groups))
        for start in range(0, self.n_bootstrap, step):
            b = min(step, self.n_bootstrap - start)
            drawn = self.rng.integers(self.n_groups, size=(b, self.n_groups))
            drawn += np.arange(b)[:, None] * self.n_groups
            yield np.bincount(drawn.ravel(), minlength=b * self.n_groups).reshape(b, self.n_groups)

    def counts(self, row: int | None = None) -> Iterator[np.ndarray]:
        """How often each instance was drawn: blocks of shape (replicates, instances)."""
        for counts in self.group_counts(row or self.n):
            yield counts if self.code is None else counts[:, self.code]

    def group_sums(self, x: np.ndarray) -> np.ndarray:
        """Sum over the instances of each group: (instances, ...) to (groups, ...)."""
        if self.code is None:
            return x
        flat = x.reshape(x.shape[0], -1)
        sums = np.stack([np.bincount(self.code, column, minlength=self.n_groups) for column in flat.T], axis=-1)
        return sums.reshape(self.n_groups, *x.shape[1:])

    def estimate(self, value: Any, replicates: Any, bounds: tuple[float, Any] = (-inf, inf), units: Any = None) -> Estimate:
        """The interval of ``value`` from its ``replicates`` (on the first axis), within ``bounds``.

        ``units`` is the number of groups (or instances) that matter for each value, if not all do.
        """
        replicates, units = np.asarray(replicates), self.n_groups if units is None else np.asarray(units)
        low, high = percentiles(replicates, self.confidence)
        few = np.asarray((units < FEW) & np.isfinite(value))
        if not few.any():
            return Estimate(value, low, high, self.confidence, self.method)
        t = t_interval(value, bootstrap_error(replicates, units), np.fmax(units - 1, 1), self.confidence, bounds, units)
        low, high = np.where(few, t[0], low), np.where(few, t[1], high)
        if np.ndim(value) == 0 and replicates.ndim == 1:
            low, high = float(low), float(high)
        return Estimate(value, low, high, self.confidence, f"{self.method}, Student's t" if few.all() else self.method)


def bootstrap_error(replicates: np.ndarray, units: Any) -> np.ndarray:
    """Standard error from replicates (on the first axis), without the bias of a bootstrap of few ``units``; NaN where there are no replicates."""
    defined = ~np.isnan(replicates)
    n = defined.sum(axis=0)
    x = np.where(defined, replicates, 0.0)
    mean = x.sum(axis=0) / np.maximum(n, 1)
    variance = np.where(defined, (x - mean) ** 2, 0.0).sum(axis=0) / np.maximum(n - 1, 1)
    return np.where((n > 1) & (units > 1), np.sqrt(variance * units / np.where(units > 1, units - 1, 1)), nan)


def t_quantile(freedom: Any, confidence: float) -> Any:
    """Half the width of Student's t-interval in standard errors."""
    from scipy.special import stdtrit

    return stdtrit(freedom, (1 + confidence) / 2)


def pooled_variance(parts: Sequence[tuple[Any, float]]) -> tuple[np.ndarray, np.ndarray]:
    """The sum of independent variances, each with its degrees of freedom, and those of the sum (Satterthwaite); 1 if it is 0."""
    variance = np.sum([v for v, _ in parts], axis=0)
    spread = np.sum([v**2 / freedom for v, freedom in parts], axis=0)
    return variance, np.where(spread > 0, variance**2 / np.where(spread > 0, spread, 1), 1)


def t_interval(
    value: Any, se: Any, freedom: Any, confidence: float, bounds: tuple[float, Any], units: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Student's t-interval; on the logit scale between two finite bounds, on the log scale above a finite lower one.

    These scales stay within the bounds and have better coverage near them. At a bound the standard error is 0 although the value is uncertain: the
    other end is then exact for a share of ``units`` independent groups, all of which were on the same side.
    """
    from scipy.special import expit, logit

    value, (lowest, highest) = np.asarray(value, dtype=float), bounds
    half = t_quantile(freedom, confidence) * se
    if lowest == -inf:
        return value - half, value + half
    if np.all(np.isinf(highest)):
        inside = value > lowest
        relative = half / np.where(inside, value - lowest, 1)
        low, high = (lowest + (value - lowest) * np.exp(sign * relative) for sign in (-1, 1))
        return np.where(inside, low, value), np.where(inside, high, value)
    width = np.asarray(highest - lowest)
    scale = np.where(width > 0, width, 1)
    share = np.where(width > 0, (value - lowest) / scale, 1)
    inside = (share > 0) & (share < 1)
    middle = np.where(inside, share, 0.5)
    relative = half / scale / (middle * (1 - middle))
    exact = width * ((1 - confidence) / 2) ** (1 / np.fmax(units, 1))
    low, high = (lowest + width * expit(logit(middle) + sign * relative) for sign in (-1, 1))
    low, high = (
        np.where(inside, low, np.where(share >= 1, lowest + exact, lowest)),
        np.where(inside, high, np.where(share >= 1, highest, highest - exact)),
    )
    return low, high


def percentiles(replicates: np.ndarray, confidence: float) -> tuple[Array, Array]:
    """The central share ``confidence`` of the replicates, ignoring undefined ones (NaN)."""
    tail = (1 - confidence) / 2
    defined = ~np.isnan(replicates)
    if defined.all():
        low, high = np.quantile(replicates, (tail, 1 - tail), axis=0)
    else:
        some = defined.any(axis=0)
        low, high = np.nanquantile(np.where(some, replicates, 0.0), (tail, 1 - tail), axis=0)
        low, high = np.where(some, low, nan), np.where(some, high, nan)
    return (float(low), float(high)) if replicates.ndim == 1 else (low, high)


def group_codes(groups: Any, n: int) -> tuple[Any, int]:
    """Groups as codes 0, 1, … (``None``: one group per instance) and their number."""
    if groups is None:
        return None, n
    groups = to_numpy(groups)
    if groups.shape != (n,):
        raise ValueError(f"`groups` must name the group of each of the {n} instances, shape ({n},); got shape {groups.shape}")
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        raise ValueError(
            f"`groups` must not be NaN; {int(np.isnan(groups).sum())} of {n} are. Give each instance without a group its own group"
        )
    values, code = np.unique(groups, return_inverse=True)
    return code, len(values)


def check_replicates(n_bootstrap: Any, *, required: bool = False) -> int:
    """The number of bootstrap replicates: 0 (no intervals, unless they are ``required``) or at least 2."""
    whole = isinstance(n_bootstrap, int | np.integer) and not isinstance(n_bootstrap, bool)
    if not whole or n_bootstrap < 0 or n_bootstrap == 1 or (required and n_bootstrap == 0):
        none = "" if required else "0 (no intervals) or "
        raise ValueError(f"`n_bootstrap` must be {none}an integer of at least 2 replicates; got {n_bootstrap!r}. 1000 is usual")
    return int(n_bootstrap)


def check_confidence(confidence: float) -> None:
    """A confidence level strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ValueError(f"`confidence` must lie between 0 and 1, such as 0.95; got {confidence!r}")
