"""A statistical test for badly calibrated probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import Check
from .._resampling import check_replicates
from .errors import BinnedErrors

BINNINGS = (1, 3, 10)


@dataclass(frozen=True, eq=False)
class CalibrationCheck(Check):
    """Whether probabilities are too badly calibrated to base decisions on, returned by `check_calibration`."""

    ok: bool
    """Whether no sign of bad calibration was found."""
    ece: float
    """Calibration error of the top label (NaN for multi-label data)."""
    at_least: float
    """Lower confidence bound of ``ece``."""
    p_value: float
    """Probability of an ECE at least this large if the probabilities were perfect."""
    classes: dict[str, float]
    """Badly calibrated classes, each with a lower bound on the share of its expected cases that are misplaced."""
    tolerance: float
    n: int

    def __str__(self) -> str:
        if self.ok:
            return f"No sign of bad calibration in {self.n} instances."
        parts = []
        if self.at_least > self.tolerance:
            parts.append(
                f"the top label's probability is off by {100 * self.ece:.1f} percentage points on average (at least {100 * self.at_least:.1f})"
            )
        if self.classes:
            worst = max(self.classes, key=lambda name: self.classes[name])
            parts.append(
                f"the probability of {', '.join(map(repr, self.classes))} does not say how often it happens (for {worst!r} at least "
                f"{100 * self.classes[worst]:.0f} of 100 expected cases are misplaced)"
            )
        return f"Badly calibrated: {'; '.join(parts)}. Recalibrate on held-out data: lw.calibration.fit_calibration(q, y_true)."


def check_calibration(
    q: Any,
    y_true: Any,
    *,
    tolerance: float = 0.05,
    class_tolerance: float = 0.5,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> CalibrationCheck:
    """Test whether probabilities are too badly calibrated to base decisions on.

    No model is perfectly calibrated, and enough data always show it. The test therefore asks whether the error exceeds what is
    acceptable: ``tolerance`` for the top label (0.05: five percentage points), or ``class_tolerance`` of the expected cases of a
    class (0.5: half of the probability assigned to the class is misplaced, even if it is rare). Errors are computed in 1, 3 and 10
    bins of equal mass: few bins have little noise and reveal general overconfidence, many reveal the rest, and no binning overstates
    the error. The lower bounds hold simultaneously with probability ``confidence``, so calibrated predictions are flagged at
    most 5 % of the time at the default level. Without sufficient evidence the result is negative. False alarms in simulations were 0 % with
    the default tolerances; without any tolerance 5 % for independent instances, and 9 % with 40 or 10 groups. Instances that belong to groups which
    are not given raise false alarms most of the time.

    Parameters
    ----------
    q, y_true, groups
        As for `calibration_errors`.
    tolerance, class_tolerance : float
        Acceptable errors.
    confidence, n_bootstrap, rng
        Confidence level, number of replicates (at least 2), and their random seed or generator.

    Returns
    -------
    CalibrationCheck
        ``.ok`` is false if badly calibrated; prints as a sentence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=400)
    >>> y = np.array([rng.choice(3, p=row) for row in p])
    >>> print(check_calibration(p, y, rng=0))
    No sign of bad calibration in 400 instances.
    >>> sharper = p**4 / (p**4).sum(axis=1, keepdims=True)
    >>> check_calibration(sharper, y, rng=0).ok
    False
    """
    for name, x in (("tolerance", tolerance), ("class_tolerance", class_tolerance)):
        if isinstance(x, bool) or not isinstance(x, int | float) or not x >= 0:
            raise ValueError(f"`{name}` must be a number, not negative; got {x!r}")
    errors = BinnedErrors(q, y_true, BINNINGS, True, groups, check_replicates(n_bootstrap, required=True), confidence, rng)
    tested = np.r_[0, 2 + errors.k : 2 + 2 * errors.k]  # the top label, and each class relative to its expected cases
    low = _together(errors.value[:, tested], [x[..., tested] for x in (errors.noise, errors.null)], confidence).max(axis=0)
    finest = errors.value[-1, 0]
    classes = {name: float(x) for name, x in zip(errors.class_names, low[1:], strict=True) if x > class_tolerance}
    p_value = float((1 + np.sum(errors.null[:, -1, 0] >= finest)) / (1 + len(errors.null))) if errors.exclusive else float("nan")
    ok = not low[0] > tolerance and not classes
    return CalibrationCheck(bool(ok), float(finest), float(low[0]), p_value, classes, tolerance, errors.n)


def _together(value: np.ndarray, noises: list[np.ndarray], confidence: float) -> np.ndarray:
    """Simultaneous lower bounds, from the largest noise in units of its own 95 % quantile."""
    bounds = []
    for noise in noises:
        noise = np.where(np.isnan(noise), 0, noise)
        scale = np.quantile(noise, 0.95, axis=0)
        largest = np.max(noise / np.where(scale > 0, scale, np.inf), axis=(1, 2))
        bounds.append(scale * max(1.0, float(np.quantile(largest, confidence))))
    return np.asarray(np.where(np.isnan(value), 0, np.maximum(value - np.maximum(*bounds), 0)))
