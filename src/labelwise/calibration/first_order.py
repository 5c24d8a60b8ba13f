"""Recalibrate an ensemble's probabilities: temperature, Platt, beta and isotonic maps, per label
where labels may occur together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from .._arrays import like, to_numpy
from .._errors import InputError
from .._frames import same_rows
from .._labels import outcomes_by_class
from .._suggestions import check_choice
from .._tables import some
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.base import with_ids
from ..evaluation import brier_score, log_loss
from ._maps import IsotonicMap, fit_isotonic, fit_logistic
from .temperature import Temperature, fit_temperature

Method = Literal["temperature", "platt", "beta", "isotonic"]
METHODS = ("temperature", "platt", "beta", "isotonic")
Members = Ensemble | MultiLabelEnsemble


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted recalibration. Call it on an ensemble to get the recalibrated one."""

    method: Method
    maps: Temperature | tuple[tuple[Callable[[np.ndarray], np.ndarray], ...], ...]
    """The map of each label, for all members (one row) or for each of them (M rows); or a
    temperature for all classes.
    """
    log_loss: tuple[float, float]
    """Of the mean prediction on the fitting data, before and after, in bits."""
    brier: tuple[float, float]
    """The same for the Brier score."""
    class_names: tuple[str, ...] | None = None
    """Of the cases it was fitted to, if they have names."""

    def __call__(self, q: Members) -> Members:
        """The recalibrated ensemble, in the array library, dtype and device of ``q``."""
        if isinstance(self.maps, Temperature):
            return self.maps(q)
        probs = _check(q).probs
        p = to_numpy(probs).astype(float)
        if len(self.maps) not in (1, len(p)):
            raise ValueError(
                f"`q` must have the {len(self.maps)} members the maps were fitted for; got {len(p)}"
            )
        if p.shape[-1] != len(self.maps[0]):
            raise ValueError(
                f"`q` must have the {len(self.maps[0])} classes the maps were fitted for; got "
                f"{p.shape[-1]}"
            )
        if None not in (self.class_names, q.class_names) and self.class_names != q.class_names:
            raise InputError(
                "`q` must have the classes the maps were fitted for, in their order, "
                f"{some(self.class_names or ())}; got {some(q.class_names or ())}"
            )
        new = np.empty_like(p)
        for m, member in enumerate(p):
            for k, f in enumerate(self.maps[m % len(self.maps)]):
                new[m, ..., k] = f(member[..., k])
        if q.exclusive:
            new /= new.sum(axis=-1, keepdims=True)
        kind: Any = type(q)
        result: Members = kind(like(new, probs), weights=q.weights, class_names=q.class_names)
        return with_ids(result, q.ids)


def fit_calibration(
    q: Members, y_true: Any, *, method: Method = "temperature", per_member: bool = False
) -> Calibration:
    r"""Fit a recalibration to the true classes.

    Temperature divides the logits by one number. Platt's σ(a + b · logit p), beta calibration's σ(a
    + b · log p − c · log(1 − p)) (Kull et al. 2017) and isotonic regression map the probability of
    each label; for classes that exclude each other the results are divided by their sum. For labels
    that may occur together temperature also has one number per label.

    All members share one map, fitted so that their *mean* has the highest likelihood (isotonic:
    fitted to the mean), or each has its own with ``per_member``: see `calibrate_members`. Fit on
    data used neither for training nor for evaluation.

    Parameters
    ----------
    q : Ensemble or MultiLabelEnsemble
    y_true : array (N,), or (N, K) of 0 and 1
        True classes as names or positions (integers are names if all class names are integers), or
        0/1 for each label.
    method : {"temperature", "platt", "beta", "isotonic"}
    per_member : bool
        Fit each member separately.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> q = lw.MultiLabelEnsemble(np.array([[[0.99, 0.3], [0.98, 0.1], [0.02, 0.2], [0.99, 0.9]]]))
    >>> calibration = fit_calibration(q, [[1, 0], [1, 0], [0, 0], [0, 1]])
    >>> calibration(q).mean()[0].round(2)
    array([0.79, 0.22])
    """
    check_choice(method, "method", METHODS)
    _check(q)
    (y_true,) = same_rows(q, y_true=y_true)
    maps: Any
    if q.exclusive and method == "temperature":
        maps = fit_temperature(cast(Ensemble, q), y_true, per_member=per_member)
    else:
        names = q.class_names or tuple(map(str, range(q.n_classes)))
        y = outcomes_by_class(y_true, names, q.batch_shape).astype(float)
        if not len(y):
            raise ValueError("`y_true` must have at least one instance; got none")
        p = np.clip(to_numpy(q.probs).astype(float).reshape(q.n_members, len(y), -1), 0, 1)
        weights = (
            None
            if q.weights is None
            else to_numpy(q.weights).astype(float).reshape(q.n_members, -1)
        )
        rows = [(p[m : m + 1], None) for m in range(len(p))] if per_member else [(p, weights)]
        maps = tuple(
            tuple(_fit(x[..., k], w, y[:, k], method) for k in range(y.shape[1])) for x, w in rows
        )
    after = Calibration(method, maps, (0.0, 0.0), (0.0, 0.0))(q)
    logs = tuple(float(log_loss(x, y_true)) for x in (q, after))
    squares = tuple(float(brier_score(x, y_true)) for x in (q, after))
    return Calibration(method, maps, (logs[0], logs[1]), (squares[0], squares[1]), q.class_names)


def _fit(
    p: np.ndarray, weights: np.ndarray | None, y: np.ndarray, method: str
) -> Callable[[np.ndarray], np.ndarray]:
    """A map of probabilities (M, N) of one label."""
    if method != "isotonic":
        return fit_logistic(p, y, method, members=weights)
    fitted = fit_isotonic(p.mean(axis=0) if weights is None else (weights * p).sum(axis=0), y)
    least = 1 / (2 * (len(y) + 1))  # n outcomes alike do not make the next one certain
    return IsotonicMap(fitted.x, np.clip(fitted.y, least, 1 - least))


def _check(q: Any) -> Members:
    if not isinstance(q, Ensemble | MultiLabelEnsemble):
        what = (
            f"{type(q).__name__}, which has no members"
            if isinstance(q, Distribution)
            else f"{type(q).__name__}. Pass lw.Ensemble(probs)"
        )
        raise TypeError(f"`q` must be an Ensemble or a MultiLabelEnsemble; got {what}")
    return q
