"""The test behind the warning "these probabilities cannot be used as they are"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import as_rng
from .errors import Judged

BINNINGS = (1, 3, 10)


@dataclass(frozen=True, eq=False)
class CalibrationCheck:
    """Whether probabilities are so wrong that decisions should not be based on them; made by `check_calibration`."""

    badly_calibrated: bool
    ece: float
    """Calibration error of the top label (NaN where several labels may be true)."""
    at_least: float
    """It is at least this large, at the level of confidence asked for."""
    p_value: float
    """How often perfect probabilities would show an ECE as large as this one."""
    classes: dict[str, float]
    """Classes that are badly calibrated on their own, with the share of their expected cases that is at least misplaced."""
    tolerance: float
    n: int

    def __bool__(self) -> bool:
        """Whether the probabilities are badly calibrated."""
        return self.badly_calibrated

    def __str__(self) -> str:
        if not self.badly_calibrated:
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
        return f"Badly calibrated: {'; '.join(parts)}. Recalibrate on held-out data: lw.calibration.fit_temperature(q, y_true)."


def check_calibration(
    q: Any,
    y_true: Any,
    *,
    rng: int | np.random.Generator,
    tolerance: float = 0.05,
    class_tolerance: float = 0.5,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
) -> CalibrationCheck:
    """Are these probabilities too wrong to decide with?

    Not "are they perfect", which enough data always deny, but whether the data show that they are off by more than one can live
    with: the top label by more than ``tolerance`` (0.05: five percentage points), or a class by more than ``class_tolerance`` of
    the cases it expects (0.5: half of the probability given to the class is in the wrong place, however rare it is). The errors are
    taken in 1, 3 and 10 bins of equal mass: few bins have little noise and show general over-confidence, many show the rest, and none
    overstates the error. All lower bounds hold together with probability ``confidence``, so calibrated predictions are called
    bad in at most 5 % of the cases; where the data cannot show it, the answer is no.

    Parameters
    ----------
    q : distribution, or array (N, K)
        Its mean prediction is judged.
    y_true : array (N,) or bool array (N, K)
        True classes (names or positions; integers are names where all class names are integers), or for each label whether it happened.
    rng : int or Generator
        The seed.
    tolerance, class_tolerance : float
        What one can live with.
    groups : array (N,), optional
        What belongs together (patients).
    confidence, n_bootstrap
        Level and number of replicates.

    Returns
    -------
    CalibrationCheck
        True in a condition if badly calibrated; prints as a sentence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=400)
    >>> y = np.array([rng.choice(3, p=row) for row in p])
    >>> print(check_calibration(p, y, rng=0))
    No sign of bad calibration in 400 instances.
    >>> sharper = p**4 / (p**4).sum(axis=1, keepdims=True)
    >>> bool(check_calibration(sharper, y, rng=0))
    True
    """
    for name, x in (("tolerance", tolerance), ("class_tolerance", class_tolerance)):
        if isinstance(x, bool) or not isinstance(x, int | float) or not x >= 0:
            raise ValueError(f"`{name}` must be a number, not negative; got {x!r}")
    judged = Judged(q, y_true, BINNINGS, True, groups, n_bootstrap, confidence, as_rng(rng))
    tested = np.r_[0, 2 + judged.k : 2 + 2 * judged.k]  # the top label, and each class in relation to the cases expected
    low = _together(judged.value[:, tested], [x[..., tested] for x in (judged.noise, judged.null)], confidence).max(axis=0)
    finest = judged.value[-1, 0]
    classes = {name: float(x) for name, x in zip(judged.class_names, low[1:], strict=True) if x > class_tolerance}
    p_value = float((1 + np.sum(judged.null[:, -1, 0] >= finest)) / (1 + len(judged.null))) if judged.exclusive else float("nan")
    return CalibrationCheck(bool(low[0] > tolerance) or bool(classes), float(finest), float(low[0]), p_value, classes, tolerance, judged.n)


def _together(value: np.ndarray, noises: list[np.ndarray], confidence: float) -> np.ndarray:
    """Lower bounds that hold all at once: the noise of each is measured by its own 95 % quantile, and their largest decides."""
    bounds = []
    for noise in noises:
        noise = np.where(np.isnan(noise), 0, noise)
        scale = np.quantile(noise, 0.95, axis=0)
        largest = np.max(noise / np.where(scale > 0, scale, np.inf), axis=(1, 2))
        bounds.append(scale * max(1.0, float(np.quantile(largest, confidence))))
    return np.asarray(np.where(np.isnan(value), 0, np.maximum(value - np.maximum(*bounds), 0)))
