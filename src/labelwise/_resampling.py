"""Estimates with confidence intervals, and the (cluster) bootstrap.

Instances are taken to be independent. Those of the same group (the slices of a patient) are not:
with ``groups``, whole groups are resampled, and the estimand stays that of a random case, so that
groups count by their size. Functions compute bootstrap intervals if ``n_bootstrap`` > 0:
percentiles, or with fewer than 100 groups (or instances), where percentiles are too narrow,
Student's t with the bootstrap's standard error.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, isfinite, log10, nan
from typing import Any

import numpy as np

from ._arrays import Array, Pair, quotient, to_numpy
from ._validation.arguments import as_rng, is_whole

MIN_UNITS_FOR_PERCENTILES = 100
"""Number of groups (or instances) below which percentiles of a bootstrap are too narrow (coverage
of a Brier score: .92 with 20, .93 with 40).
"""
Bounds = tuple[float, float]
COUNTS_PER_BLOCK = 1 << 20
"""Counts drawn per block: 8 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """A number (or an array of numbers) with a confidence interval; the bounds are NaN if no
    interval was requested.

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

    def __getitem__(self, index: Any) -> Estimate:
        """The estimates of some of the numbers."""
        value, low, high = np.broadcast_arrays(self.value, self.low, self.high)
        return replace(self, value=value[index], low=low[index], high=high[index])

    def __repr__(self) -> str:
        return str(self)

    def columns(self, name: str) -> dict[str, Any]:
        """Value and bounds as columns of a table; no bounds without an interval."""
        value, low, high = np.broadcast_arrays(np.atleast_1d(self.value), self.low, self.high)
        if np.all(np.isnan(low)) and np.all(np.isnan(high)):
            return {name: value}
        return {name: value, f"{name}_low": low, f"{name}_high": high}

    def __str__(self) -> str:
        if np.ndim(self.value):
            rows = np.broadcast(self.value, self.low, self.high)
            return "\n".join(
                str(Estimate(value, low, high, self.confidence)) for value, low, high in rows
            )
        size, digits = abs(self.value), 3
        if 0 < size < inf:
            digits = max(3, 1 - floor(log10(size)))  # at least two that count
        if not isfinite(self.low) and not isfinite(self.high):
            return f"{self.value:.{digits}f}"
        return (
            f"{self.value:.{digits}f} ({100 * self.confidence:g} % interval {self.low:.{digits}f} "
            f"to {self.high:.{digits}f})"
        )


class Resampling:
    """Bootstrap resampling of ``n`` instances, or of the groups they belong to."""

    def __init__(self, n: int, groups: Any, n_bootstrap: int, confidence: float, rng: Any) -> None:
        check_confidence(confidence)
        self.confidence = confidence
        self.n = n
        self.code, self.n_groups = group_codes(groups, n)
        self.n_bootstrap = check_replicates(n_bootstrap)
        self.wanted = self.n_bootstrap > 0
        if not self.wanted:
            if groups is not None:
                raise ValueError(
                    "`groups` are used only for bootstrap intervals. Pass `n_bootstrap` too, such "
                    "as n_bootstrap=1000"
                )
            return
        self.method = "bootstrap"
        if groups is not None:
            self.method = f"bootstrap over {self.n_groups} groups"
        if self.n_groups < 2:
            raise ValueError(
                "a bootstrap needs at least 2 groups of instances, or 2 instances; got "
                f"{self.n_groups}, which says nothing about the spread"
            )
        self.rng = as_rng(rng)

    def group_counts(self, row: int | None = None) -> Iterator[np.ndarray]:
        """How often each group was drawn: blocks of shape (replicates, groups), sized for ``row``
        numbers per replicate.
        """
        step = max(1, COUNTS_PER_BLOCK // (row or self.n_groups))
        for start in range(0, self.n_bootstrap, step):
            b = min(step, self.n_bootstrap - start)
            drawn = self.rng.integers(self.n_groups, size=(b, self.n_groups))
            drawn += np.arange(b)[:, None] * self.n_groups
            yield np.bincount(drawn.ravel(), minlength=b * self.n_groups).reshape(b, self.n_groups)

    def counts(self, row: int | None = None) -> Iterator[np.ndarray]:
        """How often each instance was drawn: blocks of shape (replicates, instances)."""
        for counts in self.group_counts(row or self.n):
            yield counts[:, self.code]

    def estimate(
        self,
        value: Any,
        replicates: Any,
        bounds: tuple[float, Any] = (-inf, inf),
        units: Any = None,
    ) -> Estimate:
        """The interval of ``value`` from its ``replicates`` (on the first axis), within ``bounds``.

        ``units`` is the number of groups (or instances) that matter for each value, if not all do.
        """
        replicates = np.asarray(replicates)
        if units is None:
            units = self.n_groups
        low, high = percentiles(replicates, self.confidence)
        few = units < MIN_UNITS_FOR_PERCENTILES
        if np.all(np.isfinite(bounds[0])) and np.all(np.isfinite(bounds[1])):
            # Percentiles of replicates that are all alike are one point.
            few = few | (low == high)
        few = few & np.isfinite(value)
        method = self.method
        if np.any(few):
            se, df = bootstrap_error(replicates, units), np.fmax(units - 1, 1)
            by_t = t_interval(value, se, df, self.confidence, bounds, units)
            low, high = np.where(few, by_t, (low, high))
            if np.all(few):
                method = f"{method}, Student's t"
        return Estimate(value, low, high, self.confidence, method)


def bootstrap_error(replicates: np.ndarray, units: Any) -> Array:
    """Standard error from replicates (on the first axis), without the bias of a bootstrap of few
    ``units``; NaN where there are no replicates.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # too few are NaN, which is right
        variance = np.nanvar(replicates, axis=0, ddof=1)
    return np.sqrt(variance * units / np.where(units > 1, units - 1, nan))


