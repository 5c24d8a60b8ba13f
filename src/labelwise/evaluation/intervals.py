"""Confidence intervals of uncertainty: a bootstrap over members and instances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._frames import same_rows
from .._resampling import Estimate, Resampling, check_replicates, pooled_variance, t_quantile
from .._validation.arguments import as_rng, check_choice
from ..decomposition import Uncertainty, decompose
from ..distributions import Distribution
from ..events import Family
from ..losses import Loss, LossName
from ._reweighting import count_members, reweighted, with_sums


@dataclass(frozen=True, eq=False)
class UncertaintyIntervals:
    """Label-wise uncertainty with intervals, of shape (K,) for means and (..., K) for single
    instances.
    """

    total: Estimate
    aleatoric: Estimate
    epistemic: Estimate
    sum_total: Estimate | None
    """The sum over the labels; ``None`` for events that overlap."""
    sum_aleatoric: Estimate | None
    sum_epistemic: Estimate | None
    class_names: tuple[str, ...]


def bootstrap_uncertainty(
    q: Distribution,
    loss: LossName | Loss = "log",
    *,
    events: Family | None = None,
    statistic: str = "mean",
    over: str = "both",
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
    rng: int | np.random.Generator | None = None,
) -> UncertaintyIntervals:
    r"""Confidence intervals for label-wise TU, AU and EU under resampling of members, instances or
    both.

    Members and instances are resampled as weights w, without new predictions. A member drawn twice
    agrees with itself, so the EU of each replicate is divided by its share of pairs of different
    members, :math:`1 - \sum_m w_m^2`, and multiplied by that of the ensemble; replicates of a
    single member are dropped. The interval is :math:`\text{estimate} \cdot \exp(\pm t\, \mathrm{se}
    / \text{estimate})` with the bootstrap standard error, widened by :math:`\sqrt{n/(n-1)}`, and
    Student's t with n − 1 degrees of freedom, n the number of members or of instances (groups); for
    both, degrees of freedom follow Satterthwaite. ``docs/evaluation.md`` has the coverage in
    simulations: 95 to 99 % with healthy members.

    The interval is for the expected value with M members, whose EU is lower than with infinitely
    many (``correction="jackknife"`` of `labelwise.decompose` estimates that). Over members it
    assumes that they are independent trainings of the same kind. What is rare among trainings
    cannot be seen in a few of them: if one in ten fails, most ensembles of five have no failed
    member, and the interval misses the expected EU half of the time.

    Parameters
    ----------
    q : distribution
        Over members: `Ensemble` or `MultiLabelEnsemble`; over instances: any.
    loss, events
        As for `labelwise.decompose`.
    statistic : {"mean", "each"}
        The mean over all instances, or each instance (over members only).
    over : {"members", "instances", "both"}
        What is resampled.
    groups : array (...), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        Confidence level, number of replicates (at least 2), and their random seed or generator.

    Returns
    -------
    UncertaintyIntervals

    Examples
    --------
    >>> from labelwise import Ensemble
    >>> q = Ensemble(np.random.default_rng(0).dirichlet([8, 2], size=(10, 50)), class_names=["benign", "malignant"])
    >>> print(bootstrap_uncertainty(q, "squared", rng=0).epistemic)
    0.013 (95 % interval 0.010 to 0.016)
    0.013 (95 % interval 0.010 to 0.016)
    """  # noqa: E501
    check_choice(over, "over", ("members", "instances", "both"))
    check_choice(statistic, "statistic", ("mean", "each"))
    if statistic == "each" and over != "members":
        raise ValueError(
            "`statistic` 'each' is about single instances, which cannot be resampled: pass "
            f"over='members'; got over={over!r}"
        )
    if over == "members" and groups is not None:
        raise ValueError(
            "`groups` matter only when instances are resampled: pass over='instances' or "
            "over='both'"
        )
    (groups,) = same_rows(q, groups=groups)
    u = decompose(q, loss, events=events)
    k = len(u.class_names)
    aleatoric, epistemic = (
        to_numpy(x).astype(float).reshape(-1, k) for x in (u.aleatoric, u.epistemic)
    )
    values = with_sums(aleatoric, epistemic)
    n = values.shape[1]
    if n == 0:
        raise ValueError("`q` must have at least one instance")
    n_bootstrap, rng = check_replicates(n_bootstrap, required=True), as_rng(rng)
    members = instances = code = None
    n_members = n_groups = 0
    if over != "instances":
        resampling = Resampling(count_members(q, 3), None, n_bootstrap, confidence, rng)
        n_members = resampling.n_groups
        members = _drawn_weights(q, np.concatenate(list(resampling.group_counts())))
    if over != "members":
        resampling = Resampling(n, groups, n_bootstrap, confidence, rng)
        n_groups, code = resampling.n_groups, resampling.code
        instances = np.concatenate(
            [counts.astype(np.int32) for counts in resampling.group_counts()]
        )
    estimate = values
    if statistic == "mean":
        estimate = values.mean(axis=1)

    def variances(replicates: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Variances over replicates, given as the rows of replicates with the same members and
        their uncertainties (3, N, K + 1).
        """
        sums = squares = np.zeros_like(estimate)
        used = 0
        for rows, x in replicates:
            if instances is None:
                away = (x.mean(axis=1) if statistic == "mean" else x) - estimate
                sums, squares = sums + len(rows) * away, squares + len(rows) * away**2
            else:
                weights = instances[rows] if code is None else instances[rows][:, code]
                means = np.swapaxes(weights @ x, 0, 1) / weights.sum(axis=1)[:, None, None]
                away = means - estimate
                sums, squares = sums + away.sum(axis=0), squares + (away**2).sum(axis=0)
            used += len(rows)
        return np.asarray(np.maximum(squares / used - (sums / used) ** 2, 0))

    by_instances = variances([(np.arange(n_bootstrap), values)])  # 0 if they are not resampled
    by_members = np.zeros_like(by_instances)
    if members is not None:
        by_members = np.maximum(variances(_replicates(q, u, members)) - by_instances, 0)
    return _intervals(
        u,
        estimate,
        [(by_members, n_members), (by_instances, n_groups)],
        confidence,
        f"bootstrap over {over}",
    )


