"""How far realized outcomes are from their expectation, with an interval that is right for rare
outcomes too.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import Any

import numpy as np

from .._resampling import (
    Bounds,
    Estimate,
    check_confidence,
    group_codes,
    mean_over_groups,
    t_quantile,
)
from .._validation.labels import as_scores

ROUNDING = 1e-12
"""Differences below this share of the largest possible outcome are none."""


def mean_excess(
    realized: Any, expected: Any, *, bounds: Bounds, groups: Any = None, confidence: float = 0.95
) -> Estimate:
    r"""Mean of ``realized`` − ``expected``: accuracy against confidence, paid against expected
    cost.

    A t-interval is too narrow where an outcome that matters was not seen: of 50 cases that all went
    well it says that nothing ever goes wrong. Each end is therefore the farther of Student's t and
    of Wilson's interval, extended from shares to bounded numbers. An end at distance :math:`\delta`
    supposes that a share :math:`\delta / R` of the cases turns out as extreme as ``bounds`` allow,
    at a distance R from the mean. Their variance is then :math:`(1 - \delta / R)(s^2 + \delta R)`,
    and :math:`\delta` is t standard errors if

    .. math:: \delta^2\, n / t^2 = (1 - \delta / R)\, (s^2 + \delta R)

    With groups, n is divided by the design effect, and t has the number of groups − 1 as degrees of
    freedom.

    Parameters
    ----------
    realized, expected : array (N,)
        What each case turned out to be, and what was expected of it.
    bounds : tuple of float
        Lowest and highest value that ``realized`` can have.
    groups : array (N,), optional
        Cases of a group may depend on each other.
    confidence : float

    Returns
    -------
    Estimate
        Without an interval (NaN) for a single case or group.

    All were right, 98 % were expected to be, which can happen:

    >>> print(mean_excess(np.ones(50), np.full(50, 0.98), bounds=(0, 1)))
    0.020 (95 % interval -0.055 to 0.020)
    """
    check_confidence(confidence)
    outcome = as_scores(realized, "realized").astype(float)
    difference = outcome - as_scores(expected, "expected").astype(float)
    rounding = ROUNDING * max(abs(bounds[0]), abs(bounds[1]))
    difference = np.where(np.abs(difference) <= rounding, 0.0, difference)
    code, units = group_codes(groups, len(difference))
    if units < 2:
        return Estimate(float(difference.mean()), nan, nan, confidence, "none")
    by_t = mean_over_groups(difference, code, confidence)
    t = float(t_quantile(units - 1, confidence))
    se = float(difference.std(ddof=1)) / sqrt(len(difference))  # as if the cases were independent
    n = float(len(difference))
    se_of_groups = (float(by_t.high) - float(by_t.low)) / (2 * t)
    if se > rounding:  # the number of independent cases that would say as much
        n /= max((se_of_groups / se) ** 2, 1)
    else:
        n = units  # where nothing varies, nobody knows, and each group counts once
    se = max(se, se_of_groups)
    mean = float(difference.mean())
    middle = float(outcome.mean())
    low, high = float(by_t.low), float(by_t.high)
    if middle - bounds[0] > rounding:
        low = min(low, mean - _wilson_distance(n, n * se**2, t, middle - bounds[0]))
    if bounds[1] - middle > rounding:
        high = max(high, mean + _wilson_distance(n, n * se**2, t, bounds[1] - middle))
    return Estimate(mean, low, high, confidence, f"{by_t.method}; Wilson for bounded numbers")


def _wilson_distance(n: float, variance: float, t: float, reach: float) -> float:
    """The distance δ of the docstring above: the positive root of a quadratic equation; ``reach``
    is R.
    """
    square = n / t**2 + 1
    linear = reach - variance / reach
    return (linear + sqrt(linear**2 + 4 * square * variance)) / (2 * square)