def t_quantile(df: Any, confidence: float) -> Any:
    """Half the width of Student's t-interval in standard errors."""
    from scipy.special import stdtrit

    return stdtrit(df, (1 + confidence) / 2)


def pooled_variance(parts: Sequence[tuple[Any, float]]) -> Pair:
    """The sum of independent variances, each with its degrees of freedom, and those of the sum
    (Satterthwaite); 1 if it is 0.
    """
    variance = np.sum([v for v, _ in parts], axis=0)
    spread = np.sum([v**2 / df for v, df in parts], axis=0)
    return variance, quotient(variance**2, spread, 1)


def t_interval(
    value: Any, se: Any, df: Any, confidence: float, bounds: tuple[float, Any], units: Any
) -> Pair:
    """Student's t-interval; on the logit scale between two finite bounds, on the log scale above a
    finite lower one.

    These scales stay within the bounds and have better coverage near them. Where all units showed
    the same, at a bound or between them, the standard error is 0 although the value is uncertain:
    the interval is then exact for a share of ``units`` independent groups. With this confidence at
    most a share u of all groups is different, u = 1 − (α/2)^(1/units), and each of these may lie
    anywhere within the bounds.
    """
    from scipy.special import expit, logit

    value, (lowest, highest) = np.asarray(value, dtype=float), bounds
    half = t_quantile(df, confidence) * se
    if lowest == -inf:
        return value - half, value + half
    if np.all(np.isinf(highest)):
        inside = value > lowest
        relative = half / np.where(inside, value - lowest, 1)
        low, high = (lowest + (value - lowest) * np.exp(sign * relative) for sign in (-1, 1))
        return np.where(inside, low, value), np.where(inside, high, value)
    width = highest - lowest
    scale = np.where(width > 0, width, 1)
    share = np.where(width > 0, (value - lowest) / scale, 1)
    unseen = 1 - ((1 - confidence) / 2) ** (1 / np.fmax(units, 1))
    alike = (share <= 0) | (share >= 1) | is_zero_error(se, scale)
    clipped = np.clip(share, 0, 1)
    exact = (
        lowest + width * clipped * (1 - unseen),
        lowest + width * (clipped + (1 - clipped) * unseen),
    )
    middle = np.where(alike, 0.5, share)
    relative = half / scale / (middle * (1 - middle))
    low, high = (lowest + width * expit(logit(middle) + sign * relative) for sign in (-1, 1))
    return np.where(alike, exact[0], low), np.where(alike, exact[1], high)


def is_zero_error(se: Any, scale: Any = 1.0) -> Any:
    """Whether a standard error is 0 up to rounding: all units showed the same."""
    return se <= 1e-12 * scale


def t_interval_with_extremes(
    value: Any,
    se: Any,
    df: Any,
    confidence: float,
    bounds: tuple[Any, Any],
    n: Any,
    weight: float = 1.0,
) -> Pair:
    """Student's t-interval of a mean after one more case at either bound, for values of which rare
    ones are large.

    If a high cost is rare, it is missing in many samples, and the standard error does not know of
    it. One more case at either bound, as Agresti and Coull (1998) add to a share, makes up for
    that: without any such case the interval reaches about 2.8 / n of the distance to the bound.
    ``n`` is the number of cases; for one it is all that is possible. ``weight`` is that of an added
    case, in cases.
    """
    value, (lowest, highest) = np.asarray(value, dtype=float), bounds
    more = n + 2 * weight
    center = (n * value + weight * (lowest + highest)) / more
    error_of_added = weight * np.hypot(lowest - center, highest - center) / more
    half = t_quantile(np.fmax(df, 1), confidence) * np.hypot(se * n / more, error_of_added)
    low, high = np.minimum(center - half, value), np.maximum(center + half, value)
    spread_known = n > 1
    return np.where(spread_known, np.fmax(low, lowest), lowest), np.where(
        spread_known, np.fmin(high, highest), highest
    )


