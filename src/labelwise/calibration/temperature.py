"""Temperature scaling: recalibrate probabilities with one parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import (
    Array,
    as_floating,
    check_finite,
    like,
    namespace,
    smallest,
    to_numpy,
    values_known,
)
from .._frames import same_rows
from .._labels import as_labels
from ..distributions import Distribution, Ensemble
from ..distributions.base import with_ids
from ..distributions.ensemble import softmax_of

BOUNDS = (1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class Temperature:
    """A fitted temperature. Call it on an ensemble (or logits) to get softmax(log p / T)."""

    value: Array
    """T > 1 if the model is overconfident: one number, or one per member, (M,)."""
    nll_before: float
    """Negative log-likelihood per instance of the mean prediction on the fitting data, in bits."""
    nll_after: float

    def __call__(self, q: Ensemble | Array) -> Ensemble:
        """The recalibrated ensemble, in the array library, dtype and device of ``q``."""
        logits = _logits(q)
        members = logits.shape[0]
        if np.ndim(self.value) and len(self.value) != members:
            raise ValueError(
                f"`q` must have the {len(self.value)} members the temperatures were fitted for; "
                f"got {members}"
            )
        t = np.reshape(np.asarray(self.value, float), (-1,) + (1,) * (logits.ndim - 1))
        given: dict[str, Any] = {key: getattr(q, key, None) for key in ("weights", "class_names")}
        probs = softmax_of(logits / like(t, logits))
        return with_ids(Ensemble(probs, member_axis=0, **given), getattr(q, "ids", None))


def fit_temperature(
    q: Ensemble | Array, y_true: Any, *, per_member: bool = False, prior_sd: float = 1.0
) -> Temperature:
    r"""Fit the temperature that maximizes the likelihood of the true classes.

    .. math:: T = \arg\min_T\ -\sum_i \log \sum_m w_m\, \mathrm{softmax}(z_{mi} / T)_{y_i} + \frac{(\ln T)^2}{2 \sigma^2}

    All members share one T, fitted so that their *mean* is calibrated; calibrating each member
    separately leaves the mean underconfident where members disagree. With ``per_member`` each
    member has its own T. The result is an ensemble either way. The second term is a weak prior (at
    T = 4 it costs 1 nat in total) that keeps T from going to 0 on a small data set without errors.

    Fit on data used neither for training nor for evaluation.

    Parameters
    ----------
    q : Ensemble or array (M, N, K)
        Predictions, or logits (log-probabilities are logits).
    y_true : array (N,)
        True classes as names or positions (integers are names if all class names are integers).
    per_member : bool
        Fit one temperature per member instead of a shared one.
    prior_sd : float
        σ, the prior standard deviation of ln T; ``math.inf`` for no prior.

    Returns
    -------
    Temperature

    Examples
    --------
    >>> q = Ensemble(np.array([[[0.99, 0.01], [0.98, 0.02], [0.02, 0.98], [0.99, 0.01]]]))
    >>> temperature = fit_temperature(q, [0, 0, 1, 1])  # always confident, right in three of four cases
    >>> round(float(temperature.value), 2), temperature(q).mean()[0].round(2)
    (2.41, array([0.87, 0.13]))
    """  # noqa: E501
    if not isinstance(prior_sd, int | float) or isinstance(prior_sd, bool) or not prior_sd > 0:
        raise ValueError(
            f"`prior_sd` must be a positive number (math.inf for no prior); got {prior_sd!r}"
        )
    logits = _logits(q)
    z = to_numpy(logits).astype(float)
    class_names = getattr(q, "class_names", None) or tuple(str(k) for k in range(z.shape[-1]))
    (y_true,) = same_rows(q, y_true=y_true)
    y = as_labels(y_true, "y_true", class_names, z.shape[1:-1])
    if not y.size:
        raise ValueError("`y_true` must have at least one instance; got none")
    z = z.reshape(len(z), len(y), -1)
    weights = np.full((len(z), 1), 1 / len(z))
    given = getattr(q, "weights", None)
    if given is not None:
        weights = to_numpy(given).astype(float).reshape(len(z), -1)
    log_weights = np.log(np.maximum(weights, 1e-300))
    away = z - np.take_along_axis(
        z, np.broadcast_to(y[None, :, None], (len(z), len(y), 1)), axis=-1
    )  # from the true class

    def nll(away: np.ndarray, log_weights: np.ndarray, t: Array) -> float:
        """Mean negative log-likelihood of the (weighted) mean prediction, in nats."""
        scaled = away / t
        top = scaled.max(axis=-1)
        log_p = -top - np.log(np.exp(scaled - top[..., None]).sum(axis=-1))
        return float(-np.mean(np.logaddexp.reduce(log_p + log_weights, axis=0)))

    def best(away: np.ndarray, log_weights: np.ndarray) -> float:
        return _minimum(
            lambda s: nll(away, log_weights, np.exp(s)) + (s / prior_sd) ** 2 / 2 / len(y)
        )

    one = np.zeros((1, 1))
    value = (
        np.array([best(member[None], one) for member in away])
        if per_member
        else best(away, log_weights)
    )
    after = nll(away, log_weights, np.reshape(value, (-1, 1, 1)))
    return Temperature(value, nll(away, log_weights, 1.0) / np.log(2), after / np.log(2))


def _logits(q: Any) -> Array:
    """Logits (M, ..., K): as given, or logarithms of an ensemble's probabilities (0 is replaced by
    the smallest normal number).
    """
    if isinstance(q, Distribution):
        if q.exclusive and q.members is not None:
            probs, floor = q.members[0], smallest(q.members[0])[0]
            return namespace(probs).log(
                namespace(probs).where(probs > floor, probs, floor + 0 * probs)
            )
        other = (
            ". Use lw.calibration.fit_calibration, which has maps for each label"
            if q.members is not None
            else ""
        )
        raise TypeError(
            f"`q` must be an Ensemble or an array of logits; got {type(q).__name__}, whose "
            f"probabilities are not a softmax{other}"
        )
    logits = as_floating(q, "q")
    if logits.ndim < 3:
        raise ValueError(
            "`q` as logits must have at least 3 axes (members, instances, classes); got shape "
            f"{tuple(logits.shape)}. For one model use z[None]"
        )
    if values_known(logits):
        check_finite(logits, "q")
    return logits


def _minimum(f: Any) -> float:
    """T = exp(s) at the minimum of f(s), by a grid search and refinement: the mean over members
    need not be convex in s.
    """
    from scipy.optimize import minimize_scalar

    low, high = np.log(BOUNDS)
    grid = np.linspace(low, high, 41)
    i = int(np.argmin([f(s) for s in grid]))
    if i in (0, len(grid) - 1):
        raise ValueError(
            "no finite temperature fits best: the likelihood keeps growing as T goes to "
            + (
                "0, because every prediction is right. Use more instances, or keep the prior"
                if i == 0
                else "infinity. Are `y_true` and the classes in the same order?"
            )
        )
    found = minimize_scalar(
        f, bounds=(grid[i - 1], grid[i + 1]), method="bounded", options={"xatol": 1e-9}
    )
    return float(np.exp(found.x))
