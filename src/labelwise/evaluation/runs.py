"""Several rejection curves: the mean over runs, and one curve per predicted class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, to_numpy
from .._frames import same_rows
from .._labels import as_labels, as_numpy
from .._resampling import Estimate, check_confidence, t_quantile
from .._suggestions import check_choice
from ..decomposition import PARTS, Uncertainty
from .rejection import SUMMARIES, RejectionCurve, rejection_curve


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """Mean rejection curve over several runs, with standard deviation and t-interval at each
    share.
    """

    kind: str
    rejected: Array
    value: Array
    sd: Array
    """Standard deviation between runs (n − 1 in the denominator)."""
    low: Array
    high: Array
    random: float
    oracle: Array
    area: Estimate
    normalized_area: Estimate
    aurc: Estimate
    augrc: Estimate
    n_runs: int
    confidence: float


def mean_over_runs(values: Any, confidence: float = 0.95) -> Estimate:
    """Mean over independent runs (first axis) with Student's t-interval.

    >>> print(mean_over_runs([0.90, 0.92, 0.91]))
    0.910 (95 % interval 0.885 to 0.935)
    """
    check_confidence(confidence)
    runs = as_numpy(values, "values").astype(float)
    if runs.ndim == 0 or runs.shape[0] < 2:
        raise ValueError(
            f"a t-interval needs at least 2 runs; got shape {runs.shape}. One run has no spread"
        )
    n = runs.shape[0]
    mean = runs.mean(axis=0)
    half = t_quantile(n - 1, confidence) * runs.std(axis=0, ddof=1) / np.sqrt(n)
    return Estimate(mean, mean - half, mean + half, confidence, f"t-interval over {n} runs")


def mean_curve(curves: Sequence[RejectionCurve], *, confidence: float = 0.95) -> MeanCurve:
    """Mean, standard deviation and t-interval over the curves of several runs.

    All curves must have the same shares: the same number of instances or the same ``grid``.

    >>> runs = [rejection_curve([1, 2, 3, 4], correct=c) for c in ([1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0])]
    >>> mean_curve(runs).value.round(3)
    array([0.583, 0.778, 0.833, 1.   ])
    """  # noqa: E501
    curves = list(curves)
    if len(curves) < 2:
        raise ValueError(
            f"`curves` must be at least 2 runs; got {len(curves)}. For the interval of one run "
            "pass `n_bootstrap` to rejection_curve"
        )
    first = curves[0]
    for curve in curves[1:]:
        if curve.kind != first.kind:
            raise ValueError(
                f"`curves` must be of the same kind; got {first.kind} and {curve.kind}"
            )
        if curve.rejected.shape != first.rejected.shape or not np.allclose(
            curve.rejected, first.rejected
        ):
            raise ValueError(
                f"`curves` must have the same shares; got {len(first.rejected)} and "
                f"{len(curve.rejected)} points. "
                "For runs with different numbers of instances use a common `grid`, such as grid=50"
            )
    values = np.stack([curve.value for curve in curves])
    mean = mean_over_runs(values, confidence)

    def over_runs(numbers: list[float]) -> Estimate:
        return (
            mean_over_runs(numbers, confidence)
            if np.all(np.isfinite(numbers))
            else Estimate(float("nan"), confidence=confidence)
        )

    return MeanCurve(
        first.kind,
        first.rejected,
        mean.value,
        values.std(axis=0, ddof=1),
        mean.low,
        mean.high,
        float(np.mean([curve.random for curve in curves])),
        np.mean([curve.oracle for curve in curves], axis=0),
        **{name: over_runs([getattr(curve, name) for curve in curves]) for name in SUMMARIES},
        n_runs=len(curves),
        confidence=confidence,
    )


def rejection_curves_by_class(
    u: Uncertainty,
    y_pred: Any,
    y_true: Any,
    *,
    measure: str = "total",
    grid: int | Sequence[float] | None = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> dict[str, RejectionCurve]:
    """Rejection curves for each predicted class, by the uncertainty of the predicted label.

    Among the instances predicted as class k, those with the largest TU_k (or AU_k, EU_k) are
    rejected first; the curve is the precision of class k among the rest.

    Parameters
    ----------
    u : Uncertainty
        Label-wise uncertainty, arrays (..., K).
    y_pred, y_true : array (...)
        Predicted and true classes as names or positions (integers are names if all class names are
        integers).
    measure : {"total", "aleatoric", "epistemic"}
    grid, groups, confidence, n_bootstrap, rng
        As for `rejection_curve`. Classes whose instances all belong to one group get no band.

    Returns
    -------
    dict of RejectionCurve
        By class; classes that are never predicted have none.

    Examples
    --------
    >>> from labelwise import Ensemble, decompose
    >>> q = Ensemble(np.array([[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [[0.9, 0.1], [0.7, 0.3], [0.1, 0.9]]]), class_names=["benign", "malignant"])
    >>> curves = rejection_curves_by_class(decompose(q), q.mean().argmax(-1), ["benign", "malignant", "malignant"])
    >>> curves["benign"].value  # the wrong "benign" is the more uncertain one
    array([0.5, 1. ])
    """  # noqa: E501
    y_pred, y_true, groups = same_rows(u, y_pred=y_pred, y_true=y_true, groups=groups)
    score = as_numpy(measure_of(u, measure), measure)
    shape = score.shape[:-1]
    score = score.reshape(-1, score.shape[-1])
    y_pred = as_labels(y_pred, "y_pred", u.class_names, shape)
    y_true = as_labels(y_true, "y_true", u.class_names, shape)
    groups = None if groups is None else to_numpy(groups).reshape(-1)
    curves = {}
    for k in np.unique(y_pred).tolist():
        here = y_pred == k
        group = None if groups is None else groups[here]
        alone = here.sum() < 2 if group is None else len(np.unique(group)) < 2
        curves[u.class_names[k]] = rejection_curve(
            score[here, k],
            correct=y_true[here] == k,
            grid=grid,
            groups=None if alone else group,
            confidence=confidence,
            n_bootstrap=0 if alone else n_bootstrap,
            rng=rng,
        )
    return curves


def measure_of(u: Any, measure: str) -> Array:
    """Total, aleatoric or epistemic uncertainty by name."""
    if not hasattr(u, "epistemic"):
        raise TypeError(f"`u` must be the result of lw.decompose; got {type(u).__name__}")
    check_choice(measure, "measure", PARTS)
    return getattr(u, measure)