def mean_over_groups(
    x: np.ndarray,
    code: np.ndarray | None,
    confidence: float,
    *,
    estimand: str = "case",
    bounds: Bounds = (-inf, inf),
) -> Estimate:
    """Mean of ``x`` (N,) with `t_interval` over groups (``None``: each case is one): of a random
    case, or of a random group.
    """
    _, code = np.unique(np.arange(len(x)) if code is None else code, return_inverse=True)
    size, sums = np.bincount(code), np.bincount(code, x)
    n = len(size)
    unit = "groups" if n < len(x) else "cases"
    if estimand == "case":
        mean = x.mean()
        away = (sums - size * mean) / size.mean()  # of a ratio of sums
    else:
        mean = (sums / size).mean()
        away = sums / size - mean
    if n < 2:
        return Estimate(
            float(mean), *bounds, confidence, f"one of the {unit} says nothing about the spread"
        )
    se = np.sqrt(np.sum(away**2) / (n - 1) / n)
    low, high = t_interval(mean, se, n - 1, confidence, bounds, n)
    if mean == bounds[0] and bounds[1] == inf:
        high = np.asarray(inf)  # all are at the lower bound: others may be anywhere above
    method = f"t-interval over {n} {unit}, of a random {estimand}"
    if np.all(np.isfinite(bounds)) and is_zero_error(se, bounds[1] - bounds[0]):
        method = f"exact for {n} independent {unit} that are all alike, of a random {estimand}"
    return Estimate(float(mean), float(low), float(high), confidence, method)


def share_estimate(
    hits: np.ndarray, code: np.ndarray | None, confidence: float, *, estimand: str = "case"
) -> Estimate:
    """The share of ``hits`` (N,) with its interval, the one for every share: never outside [0, 1],
    never of zero width.

    Without groups (or with a group for each case) Clopper–Pearson. Over groups `t_interval`, which
    is on the logit scale; where nothing was missed, or everything, the groups are the units of the
    exact interval. NaN without cases.
    """
    n = len(hits)
    if n == 0:
        return Estimate(nan, nan, nan, confidence, "no cases")
    if code is not None and len(np.unique(code)) < n:
        return mean_over_groups(
            hits.astype(float), code, confidence, estimand=estimand, bounds=(0.0, 1.0)
        )
    low, high = binomial_interval(hits.sum(), n, confidence)
    return Estimate(float(hits.mean()), float(low), float(high), confidence, "Clopper–Pearson")


def binomial_interval(hits: Any, n: Any, confidence: float) -> Pair:
    """The Clopper–Pearson interval of a share of independent cases; from 0 to 1 without cases."""
    from scipy.special import betaincinv

    hits, n = np.asarray(hits, float), np.asarray(n, float)
    tail = (1 - confidence) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), n - hits + 1, tail), 0.0)
    high = np.where(hits < n, betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - tail), 1.0)
    return low, high


def percentiles(replicates: np.ndarray, confidence: float) -> Pair:
    """The central share ``confidence`` of the replicates, ignoring undefined ones (NaN)."""
    tail = (1 - confidence) / 2
    quantile = np.nanquantile if np.isnan(replicates).any() else np.quantile  # which is faster
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of none at all it is NaN
        low, high = quantile(replicates, (tail, 1 - tail), axis=0)
    return low, high


def group_codes(groups: Any, n: int, name: str = "groups") -> tuple[Any, int]:
    """The group of each instance as a code 0, 1, … (``None``: one group per instance), and the
    number of groups.
    """
    if groups is None:
        return np.arange(n), n
    groups = to_numpy(groups)
    if groups.size != n:
        raise ValueError(
            f"`{name}` must name the group of each of the {n} instances, shape ({n},); got shape "
            f"{groups.shape}"
        )
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        raise ValueError(
            f"`{name}` must not be NaN; {np.isnan(groups).sum()} of {n} are. Give each "
            "instance without a group its own group"
        )
    values, code = np.unique(groups.reshape(-1), return_inverse=True)
    return code, len(values)


def check_replicates(n_bootstrap: Any, *, required: bool = False) -> int:
    """The number of bootstrap replicates: 0 (no intervals, unless they are ``required``) or at
    least 2.
    """
    least = 2 if required else 0
    if not is_whole(n_bootstrap) or n_bootstrap < least or n_bootstrap == 1:
        none = "" if required else "0 (no intervals) or "
        raise ValueError(
            f"`n_bootstrap` must be {none}an integer of at least 2 replicates; got "
            f"{n_bootstrap!r}. 1000 is usual"
        )
    return int(n_bootstrap)


def check_confidence(confidence: float) -> None:
    """A confidence level strictly between 0 and 1."""
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ValueError(f"`confidence` must lie between 0 and 1, such as 0.95; got {confidence!r}")