def _drawn_weights(q: Any, counts: np.ndarray) -> np.ndarray:
    """Member weights of each replicate, (replicates, M), summing to 1."""
    weights = counts if q.weights is None else counts * to_numpy(q.weights).astype(float)
    total = weights.sum(axis=1, keepdims=True)
    if not total.all():
        raise ValueError("`q` has members of weight 0: drop them before resampling members")
    return np.asarray(weights / total)


def _replicates(
    q: Any, u: Uncertainty, weights: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each distinct draw of at least two members: its replicates and its uncertainties
    (3, N, K + 1).
    """
    distinct, which = np.unique(weights, axis=0, return_inverse=True)
    which = which.reshape(-1)
    own = _drawn_weights(q, np.ones((1, q.n_members)))
    pairs = 1 - np.sum(distinct**2, axis=1)  # shares of pairs of different members
    own_pairs = 1 - np.sum(own**2)
    different = np.flatnonzero(pairs > 1e-12)
    parts = reweighted(q, u, distinct[different])
    for i, (aleatoric, epistemic) in zip(different, parts, strict=True):
        corrected = epistemic * own_pairs / pairs[i]
        yield np.flatnonzero(which == i), with_sums(aleatoric, corrected)


def _intervals(
    u: Uncertainty,
    value: np.ndarray,
    parts: list[tuple[np.ndarray, int]],
    confidence: float,
    method: str,
) -> UncertaintyIntervals:
    """Intervals of TU, AU and EU (3, ..., K + 1) from the variances due to members and to
    instances, and the number of each.
    """
    variance, df = pooled_variance([(v * n / (n - 1), n - 1) for v, n in parts if n])
    half = t_quantile(df, confidence) * np.sqrt(variance)
    shape = tuple(u.total.shape) if value.ndim == 3 else (len(u.class_names),)
    summable = u.structure != "overlapping"
    largest_sum = None
    if summable:
        largest_sum = u.sum().maximum
    largest = np.append(u.maximum, np.inf if largest_sum is None else largest_sum)

    relative = np.where(value > 0, half / np.where(value > 0, value, 1), 0)
    low = value * np.exp(-relative)
    high = np.minimum(value * np.exp(relative), np.maximum(largest, value))

    def one(i: int, columns: Any, shape: tuple[int, ...]) -> Estimate:
        middle, below, above = (x[i, ..., columns].reshape(shape)[()] for x in (value, low, high))
        return Estimate(middle, below, above, confidence, method)

    total, aleatoric, epistemic = (one(i, slice(-1), shape) for i in range(3))
    sums: list[Estimate | None] = [None] * 3
    if summable:
        sums = [one(i, -1, shape[:-1]) for i in range(3)]
    return UncertaintyIntervals(
        total, aleatoric, epistemic, sums[0], sums[1], sums[2], u.class_names
    )
