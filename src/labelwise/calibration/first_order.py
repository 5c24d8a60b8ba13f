"""Recalibrate an ensemble's probabilities by a temperature or by isotonic maps, per label where
labels may occur together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._arrays import Array, as_double, like, to_numpy
from .._engine.blocks import row_blocks
from .._frames import same_rows
from .._tables import Tabular, counted
from .._validation.arguments import check_choice
from .._validation.labels import as_labels, check_fitted_classes, outcomes_by_class
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions.ensemble import softmax_of_members
from ..evaluation._forecasts import mean_probabilities
from ._maps import IsotonicMap, fit_isotonic
from ._temperature import fit_temperature, logits_of_classes, logits_of_labels

Method = Literal["temperature", "isotonic"]
METHODS = ("temperature", "isotonic")
Members = Ensemble | MultiLabelEnsemble


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Tabular):
    """A fitted recalibration. Call it on an ensemble to get the recalibrated one."""

    method: Method
    maps: tuple[IsotonicMap, ...] | None
    """The isotonic map of each label's probability."""
    temperature: Any
    """T of softmax(log p / T), a number; of labels that may occur together one for each, (K,). T >
    1 if the model is overconfident. ``None`` if there are maps.
    """
    n_classes: int
    class_names: tuple[str, ...] | None
    """Of the cases it was fitted to, if they have names."""

    def _title(self) -> str:
        if self.maps is not None:
            return f"Calibration by isotonic maps of {counted(self.n_classes, 'label')}"
        temperatures = ", ".join(f"{t:.3g}" for t in np.atleast_1d(self.temperature))
        return f"Calibration by temperature {temperatures}"

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.class_names or tuple(map(str, range(self.n_classes)))

    def _columns(self) -> dict[str, Any]:
        if self.maps is not None:
            return {"label": self._labels, "knots": [len(fitted.x) for fitted in self.maps]}
        temperature = np.broadcast_to(self.temperature, self.n_classes)
        return {"label": self._labels, "temperature": temperature}

    def __call__(self, q: Members) -> Members:
        """The recalibrated ensemble, in the array library, dtype and device of ``q``."""
        from scipy.special import expit

        _check_can_be_calibrated(q)
        names = q.class_names if self.class_names else None
        check_fitted_classes(q.n_classes, names, self._labels)

        def mapped(probs: Array) -> Array:
            if self.maps is None and q.exclusive:
                return softmax_of_members(logits_of_classes(probs) / self.temperature)
            p = as_double(probs)
            if self.maps is None:
                p = expit(logits_of_labels(p) / self.temperature)
            else:
                p = np.stack([f(p[..., k]) for k, f in enumerate(self.maps)], axis=-1)
            if q.exclusive:
                p /= p.sum(axis=-1, keepdims=True)
            return like(p, probs)

        new = _in_member_blocks(mapped, q.probs)
        kind: Any = type(q)
        result: Members = kind(new, weights=q.weights, class_names=q.class_names, member_axis=0)
        return result.with_values(ids=q.ids)


def fit_calibration(q: Members, y_true: Any, *, method: Method = "temperature") -> Calibration:
    r"""Fit a recalibration to the true classes.

    Temperature divides the logits by one number T, with a weak prior on ln T; for labels that may
    occur together, by one number per label. Isotonic regression maps the probability of each
    label; for classes that exclude each other the results are divided by their sum.

    All members share one map, fitted so that their *mean* has the highest likelihood (isotonic:
    fitted to the mean). To calibrate each member by itself, fit ensembles of one member; that
    leaves the mean underconfident where the members disagree for good reasons. Fit on data used
    neither for training nor for evaluation. Memory: the logits, as large as the members, or for
    isotonic maps the mean (N, K) in double precision.

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
    array([0.87, 0.18])
    """
    check_choice(method, "method", METHODS)
    _check_can_be_calibrated(q)
    (y_true,) = same_rows(q, y_true=y_true)
    names = q.class_names or tuple(map(str, range(q.n_classes)))
    if not all(q.batch_shape):
        raise ValueError("`y_true` must have at least one instance; got none")
    weights = None
    if q.weights is not None:
        weights = as_double(q.weights).reshape(q.n_members, -1)
    maps = None
    temperature: Any = None
    if q.exclusive and method == "temperature":
        y = as_labels(y_true, "y_true", names, q.batch_shape)
        # Logits in the type of `q`, as they are when the temperature is applied.
        z = _in_member_blocks(logits_of_classes, q.probs)
        temperature = fit_temperature(to_numpy(z).reshape(q.n_members, -1, q.n_classes), y, weights)
        del z
    else:
        outcomes = outcomes_by_class(y_true, names, q.batch_shape)
        if method == "isotonic":
            mean = mean_probabilities(q, "q")[0].reshape(outcomes.shape)
            least = 1 / (2 * (len(mean) + 1))  # n outcomes alike do not make the next one certain
            fitted = map(fit_isotonic, mean.T, outcomes.T)
            maps = tuple([IsotonicMap(f.x, np.clip(f.y, least, 1 - least)) for f in fitted])
        else:
            temperature = np.ones(q.n_classes)
            for k, y in enumerate(outcomes.T):
                p = as_double(q.probs[..., k]).reshape(q.n_members, -1)
                present = logits_of_labels(np.clip(p, 0, 1))
                z = np.stack([np.zeros_like(p), present], axis=-1)  # absent, with the logit 0
                try:
                    temperature[k] = fit_temperature(z, y.astype(int), weights)
                except ValueError as error:
                    raise ValueError(f"label {names[k]!r}: {error}") from error
    return Calibration(method, maps, temperature, q.n_classes, q.class_names)


def _in_member_blocks(f: Callable[[Array], Array], probs: Array) -> Array:
    """``f(probs)``, an array like ``probs`` (M, ..., K); of NumPy in blocks of instances, so that
    nothing else has the size of the predictions.
    """
    if not isinstance(probs, np.ndarray) or probs.ndim < 3:
        return f(probs)
    new = np.empty_like(probs)
    for rows in row_blocks(probs.shape[1], probs[:, 0].size):
        new[:, rows] = f(probs[:, rows])
    return new


def _check_can_be_calibrated(q: Any) -> None:
    if isinstance(q, Ensemble | MultiLabelEnsemble):
        return
    advice = ". Pass lw.Ensemble(probs)"
    if isinstance(q, Distribution):
        advice = ", which has no members"
    raise TypeError(
        f"`q` must be an Ensemble or a MultiLabelEnsemble; got {type(q).__name__}{advice}"
    )
