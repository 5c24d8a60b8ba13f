"""Monotone maps of probabilities, fitted to outcomes: isotonic, and logistic in log p and log(1 −
p).
"""

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
class LogisticMap:
    """σ(a + b · log p − c · log(1 − p)): the identity at a = 0, b = c = 1."""

    a: float = 0.0
    b: float = 1.0
    c: float = 1.0

    def __call__(self, p: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        up, down = _logs(p)
        return np.asarray(expit(self.a + self.b * up - self.c * down))


KINDS = {
    "temperature": np.array([[0.0], [1.0], [1.0]]),
    "platt": np.array([[1.0, 0], [0, 1], [0, 1]]),
    "beta": np.eye(3),
}
"""How the free parameters of each kind of logistic map make up (a, b, c)."""


def fit_logistic(
    p: np.ndarray,
    y: np.ndarray,
    kind: str,
    *,
    members: np.ndarray | None = None,
    prior_sd: float = 1.0,
) -> LogisticMap:
    r"""The map under which the *mean* over the members has the highest likelihood.

    .. math:: \min\ -\sum_i \big[ y_i \log P_i + (1 - y_i) \log(1 - P_i) \big] + \frac{|\beta - \beta_0|^2}{2 \sigma^2}, \qquad
              P_i = \sum_m v_m\, \sigma(a + b \log p_{mi} - c \log(1 - p_{mi}))

    β₀ is the identity, and the prior has the weight of a single outcome's log-likelihood.

    Parameters
    ----------
    p : array (M, N)
        Probabilities of the members.
    y : array (N,)
        Outcomes, or shares of outcomes. With one member, values outside [0, 1] are a
        quasi-likelihood.
    kind : {"temperature", "platt", "beta"}
    members : array (M, 1) or (M, N), optional
        Weights of the members, summing to 1.
    prior_sd : float
        σ of each parameter.
    """  # noqa: E501
    from scipy.optimize import minimize

    up, down = _logs(p)
    design = (
        np.stack([np.ones_like(up), up, -down]).transpose(1, 2, 0) @ KINDS[kind]
    )  # (M, N, parameters)
    start = np.linalg.lstsq(KINDS[kind], np.array([0.0, 1.0, 1.0]), rcond=None)[0]
    log_v = np.log(
        np.maximum(np.full((len(p), 1), 1 / len(p)) if members is None else members, TINY)
    )

    def objective(beta: np.ndarray) -> tuple[float, np.ndarray]:
        eta = design @ beta
        yes, no = -np.logaddexp(0, -eta), -np.logaddexp(0, eta)  # log σ(η) and log σ(−η)
        log_p, log_q = (np.logaddexp.reduce(log_v + x, axis=0) for x in (yes, no))
        slope = y * np.exp(log_v + yes - log_p + no) - (1 - y) * np.exp(log_v + no - log_q + yes)
        away = (beta - start) / prior_sd
        value = -np.sum(y * log_p + (1 - y) * log_q) + np.sum(away**2) / 2
        return float(value), np.asarray(away / prior_sd - np.einsum("mn,mnp->p", slope, design))

    # slopes are not negative, so that the map does not fall; the intercept is free
    bounds = [
        (None, None) if kind != "temperature" and i == 0 else (0, None) for i in range(len(start))
    ]
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8},
    )
    a, b, c = KINDS[kind] @ found.x
    return LogisticMap(float(a), float(b), float(c))


def _logs(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log p and log(1 − p); 0 and 1 are moved by the smallest number that makes both finite."""
    p = np.asarray(p, float)
    return np.log(np.maximum(p, TINY)), np.log(np.maximum(1 - p, np.finfo(float).eps / 2))
