"""Recalibrate an ensemble's probabilities: temperature, Platt, beta and isotonic maps, per label
where labels may occur together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from .._arrays import Array, like, to_numpy
from .._errors import InputError
from .._frames import same_rows
from .._tables import some
from .._validation.arguments import check_choice
from .._validation.labels import as_labels, outcomes_by_class
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.base import with_ids
from ..evaluation import brier_score, log_loss
from ._maps import IsotonicMap, fit_isotonic, fit_logistic
from ._temperature import fit_temperature, logits_of, scaled

Method = Literal["temperature", "platt", "beta", "isotonic"]
METHODS = ("temperature", "platt", "beta", "isotonic")
Members = Ensemble | MultiLabelEnsemble


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted recalibration. Call it on an ensemble to get the recalibrated one."""

    method: Method
    maps: tuple[tuple[Callable[[np.ndarray], np.ndarray], ...], ...] | None
    """The map of each label, for all members (one row) or for each of them (M rows)."""
    temperature: Array | None
    """Of classes that exclude each other, instead of maps: softmax(log p / T). T > 1 if the model
    is overconfident: one number, or one per member, (M,).
    """
    log_loss: tuple[float, float]
    """Of the mean prediction on the fitting data, before and after, in bits."""
    brier: tuple[float, float]
    """The same for the Brier score."""
    class_names: tuple[str, ...] | None = None
    """Of the cases it was fitted to, if they have names."""

    def __call__(self, q: Members) -> Members:
        """The recalibrated ensemble, in the array library, dtype and device of ``q``."""
        probs = _check(q).probs
        n_maps = len(self.maps or np.atleast_1d(np.asarray(self.temperature)))
        if n_maps not in (1, len(probs)):
            raise ValueError(
                f"`q` must have the {n_maps} members the maps were fitted for; got {len(probs)}"
            )
        if self.maps is None:
            new = scaled(probs, self.temperature)
        else:
            self._check_classes(q)
            p = to_numpy(probs).astype(float)
            mapped = np.empty_like(p)
            for m, member in enumerate(p):
                for k, f in enumerate(self.maps[m % n_maps]):
                    mapped[m, ..., k] = f(member[..., k])
            if q.exclusive:
                mapped /= mapped.sum(axis=-1, keepdims=True)
            new = like(mapped, probs)
        kind: Any = type(q)
        options = {"weights": q.weights, "class_names": q.class_names, "member_axis": 0}
        result: Members = kind(new, **options)
        return with_ids(result, q.ids)

    def _check_classes(self, q: Members) -> None:
        n = len((self.maps or ((),))[0])
        if q.n_classes != n:
            raise ValueError(
                f"`q` must have the {n} classes the maps were fitted for; got {q.n_classes}"
            )
        if None not in (self.class_names, q.class_names) and self.class_names != q.class_names:
            raise InputError(
                "`q` must have the classes the maps were fitted for, in their order, "
                f"{some(self.class_names or ())}; got {some(q.class_names or ())}"
            )


def fit_calibration(
    q: Members, y_true: Any, *, method: Method = "temperature", per_member: bool = False
) -> Calibration:
    r"""Fit a recalibration to the true classes.

    Temperature divides the logits by one number T, with a weak prior on ln T. Platt's σ(a + b ·
    logit p), beta calibration's σ(a + b · log p − c · log(1 − p)) (Kull et al. 2017) and isotonic
    regression map the probability of each label; for classes that exclude each other the results
    are divided by their sum. For labels that may occur together temperature also has one number
    per label.

    All members share one map, fitted so that their *mean* has the highest likelihood (isotonic:
    fitted to the mean), or each has its own with ``per_member``, which leaves the mean
    underconfident where the members disagree for good reasons. Fit on data used neither for
    training nor for evaluation.

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
    names = q.class_names or tuple(map(str, range(q.n_classes)))
    weights = None
    if q.weights is not None:
        weights = to_numpy(q.weights).astype(float).reshape(q.n_members, -1)

    def fit(fit_one: Callable[..., Any], x: Array, y: np.ndarray) -> list[Any]:
        """One fit for all members, or one for each."""
        if not len(y):
            raise ValueError("`y_true` must have at least one instance; got none")
        x = to_numpy(x).astype(float).reshape(q.n_members, len(y), -1)
        if per_member:
            return [fit_one(member[None], y, None) for member in x]
        return [fit_one(x, y, weights)]

    maps: Any = None
    temperature: Any = None
    if q.exclusive and method == "temperature":
        y = as_labels(y_true, "y_true", names, q.batch_shape)
        values = fit(fit_temperature, logits_of(q.probs), y)
        temperature = np.array(values) if per_member else values[0]
    else:
        outcomes = outcomes_by_class(y_true, names, q.batch_shape).astype(float)
        maps = tuple(fit(partial(_fit_labels, method), q.probs, outcomes))
    after = Calibration(method, maps, temperature, (0.0, 0.0), (0.0, 0.0))(q)
    return Calibration(
        method,
        maps,
        temperature,
        (float(log_loss(q, y_true)), float(log_loss(after, y_true))),
        (float(brier_score(q, y_true)), float(brier_score(after, y_true))),
        q.class_names,
    )


def _fit_labels(
    method: str, p: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[Callable[[np.ndarray], np.ndarray], ...]:
    """A map of the probabilities (M, N, K) of each label."""
    p = np.clip(p, 0, 1)
    if method != "isotonic":
        return tuple(
            fit_logistic(p[..., k], y[:, k], method, members=weights) for k in range(y.shape[1])
        )
    maps = []
    for k in range(y.shape[1]):
        mean = p[..., k].mean(axis=0) if weights is None else (weights * p[..., k]).sum(axis=0)
        fitted = fit_isotonic(mean, y[:, k])
        least = 1 / (2 * (len(y) + 1))  # n outcomes alike do not make the next one certain
        maps.append(IsotonicMap(fitted.x, np.clip(fitted.y, least, 1 - least)))
    return tuple(maps)


def _check(q: Any) -> Members:
    if not isinstance(q, Ensemble | MultiLabelEnsemble):
        what = (
            f"{type(q).__name__}, which has no members"
            if isinstance(q, Distribution)
            else f"{type(q).__name__}. Pass lw.Ensemble(probs)"
        )
        raise TypeError(f"`q` must be an Ensemble or a MultiLabelEnsemble; got {what}")
    return q
