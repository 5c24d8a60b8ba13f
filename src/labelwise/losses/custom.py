"""Custom losses, and the test whether they are proper."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan
from typing import ClassVar

import numpy as np

from .._arrays import Array, Pair, like, namespace, not_negative, smallest
from .._errors import InputError
from .._tables import Check
from .base import Loss, loss_of_outcome, with_complement, with_complements


@dataclass(frozen=True, repr=False)
class CustomLoss(Loss):
    r"""A custom loss φ(forecast, y); must be proper with a nonnegative entropy.

    ``phi`` is called with an array of forecasts strictly inside (0, 1) and y = 0 or 1. It is
    checked on NumPy arrays; to serve PyTorch and JAX too, write it with operators, or with the
    functions of ``array_api_compat.array_namespace(forecast)``. EU is accurate to 1e-9 TU if
    ``phi`` is accurate for small forecasts (log1p(-f), not log(1 - f)); forecasts within rounding
    error of 1 are all alike to it.

    >>> weighted = CustomLoss(lambda f, y: 4 * (1 - f) ** 2 if y else 4 * f**2)
    >>> float(weighted.entropy(0.5))
    1.0
    """

    function: Callable[[Array, int], Array]
    name: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        if isinstance(self.function, Loss):
            raise TypeError(
                f"`phi` must be a function φ(forecast, y); got a {type(self.function).__name__}, "
                "which is already a loss"
            )
        report = check_proper(self.function)
        if not report.ok:
            raise InputError(f"`phi` must be a proper loss; it is {report}")
        edge = 10.0 ** np.arange(-12, -2)
        t = np.concatenate([edge, np.linspace(0.01, 0.99, 99), 1 - edge])
        entropy = np.asarray(t * self.function(t, 1) + (1 - t) * self.function(t, 0))
        if entropy.min() < -1e-12:
            raise InputError(
                "`phi` must have an entropy φ(t, t) that is never negative; it is "
                f"{entropy.min():.4g} at t = {t[entropy.argmin()]:.4g}. "
                "Add a constant to it"
            )

    def __repr__(self) -> str:
        """By the name of the function, which is the same in every process; where it is in memory is
        not.
        """
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"CustomLoss({name.strip('<>')})"

    def phi(self, forecast: Array, y: int) -> Array:
        return loss_of_outcome(y, self.function(forecast, 1), self.function(forecast, 0))

    @cached_property
    def _losses_when_right(self) -> tuple[float, float]:
        """φ(1, 1) and φ(0, 0), the losses of a forecast that was certain and right; NaN or infinite
        where the function does not give them.
        """
        losses = {1: nan, 0: nan}
        for y in losses:
            with np.errstate(all="ignore"), suppress(ArithmeticError, ValueError):
                losses[y] = float(np.asarray(self.function(np.asarray([float(y)]), y), float)[0])
        return losses[1], losses[0]

    def _partial_losses(self, t: Array, c: Array) -> Pair:
        """φ(t, 1) and φ(t, 0), forecasts of 0 and 1 replaced by the nearest number inside where φ
        may be infinite.
        """
        xp = namespace(t)
        tiny, half_eps = smallest(t)
        forecast = xp.where(t <= c, t, 1 - c)  # c is more accurate there
        inside = xp.clip(forecast, tiny, 1 - half_eps)
        one, zero = self.function(inside, 1), self.function(inside, 0)
        one_when_right, zero_when_right = self._losses_when_right
        if isfinite(one_when_right):
            one = xp.where(forecast > 1 - half_eps, like(one_when_right, t), one)
        if isfinite(zero_when_right):
            zero = xp.where(forecast <= 0, like(zero_when_right, t), zero)
        return one, zero

    def entropy(self, t: Array, c: Array = None) -> Array:
        t, c = with_complement(t, c)
        one, zero = self._partial_losses(t, c)
        return not_negative(t * one + c * zero)

    def divergence(
        self, t: Array, m: Array, c: Array = None, mc: Array = None, d: Array = None
    ) -> Array:
        t, m, c, mc, d = with_complements(t, m, c, mc, d)
        (one, zero), (one_m, zero_m) = self._partial_losses(t, c), self._partial_losses(m, mc)
        extra = not_negative(t * (one_m - one) + c * (zero_m - zero))
        return namespace(t).where(d == 0, 0 * extra, extra)

    @cached_property
    def kink(self) -> Array | None:
        """Where the slope of the entropy, φ(t, 1) − φ(t, 0), jumps: the largest jump between 0.001
        and 0.999, found by bisection; or ``None``.
        """

        def slope(t: np.ndarray) -> np.ndarray:
            return np.asarray(self.function(t, 1) - self.function(t, 0) + 0 * t, float)

        ends = np.linspace(0.001, 0.999, 999)
        low, high = ends[:-1], ends[1:]
        # until the ends are neighbors: what is smooth no longer changes between them
        for _ in range(50):
            middle = (low + high) / 2
            at_middle = slope(middle)
            left = np.abs(slope(low) - at_middle) >= np.abs(at_middle - slope(high))
            low, high = np.where(left, low, middle), np.where(left, middle, high)
        jump = np.abs(slope(high) - slope(low))
        at = jump.argmax()
        if jump[at] <= 1e-6 * np.max(np.abs(slope(high))):
            return None
        return np.asarray(high[at])


@dataclass(frozen=True)
class ProperCheck(Check):
    """Whether a loss is proper; if not, the truth at which another forecast does better."""

    ok: bool
    """Whether it is proper."""
    strict: bool
    """Whether the truth is the only best forecast."""
    truth: float | None = None
    forecast: float | None = None
    honest_loss: float | None = None
    best_loss: float | None = None

    def __str__(self) -> str:
        if self.strict:
            return "strictly proper: the true probability is the only best forecast"
        place = (
            f"when the truth is {self.truth:.6g}, forecasting {self.forecast:.6g} costs "
            f"{self.best_loss:.6g} "
            f"and the truth itself {self.honest_loss:.6g}"
        )
        if self.ok:
            return f"proper, not strictly: {place}"
        return f"not proper: {place}"


def check_proper(loss: Loss | Callable[[Array, int], Array]) -> ProperCheck:
    r"""Decide numerically whether a loss is (strictly) proper, and show where it fails.

    For truths θ over the whole unit interval, the expected loss φ(f, θ) of Eq. (7) is compared with
    φ(θ, θ) for forecasts f far from θ and as close as 1e-5; a smaller deviation of the optimum
    cannot be seen in double precision, and a loss that is flat to rounding error somewhere counts
    as not strictly proper.

    >>> print(check_proper(lambda f, y: abs(f - y)))
    not proper: when the truth is 0.25, forecasting 1e-06 costs 0.250001 and the truth itself 0.375
    >>> check_proper(lw.ZeroOneLoss()).ok, check_proper(lw.ZeroOneLoss()).strict
    (True, False)
    """
    function = loss.phi if isinstance(loss, Loss) else loss
    if not callable(function):
        raise TypeError(f"`phi` must be a function φ(forecast, y), or a Loss; got {loss!r}")
    edge = 10.0 ** np.arange(-6, -2)
    truth = np.concatenate([np.linspace(0.005, 0.995, 199), edge, 1 - edge])[:, None]
    grid = np.concatenate([np.linspace(0, 1, 402)[1:-1], edge, 1 - edge])
    steps = np.outer([1, -1], 10.0 ** np.arange(-5, 0)).ravel()
    near = truth + steps * np.minimum(truth, 1 - truth)
    forecast = np.concatenate([np.broadcast_to(grid, (truth.size, grid.size)), near], axis=1)

    def losses(f: np.ndarray, y: int) -> np.ndarray:
        try:
            values = np.asarray(function(f, y), float)
        except Exception as error:
            raise TypeError(
                "`phi` must be a function φ(forecast, y) of an array of forecasts and y = 0 or 1; "
                "called with a NumPy array it failed: "
                f"{error}. Use operators, or the functions of "
                "array_api_compat.array_namespace(forecast)"
            ) from error
        if values.shape != f.shape:
            raise InputError(
                f"`phi` must return one loss per forecast; got shape {values.shape} for forecasts "
                f"of shape {f.shape}"
            )
        if not np.all(np.isfinite(values)):
            raise InputError(
                "`phi` must be finite for forecasts strictly between 0 and 1; got NaN or infinity"
            )
        return values

    def risk(f: np.ndarray) -> np.ndarray:
        return truth * losses(f, 1) + (1 - truth) * losses(f, 0)

    with np.errstate(all="ignore"):
        honest, other = risk(truth), risk(forecast)
    gain = honest - other
    rounding = 4e-15 * float(np.median(np.abs(other)))  # of φ itself, e.g. of 1 − f/‖f‖
    shown = gain > 1e-11 * np.maximum(np.abs(honest), np.abs(other)) + rounding
    proper = not shown.any()
    if proper:
        apart = (np.abs(forecast - truth) > 0.02) & (np.abs(truth - 0.5) < 0.49)
        shown = apart & (gain >= -rounding)  # as good as the truth
        if not shown.any():
            return ProperCheck(True, True)
    i, j = np.unravel_index(np.where(shown, gain, -np.inf).argmax(), gain.shape)
    place = float(truth[i, 0]), float(forecast[i, j])
    return ProperCheck(proper, False, *place, float(honest[i, 0]), float(other[i, j]))
