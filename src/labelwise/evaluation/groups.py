"""Means of cases that come in groups, with a named estimand."""

from __future__ import annotations

from math import inf
from typing import Any

from .._frames import same_rows
from .._resampling import (
    Bounds,
    Estimate,
    check_confidence,
    group_codes,
    mean_over_groups,
)
from .._validation.arguments import check_choice
from .._validation.labels import as_scores

ESTIMANDS = ("case", "group")


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
    check_choice(estimand, "estimand", ESTIMANDS)
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
