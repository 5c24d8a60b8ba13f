"""Recalibrate an ensemble's probabilities by a temperature or by isotonic maps, per label where
labels may occur together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._arrays import like, to_numpy
from .._engine.blocks import with_values
from .._errors import InputError
from .._frames import same_rows
from .._tables import first_names
from .._validation.arguments import check_choice
from .._validation.labels import as_labels, outcomes_by_class
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.ensemble import softmax_of
from ..evaluation import brier_score, log_loss
from ._maps import IsotonicMap, fit_isotonic, fit_slope
from ._temperature import fit_temperature, logits_of

Method = Literal["temperature", "isotonic"]
METHODS = ("temperature", "isotonic")
Members = Ensemble | MultiLabelEnsemble
Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Calibration:
    """A fitted recalibration. Call it on an ensemble to get the recalibrated one."""

    method: Method
    maps: tuple[Map, ...] | None
    """The map of each label's probability."""
    temperature: float | None
    """Of classes that exclude each other, instead of maps: softmax(log p / T). T > 1 if the model
    is overconfident.
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
        if self.maps is None:
            new = softmax_of(logits_of(probs) / self.temperature)
        else:
            self._check_classes(q)
            p = to_numpy(probs).astype(float)
            mapped = np.stack([f(p[..., k]) for k, f in enumerate(self.maps)], axis=-1)
            if q.exclusive:
                mapped /= mapped.sum(axis=-1, keepdims=True)
            new = like(mapped, probs)
        kind: Any = type(q)
        result: Members = kind(new, weights=q.weights, class_names=q.class_names, member_axis=0)
        return with_values(result, ids=q.ids)

    def _check_classes(self, q: Members) -> None:
        n = len(self.maps or ())
        if q.n_classes != n:
            raise ValueError(
                f"`q` must have the {n} classes the maps were fitted for; got {q.n_classes}"
            )
        if None not in (self.class_names, q.class_names) and self.class_names != q.class_names:
            raise InputError(
                "`q` must have the classes the maps were fitted for, in their order, "
                f"{first_names(self.class_names or ())}; got {first_names(q.class_names or ())}"
            )


def fit_calibration(q: Members, y_true: Any, *, method: Method = "temperature") -> Calibration:
    r"""Fit a recalibration to the true classes.

    Temperature divides the logits by one number T, with a weak prior on ln T; for labels that may
    occur together, by one number per label. Isotonic regression maps the probability of each
    label; for classes that exclude each other the results are divided by their sum.

    All members share one map, fitted so that their *mean* has the highest likelihood (isotonic:
    fitted to the mean). To calibrate each member by itself, fit ensembles of one member; that
    leaves the mean underconfident where the members disagree for good reasons. Fit on data used
    neither for training nor for evaluation.

    Parameters
    ----------
    q : Ensemble or MultiLabelEnsemble
    y_true : array (N,), or (N, K) of 0 and 1
        True classes as names or positions (integers are names if all class names are integers), or
        0/1 for each label.
    method : {"temperature", "isotonic"}

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
    if not all(q.batch_shape):
        raise ValueError("`y_true` must have at least one instance; got none")
    weights = None
    if q.weights is not None:
        weights = to_numpy(q.weights).astype(float).reshape(q.n_members, -1)
    p = to_numpy(q.probs).astype(float).reshape(q.n_members, -1, q.n_classes)

    maps = temperature = None
    if q.exclusive and method == "temperature":
        y = as_labels(y_true, "y_true", names, q.batch_shape)
        # Logits in the type of `q`, as they are when the temperature is applied.
        z = to_numpy(logits_of(q.probs)).astype(float).reshape(p.shape)
        temperature = fit_temperature(z, y, weights)
    else:
        outcomes = outcomes_by_class(y_true, names, q.batch_shape).astype(float)
        fitted = []
        for k, y in enumerate(outcomes.T):
            of_label = np.clip(p[..., k], 0, 1)
            if method == "isotonic":
                fitted.append(_fit_isotonic(of_label, y, weights))
            else:
                fitted.append(fit_slope(of_label, y, members=weights))
        maps = tuple(fitted)
    after = Calibration(method, maps, temperature, (0.0, 0.0), (0.0, 0.0))(q)
    return Calibration(
        method,
        maps,
        temperature,
        (float(log_loss(q, y_true)), float(log_loss(after, y_true))),
        (float(brier_score(q, y_true)), float(brier_score(after, y_true))),
        q.class_names,
    )


def _fit_isotonic(p: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Map:
    """A map of the mean of the members' probabilities (M, N) of one label."""
    mean = p.mean(axis=0) if weights is None else (weights * p).sum(axis=0)
    fitted = fit_isotonic(mean, y)
    least = 1 / (2 * (len(y) + 1))  # n outcomes alike do not make the next one certain
    return IsotonicMap(fitted.x, np.clip(fitted.y, least, 1 - least))


def _check(q: Any) -> Members:
    if isinstance(q, Ensemble | MultiLabelEnsemble):
        return q
    advice = ". Pass lw.Ensemble(probs)"
    if isinstance(q, Distribution):
        advice = ", which has no members"
    raise TypeError(
        f"`q` must be an Ensemble or a MultiLabelEnsemble; got {type(q).__name__}{advice}"
    )
