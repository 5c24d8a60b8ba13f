"""How far probabilities are off, in which direction, and a test whether that is acceptable."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from operator import itemgetter
from typing import Any

import numpy as np

from .._arrays import quotient
from .._format import count, percent, points
from .._resampling import Estimate, check_replicates
from .._tables import Check, counted
from ..evaluation._excess import mean_excess
from ..evaluation._forecasts import accuracy_and_confidence
from .errors import BinnedErrors

BINNINGS = (1, 3, 10)
CLASS_FACTOR = 10
"""How much more of a class's expected cases may be misplaced than of the top label's."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCheck(Check):
    """How far probabilities are off, and whether that exceeds the tolerances; returned by
    `check_calibration`.
    """

    ok: bool
    """Whether the errors are not shown to exceed the tolerances. This does not mean that there are
    none.
    """
    overconfidence: Estimate
    """Expected minus observed accuracy: positive if over-confident, negative if under-confident."""
    accuracy: float
    """Share of instances that are right (multi-label: of labels)."""
    expected: float
    """The same share as the probabilities have it."""
    ece: float
    """Calibration error of the top label (NaN for multi-label data)."""
    at_least: float
    """Lower confidence bound of ``ece``."""
    classes: dict[str, float]
    """Badly calibrated classes, each with a lower bound on the share of its expected cases that are
    misplaced.
    """
    tolerance: float
    n: int

    @property
    def sentence(self) -> str:
        """The direction and size of the error, and what exceeds the tolerances."""
        labels = "the labels of " if np.isnan(self.ece) else ""
        among = f"{labels}{counted(self.n, 'instance')}"
        confidence = confidence_sentence(self.overconfidence, self.accuracy, self.expected, among)
        return " ".join([confidence, *self.problems])

    @property
    def problems(self) -> list[str]:
        """A sentence on what exceeds the tolerances, if anything does."""
        if self.ok:
            return []
        problems = []
        if self.at_least > self.tolerance:
            problems.append(
                f"the top label's probability is off by {points(self.ece)} percentage points on "
                f"average (at least {points(self.at_least)})"
            )
        if self.classes:
            worst, misplaced = max(self.classes.items(), key=itemgetter(1))
            problems.append(
                f"the probability of {', '.join(map(repr, self.classes))} does not say how often "
                f"it happens (for {worst!r} at least "
                f"{count(100 * misplaced)} of 100 expected cases are misplaced)"
            )
        return [f"Badly calibrated: {'; '.join(problems)}."]

    def __str__(self) -> str:
        if self.ok:
            return self.sentence
        advice = "Recalibrate on held-out data: lw.calibration.fit_calibration(q, y_true)."
        return f"{self.sentence} {advice}"


def mean_overconfidence(
    accuracy: np.ndarray, confidence: np.ndarray, groups: Any = None, level: float = 0.95
) -> Estimate:
    """Mean of ``confidence`` − ``accuracy`` over the instances, with an interval of confidence
    ``level``.
    """
    errors, expected = 1 - accuracy, 1 - confidence
    return mean_excess(errors, expected, bounds=(0.0, 1.0), groups=groups, confidence=level)


def confidence_sentence(
    overconfidence: Estimate, accuracy: float, expected: float, among: str
) -> str:
    """Direction, size and interval of the difference between expected and observed accuracy.

    >>> shown = confidence_sentence(Estimate(-0.075, -0.09, -0.06), 0.868, 0.793, "2,000 cases")
    >>> print(shown.partition(":")[0])
    Under-confident by 7.5 percentage points (95 % interval 6.0 to 9.0)
    """
    shares = f"{percent(accuracy)} right, {percent(expected)} expected, of {among}"
    value, low, high = overconfidence.value, overconfidence.low, overconfidence.high
    if np.isnan(low):
        return f"{shares}."
    interval = f"{100 * overconfidence.confidence:g} % interval"
    if low <= 0 <= high:
        return (
            f"{shares}: chance can explain the difference ({interval}: {points(-low)} percentage "
            "points under-confident "
            f"to {points(high)} over-confident)."
        )
    direction = "Over" if value > 0 else "Under"
    nearest, farthest = sorted((abs(low), abs(high)))
    size = (
        f"{points(abs(value))} percentage points ({interval} {points(nearest)} to "
        f"{points(farthest)})"
    )
    return f"{direction}-confident by {size}: {shares}."


