"""Label shift: class prevalences of the new cases that differ from those of the calibration
cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._format import percent
from .._frames import values_by_class
from .._labels import as_numpy
from .._suggestions import check_choice
from ._input import calibration_cases, one_class_each

METHODS = ("em", "bbse")


@dataclass(frozen=True, eq=False)
class Prevalence:
    """Estimated class prevalences of unlabeled cases."""

    values: np.ndarray
    """(K,), summing to 1."""
    source: np.ndarray
    """Of the calibration cases, (K,)."""
    class_names: tuple[str, ...]
    method: str

    def __str__(self) -> str:
        rows = zip(self.class_names, self.source.tolist(), self.values.tolist(), strict=True)
        return "\n".join(
            f"{name}: {percent(before)} → {percent(after)}" for name, before, after in rows
        )


def estimate_prevalence(q_cal: Any, y_cal: Any, q_new: Any, *, method: str = "em") -> Prevalence:
    r"""Estimate the class prevalences of unlabeled cases, assuming that only the prevalences have
    changed (label shift).

    ``"em"`` (Saerens, Latinne, Decaestecker 2002) maximizes the likelihood of the new cases,
    starting from the calibration prevalences; it needs calibrated probabilities. ``"bbse"``
    (Lipton, Wang, Smola 2018) solves :math:`C \pi = m`, C[j, k] the share of the calibration cases
    of class k that are predicted as j, m that of the new cases; negative values are set to 0.

    That nothing else has changed cannot be checked without labels; only contradictions can be seen,
    such as prevalences that leave the predicted ones unexplained.

    Parameters
    ----------
    q_cal, y_cal
        Labeled calibration cases.
    q_new
        Unlabeled new cases of the same model.
    method : {"em", "bbse"}

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [900, 100]), np.repeat([0, 1], [300, 700])
    >>> x = [rng.normal(2 * labels) for labels in y]
    >>> p = [1 / (1 + 9 * np.exp(2 - 2 * z)) for z in x]      # calibrated where class 1 has 10 %
    >>> q = [np.stack([1 - z, z], axis=-1) for z in p]
    >>> print(estimate_prevalence(q[0], y[0], q[1]))
    0: 90.0 % → 30.9 %
    1: 10.0 % → 69.1 %
    """
    check_choice(method, "method", METHODS)
    p, y, names = calibration_cases(q_cal, y_cal)
    new, _ = one_class_each(q_new, "q_new")
    if new.shape[-1] != len(names) or not new.size:
        raise ValueError(
            f"`q_new` must have cases of the {len(names)} classes of `q_cal`; got shape {new.shape}"
        )
    new = new.reshape(-1, len(names))
    source = np.bincount(y, minlength=len(names)) / len(y)
    if source.min() == 0:
        raise ValueError(
            "`y_cal` must have cases of each class; there are none of "
            f"{names[int(source.argmin())]!r}"
        )
    if method == "em":
        values = _em(new, source)
    else:
        confusion = np.zeros((len(names), len(names)))
        np.add.at(confusion, (p.argmax(axis=-1), y), 1 / np.bincount(y)[y])
        predicted = np.bincount(new.argmax(axis=-1), minlength=len(names)) / len(new)
        if np.linalg.cond(confusion) > 1e6:
            raise ValueError(
                "`q_cal`: the predictions do not tell the classes apart (singular confusion "
                "matrix), so prevalences cannot be estimated"
            )
        values = np.maximum(np.linalg.solve(confusion, predicted), 0)
    return Prevalence(values / values.sum(), source, names, method)


def _em(p: np.ndarray, source: np.ndarray) -> np.ndarray:
    """The fixed point of π ← mean posterior under π."""
    values = source
    for _ in range(10_000):
        posterior = p * (values / source)
        found = (posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)).mean(axis=0)
        if np.abs(found - values).max() < 1e-10:
            break
        values = found
    return np.asarray(found)


def shift_weights(
    prevalence: Any, source: Any, y: np.ndarray, names: Sequence[str]
) -> tuple[np.ndarray, str]:
    """The weight π_new / π_calibration of each class, and whether the prevalences are known or
    estimated.
    """
    counts = np.bincount(y, minlength=len(names))
    known = source is not None
    if isinstance(prevalence, Prevalence):
        if prevalence.class_names != tuple(names):
            raise ValueError(
                "`prevalence` was estimated for other classes than those of the calibration cases"
            )
        known = False
        prevalence = prevalence.values
    new = _shares(prevalence, "prevalence", names)
    old = counts / len(y) if source is None else _shares(source, "source_prevalence", names)
    without = np.flatnonzero((new > 0) & ((counts == 0) | (old == 0)))
    if len(without):
        raise ValueError(
            f"`prevalence`: class {names[without[0]]!r} is to occur, but no calibration case has "
            "it; nothing can be said about its scores"
        )
    weights = np.divide(new, old, out=np.zeros(len(names)), where=old > 0)
    return weights, "known" if known else "estimated"


def _shares(given: Any, name: str, names: Sequence[str]) -> np.ndarray:
    shares = as_numpy(values_by_class(given, names, name), name).astype(float)
    if shares.shape != (len(names),):
        raise ValueError(
            f"`{name}` must give the share of each of the {len(names)} classes; got shape "
            f"{shares.shape}"
        )
    if shares.min() < 0 or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(
            f"`{name}` must be shares that sum to 1; they sum to {shares.sum():.6g} and the lowest "
            f"is {shares.min():.4g}"
        )
    return np.asarray(shares)
