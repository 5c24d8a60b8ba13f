"""Monotone maps of probabilities, fitted to outcomes: isotonic, and a slope of the logit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A nondecreasing function, linear between its knots and constant outside them."""

    x: np.ndarray
    y: np.ndarray

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(np.interp(p, self.x, self.y))


def fit_isotonic(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> IsotonicMap:
    """The nondecreasing function of ``x`` with the least (weighted) squared error; equal ``x`` have
    equal values.

    >>> fit_isotonic(np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.1, 0.9]))(np.array([0.0, 2.0, 2.5])).round(3)
    array([0.15 , 0.15 , 0.525])
    """  # noqa: E501
    from scipy.optimize import isotonic_regression

    w = np.ones_like(x, float) if weights is None else weights
    knots, which = np.unique(x, return_inverse=True)
    size, sums = np.bincount(which, w), np.bincount(which, w * y)
    used = size > 0
    if not used.any():
        raise ValueError("an isotonic map needs at least one value of positive weight")
    knots, mean = knots[used], sums[used] / size[used]
    fitted = isotonic_regression(mean, weights=size[used])
    ends = np.stack(
        [fitted.blocks[:-1], fitted.blocks[1:] - 1], axis=1
    ).ravel()  # between the ends of a block the function is constant
    ends = ends[np.append(True, ends[1:] > ends[:-1])]
    return IsotonicMap(knots[ends], fitted.x[ends])


@dataclass(frozen=True, eq=False)
class LogitMap:
    """σ(slope · logit p): the probability at the temperature 1 / slope."""

    slope: float

    def __call__(self, p: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return np.asarray(expit(self.slope * _logits(p)))


def fit_slope(
    p: np.ndarray, y: np.ndarray, *, members: np.ndarray | None = None, prior_sd: float = 1.0
) -> LogitMap:
    r"""The map under which the *mean* over the members has the highest likelihood.

    .. math:: \min\ -\sum_i \big[ y_i \log P_i + (1 - y_i) \log(1 - P_i) \big] + \frac{(b - 1)^2}{2 \sigma^2}, \qquad
              P_i = \sum_m v_m\, \sigma(b\, \mathrm{logit}\, p_{mi})

    The prior has the weight of a single outcome's log-likelihood.

    Parameters
    ----------
    p : array (M, N)
        Probabilities of the members.
    y : array (N,)
        Outcomes.
    members : array (M, 1) or (M, N), optional
        Weights of the members, summing to 1.
    prior_sd : float
        σ of the slope b.
    """  # noqa: E501
    from scipy.optimize import minimize

    logits = _logits(p)
    weights = np.full((len(p), 1), 1 / len(p)) if members is None else members
    log_v = np.log(np.maximum(weights, TINY))

    def objective(slope: np.ndarray) -> tuple[float, np.ndarray]:
        eta = slope * logits
        yes, no = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)  # log σ(η) and log σ(−η)
        log_p, log_q = (np.logaddexp.reduce(log_v + x, axis=0) for x in (yes, no))
        rise = y * np.exp(log_v + yes - log_p + no) - (1 - y) * np.exp(log_v + no - log_q + yes)
        away = (slope - 1) / prior_sd
        value = -np.sum(y * log_p + (1 - y) * log_q) + np.sum(away**2) / 2
        return float(value), np.asarray(away / prior_sd - np.sum(rise * logits))

    found = minimize(
        objective,
        np.ones(1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)],  # so that the map does not fall
        options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8},
    )
    return LogitMap(float(found.x[0]))


def _logits(p: np.ndarray) -> np.ndarray:
    """log p − log(1 − p); 0 and 1 are moved by the smallest number that makes both finite."""
    p = np.asarray(p, float)
    up, down = np.maximum(p, TINY), np.maximum(1 - p, np.finfo(float).eps / 2)
    return np.asarray(np.log(up) - np.log(down))
