"""Intervals for several numbers at once, and means of clustered cases with a named estimand."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from .._frames import same_rows
from .._labels import as_numpy, as_scores
from .._resampling import (
    Bounds,
    Estimate,
    check_confidence,
    group_codes,
    mean_over_groups,
    t_quantile,
)

ESTIMANDS = ("case", "group")


def simultaneous_intervals(
    value: Any, *, standard_error: Any, freedom: float = inf, confidence: float = 0.95
) -> Estimate:
    r"""Intervals that contain *all* true values of a family with probability ``confidence``.

    Of 60 ordinary 95 % intervals three miss on average, and the most striking one is likely to be
    among them. These are value ± c · se, where c is Student's t at level :math:`1 - \alpha / (2J)`
    (Bonferroni).

    Parameters
    ----------
    value : array (J,)
        The numbers of the family: all measures on all data sets, all classes.
    standard_error : array (J,)
        Standard error of each number.
    freedom : float
        Degrees of freedom of the standard errors: runs − 1, groups − 1; infinite by default.
    confidence : float
        Probability that no interval misses.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> print(simultaneous_intervals([0.8, 0.7], standard_error=[0.01, 0.02], freedom=9))
    0.800 (95 % interval 0.773 to 0.827)
    0.700 (95 % interval 0.646 to 0.754)
    """
    check_confidence(confidence)
    if not isinstance(freedom, int | float | np.number) or not freedom > 0:
        raise ValueError(
            f"`freedom` must be positive: the number of runs or groups, minus 1; got {freedom!r}"
        )
    values = as_numpy(value, "value").astype(float)
    if values.ndim != 1 or not values.size:
        raise ValueError(
            f"`value` must hold the numbers of the family, shape (J,); got shape {values.shape}"
        )
    se = as_numpy(standard_error, "standard_error").astype(float)
    if se.shape != values.shape or np.any(se < 0):
        raise ValueError(
            f"`standard_error` must have one nonnegative value for each of {len(values)} "
            f"values; got shape {se.shape}"
        )
    half = t_quantile(freedom, 1 - (1 - confidence) / len(values)) * se
    return Estimate(
        values, values - half, values + half, confidence, f"Bonferroni over {len(values)}"
    )


def clustered_mean(
    values: Any,
    groups: Any = None,
    *,
    estimand: str = "case",
    bounds: Bounds = (-inf, inf),
    confidence: float = 0.95,
) -> Estimate:
    """Mean over cases that come in groups, with Student's t-interval; says whether a random case or
    a random group is meant.

    Groups (patients) are taken to be independent and drawn from the same population, their cases
    (slices) may depend on each other in any way; without ``groups`` the cases are independent.
    ``"case"``: the mean over all cases, in which a group counts by its size. ``"group"``: the mean
    of the means of the groups, which all count the same. They differ if the size of a group is
    related to its values.

    Parameters
    ----------
    values : array (N,)
        A number for each case: whether it is wrong, its risk, its uncertainty.
    groups : array (N,), optional
        Group of each case.
    estimand : {"case", "group"}
        What the mean is of.
    bounds : tuple of float
        Lowest and highest possible value, such as (0, 1) for a share.
    confidence : float
        Of the interval, which has the number of groups − 1 as degrees of freedom. Within finite
        ``bounds``, groups that are all alike (nothing was missed) have the exact interval of as
        many independent groups; ``method`` says so.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> wrong, patient = [1, 1, 1, 1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1, 2, 2, 3]
    >>> for estimand in ("case", "group"):
    ...     print(clustered_mean(wrong, patient, estimand=estimand, bounds=(0, 1)))
    0.556 (95 % interval 0.033 to 0.978)
    0.375 (95 % interval 0.023 to 0.939)
    """
    check_confidence(confidence)
    if estimand not in ESTIMANDS:
        raise ValueError(
            "`estimand` must be 'case' (a random case) or 'group' (a random group, all counting "
            f"the same); got {estimand!r}"
        )
    values, groups = same_rows(values=values, groups=groups)
    x = as_scores(values, "values").astype(float)
    if not bounds[0] <= x.min() <= x.max() <= bounds[1]:
        raise ValueError(
            f"`values` must lie within `bounds` {bounds}; they range from {x.min():.4g} to "
            f"{x.max():.4g}"
        )
    code, n = group_codes(groups, len(x))
    if n < 2:
        raise ValueError(
            f"a t-interval needs at least 2 groups; got {n}. One group says nothing about the "
            "spread"
        )
    return mean_over_groups(x, code, confidence, estimand=estimand, bounds=bounds)