def check_calibration(
    q: Any,
    y_true: Any,
    *,
    tolerance: float = 0.05,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> CalibrationCheck:
    """Test whether probabilities are too badly calibrated to base decisions on.

    No model is perfectly calibrated, and enough data always show it. The test therefore asks
    whether the error exceeds what is acceptable: ``tolerance`` for the top label (0.05: five
    percentage points), or ten times ``tolerance`` of the expected cases of a class (half of the
    probability assigned to the class is misplaced, even if it is rare). Errors are computed in 1, 3
    and 10 bins of equal mass: few bins have little noise and reveal general overconfidence, many
    reveal the rest, and no binning overstates the error. The lower bounds hold simultaneously with
    probability ``confidence``, so calibrated predictions are flagged at most 5 % of the time at the
    default level. Without sufficient evidence the result is negative, which does not show that the
    probabilities are right: the sentence tells how far the mean probability of the prediction is
    from the accuracy, with its interval. False alarms in simulations were 0 % with the default
    tolerance; without any tolerance at most 5 % for independent instances, and 9 % with 40 or 10
    groups.
    Instances that belong to groups which are not given raise false alarms most of the time.
    Memory: as `calibration_errors`, and some errors (``n_bootstrap``, 3, K).

    Parameters
    ----------
    q, y_true, groups
        As for `calibration_errors`.
    tolerance : float
        Acceptable error.
    confidence, n_bootstrap, rng
        Confidence level, number of replicates (at least 2), and their random seed or generator.

    Returns
    -------
    CalibrationCheck
        ``.ok`` is false if badly calibrated; prints as a sentence with the size and direction of
        the error.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=400)
    >>> y = np.array([rng.choice(3, p=row) for row in p])
    >>> print(str(check_calibration(p, y, rng=0)).partition("(")[0])
    58.5 % right, 60.3 % expected, of 400 instances: chance can explain the difference
    >>> sharper = p**4 / (p**4).sum(axis=1, keepdims=True)
    >>> check_calibration(sharper, y, rng=0).ok
    False
    """
    if not (isinstance(tolerance, int | float) and tolerance >= 0):
        raise ValueError(f"`tolerance` must be a number, not negative; got {tolerance!r}")
    check_replicates(n_bootstrap, required=True)
    errors = BinnedErrors(q, y_true, BINNINGS, True, groups, n_bootstrap, confidence, rng)
    # The error of the top label as it is, those of the classes relative to their expected cases.
    expected_share = errors.p.mean(axis=0)
    if errors.exclusive:
        expected_share = np.append(1.0, expected_share)
    value, noise, null = (
        quotient(x, expected_share, 0) for x in (errors.value, errors.noise, errors.null)
    )
    low = _lower_bounds_of_miscalibration(value, [noise, null], confidence).max(axis=0)
    ece, at_least = nan, 0.0
    if errors.exclusive:
        ece, at_least = float(errors.value[-1, 0]), float(low[0])
        low = low[1:]
    classes = {}
    for name, misplaced in zip(errors.class_names, low.tolist(), strict=True):
        if misplaced > CLASS_FACTOR * tolerance:
            classes[name] = misplaced
    right, expected = accuracy_and_confidence(errors.p, errors.outcomes, errors.exclusive)
    return CalibrationCheck(
        not at_least > tolerance and not classes,
        mean_overconfidence(right, expected, errors.groups, confidence),
        float(right.mean()),
        float(expected.mean()),
        ece,
        at_least,
        classes,
        tolerance,
        errors.n,
    )


def _lower_bounds_of_miscalibration(
    value: np.ndarray, noises: list[np.ndarray], confidence: float
) -> np.ndarray:
    """Simultaneous lower bounds, from the largest noise in units of its own 95 % quantile."""
    bounds = []
    for noise in noises:
        scale = np.quantile(noise, 0.95, axis=0)
        largest = np.max(quotient(noise, scale, 0), axis=(1, 2))
        bounds.append(scale * max(1.0, np.quantile(largest, confidence)))
    return np.maximum(value - np.maximum(*bounds), 0)
