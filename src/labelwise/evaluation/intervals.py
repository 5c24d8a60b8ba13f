"""How far the measures themselves can be trusted: a bootstrap over members and instances, and how many members are enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

from .._arrays import Array, to_numpy
from .._resampling import Estimate, Resampling, check_confidence
from ..decomposition import Uncertainty, decompose
from ..distributions import Distribution, Ensemble, MultiLabelEnsemble
from ..distributions._atoms import Atoms
from ..distributions._checks import as_rng
from ..events import Family, as_events
from ..losses import Loss

ONE_MEMBER = (
    "one member says nothing about epistemic uncertainty: it is 0 because there is nobody to disagree, not because the model "
    "knows. Train at least {needed} members (5 or more are usual), or use a distribution such as lw.Dirichlet"
)


@dataclass(frozen=True, eq=False)
class UncertaintyIntervals:
    """Label-wise uncertainty with intervals, arrays of shape (K,) for means and (..., K) for single instances."""

    total: Estimate
    aleatoric: Estimate
    epistemic: Estimate
    sum_total: Estimate | None
    """The sum over the labels; ``None`` for events that overlap."""
    sum_aleatoric: Estimate | None
    sum_epistemic: Estimate | None
    names: tuple[str, ...]


def bootstrap_uncertainty(
    q: Distribution,
    loss: str | Loss = "log",
    *,
    rng: int | np.random.Generator,
    events: Family | None = None,
    statistic: str = "mean",
    over: str = "both",
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 1000,
) -> UncertaintyIntervals:
    r"""Intervals for label-wise TU, AU and EU: what other members, or other instances, might have given.

    Members and instances are drawn with replacement, as weights: nothing is predicted anew. Resampled members repeat, so they
    disagree less than new ones would, and the replicates of EU are scaled back to the estimate. The interval is
    :math:`\text{estimate} \cdot \exp(\pm t\, \mathrm{se} / \text{estimate})` with the bootstrap's standard error, widened by
    :math:`\sqrt{n/(n-1)}`, and Student's t with n − 1 degrees of freedom, n the number of members or groups, whichever is smaller.
    With 5 members simple percentiles held the truth in only 55 % of simulated cases, this interval in 93 to 99 %.

    It is an interval for what M members show on average. M members also show less EU than infinitely many: see `members_needed`.

    Parameters
    ----------
    q : distribution
        Over members: `Ensemble` or `MultiLabelEnsemble`; over instances: any.
    loss, events
        As for `labelwise.decompose`.
    rng : int or Generator
        The seed.
    statistic : {"mean", "each"}
        The mean over all instances, or each instance on its own (over members only).
    over : {"members", "instances", "both"}
        What is drawn again.
    groups : array (...), optional
        What belongs together (patients): whole groups are drawn instead of instances.
    confidence, n_bootstrap
        Level and number of replicates.

    Returns
    -------
    UncertaintyIntervals

    Examples
    --------
    >>> q = Ensemble(np.random.default_rng(0).dirichlet([8, 2], size=(10, 50)), names=["benign", "malignant"])
    >>> print(bootstrap_uncertainty(q, "squared", rng=0).epistemic)
    0.013 (95 % interval 0.010 to 0.017)
    0.013 (95 % interval 0.010 to 0.017)
    """
    if over not in ("members", "instances", "both"):
        raise ValueError(f"`over` must be 'members', 'instances' or 'both'; got {over!r}")
    if statistic not in ("mean", "each"):
        raise ValueError(f"`statistic` must be 'mean' or 'each'; got {statistic!r}")
    if statistic == "each" and over != "members":
        raise ValueError(
            f"`statistic` 'each' is about single instances, which cannot be drawn again: pass over='members'; got over={over!r}"
        )
    if over == "members" and groups is not None:
        raise ValueError("`groups` matter only when instances are drawn: pass over='instances' or over='both'")
    u = decompose(q, loss, events=events)
    values = _flat(u)
    n = values.shape[1]
    if n == 0:
        raise ValueError("`q` must have at least one instance")
    rng = as_rng(rng)
    draw: list[np.ndarray | None] = [None, None]
    sizes = []
    if over != "instances":
        member_draws = Resampling(_n_members(q, 2), None, n_bootstrap, confidence, rng)
        draw[0] = np.concatenate(list(member_draws.group_counts()))
        sizes.append(member_draws.n_groups)
    if over != "members":
        resampling = Resampling(n, None if groups is None else to_numpy(groups).reshape(-1), n_bootstrap, confidence, rng)
        draw[1] = np.concatenate([counts.astype(np.int32) for counts in resampling.group_counts()])
        code = resampling.code
        sizes.append(resampling.n_groups)
    estimate = values if statistic == "each" else values.mean(axis=1)
    moments = np.zeros((5, *estimate.shape[1:]))
    for rows, x in _replicates(q, u, values, draw[0], n_bootstrap):
        if draw[1] is None:
            found = (x if statistic == "each" else x.mean(axis=1))[None]
        else:
            weights = draw[1][rows] if code is None else draw[1][rows][:, code]
            found = np.swapaxes(weights @ x, 0, 1) / weights.sum(axis=1)[:, None, None]
        a, e = found[:, 0] - estimate[0], found[:, 1] - estimate[1]
        times = len(rows) / len(found)
        moments += times * np.stack([a.sum(0), e.sum(0), (a * a).sum(0), (e * e).sum(0), (a * e).sum(0)])
    return _intervals(u, estimate, moments / n_bootstrap, min(sizes), confidence, f"bootstrap over {over}")


def _n_members(q: Any, needed: int) -> int:
    if not isinstance(q, Ensemble | MultiLabelEnsemble):
        raise ValueError(f"`q` must be an ensemble to draw members from it; got {type(q).__name__}. Use over='instances'")
    if q.weights is not None and q.weights.ndim > 1:
        raise ValueError("`q` has weights that differ between instances, so its members are not drawn from one population")
    if q.n_members == 1:
        raise ValueError(f"`q`: {ONE_MEMBER.format(needed=needed)}")
    if q.n_members < needed:
        raise ValueError(f"`q` must have at least {needed} members here; got {q.n_members}: one disagreement has no spread")
    return q.n_members


def _flat(u: Uncertainty) -> np.ndarray:
    """Aleatoric and epistemic uncertainty as (2, N, K + 1), the last column being the sum over the labels."""
    parts = [to_numpy(x).astype(float).reshape(-1, len(u.names)) for x in (u.aleatoric, u.epistemic)]
    return np.stack([np.concatenate([x, x.sum(axis=-1, keepdims=True)], axis=-1) for x in parts])


def _replicates(q: Any, u: Uncertainty, values: np.ndarray, counts: np.ndarray | None, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each distinct draw of members, the replicates it belongs to and its (2, N, K + 1) uncertainties."""
    if counts is None:
        yield np.arange(n), values
        return
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    weights = distinct if q.weights is None else distinct * to_numpy(q.weights).astype(float)
    total = weights.sum(axis=1, keepdims=True)
    if np.any(total == 0):
        raise ValueError("`q` has members of weight 0: leave them out before drawing members")
    by_row = np.argsort(which.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(which.reshape(-1)))[:-1]
    yield from zip(np.split(by_row, ends), _reweighted(q, u, weights / total), strict=True)


def _reweighted(q: Any, u: Uncertainty, weights: np.ndarray) -> Iterator[np.ndarray]:
    r"""(2, N, K + 1): aleatoric and epistemic uncertainty with each row of ``weights`` on the members.

    With the full ensemble's mean as reference, :math:`\mathrm{EU}_w = \sum_m w_m D(\theta_m \Vert \bar\theta) - D(\bar\theta_w \Vert
    \bar\theta)`: the difference of two small numbers, not of two large ones, and 0 when the members agree.
    """
    law = q.marginal(as_events(u.events))
    k = len(u.names)
    law = Atoms(*(None if x is None else to_numpy(x).astype(float) for x in (law.t, law.weights, law.complement)))
    mt, mc = law.mean
    own = u.loss.entropy(law.t, law.c)
    away = u.loss.divergence(law.t, mt, law.c, mc, law.deviation)
    for w in weights:
        t, c, d, aleatoric, first = (np.tensordot(w, x, 1) for x in (law.t, law.c, law.deviation, own, away))
        epistemic = np.maximum(first - u.loss.divergence(t, mt, c, mc, d), 0)
        x = np.stack([aleatoric, epistemic]).reshape(2, -1, k)
        yield np.concatenate([x, x.sum(axis=-1, keepdims=True)], axis=-1)


def _intervals(u: Uncertainty, estimate: np.ndarray, moments: np.ndarray, n: int, confidence: float, method: str) -> UncertaintyIntervals:
    """Intervals from the mean, variance and covariance of replicates around the estimate."""
    from scipy.special import stdtrit

    a, e, aa, ee, ae = moments
    scale = np.where(estimate[1] + e > 0, estimate[1] / np.where(estimate[1] + e > 0, estimate[1] + e, 1), 1)
    var_a, var_e, cov = aa - a * a, (ee - e * e) * scale**2, (ae - a * e) * scale
    t = float(stdtrit(n - 1, (1 + confidence) / 2)) * sqrt(n / (n - 1))
    shape = tuple(u.total.shape) if estimate.ndim == 3 else (len(u.names),)
    summable = u.structure != "overlapping"
    largest = np.append(u.maximum, np.inf if not summable or (most := u.sum().maximum) is None else most)

    def one(value: np.ndarray, variance: np.ndarray) -> tuple[Estimate, Estimate | None]:
        some = value > 0
        relative = np.where(some, t * np.sqrt(np.maximum(variance, 0)) / np.where(some, value, 1), 0)
        low, high = value * np.exp(-relative), np.minimum(value * np.exp(relative), np.maximum(largest, value))
        labels = [x[..., :-1].reshape(shape) for x in (value, low, high)]
        sums = [x[..., -1].reshape(shape[:-1])[()] for x in (value, low, high)]
        summed = Estimate(sums[0], sums[1], sums[2], confidence, method) if summable else None
        return Estimate(labels[0], labels[1], labels[2], confidence, method), summed

    total, sum_total = one(estimate.sum(axis=0), var_a + var_e + 2 * cov)
    aleatoric, sum_aleatoric = one(estimate[0], var_a)
    epistemic, sum_epistemic = one(estimate[1], var_e)
    return UncertaintyIntervals(total, aleatoric, epistemic, sum_total, sum_aleatoric, sum_epistemic, u.names)


@dataclass(frozen=True, eq=False)
class MembersNeeded:
    """How the epistemic uncertainty (summed over the labels) depends on the number of members; made by `members_needed`."""

    n_members: int
    epistemic: float
    """Mean EU over the instances, of the members there are."""
    limit: float
    """Estimate of the same with infinitely many members."""
    standard_error: float
    """Standard error of the mean EU, from the differences between members."""
    standard_error_each: float
    """The same for a single instance (root mean square over the instances)."""
    target: float
    needed: int | None
    """The smallest number of members with a relative standard error of at most ``target``; ``None`` if the members agree."""

    def standard_error_at(self, m: Array) -> Array:
        """Expected standard error of the mean EU with ``m`` members."""
        return self.standard_error * np.sqrt(self.n_members / np.asarray(m))

    def bias_at(self, m: Array) -> Array:
        """How much lower the mean EU of ``m`` members is expected to be than the limit."""
        return (self.limit - self.epistemic) * self.n_members / np.asarray(m)

    def __str__(self) -> str:
        if self.needed is None:
            return f"All {self.n_members} members agree, so more members of this kind would add nothing."
        percent = [f"{100 * x:.0f} %" for x in (self.standard_error / self.limit, self.standard_error_each / self.limit, self.target)]
        enough = "that is enough" if self.needed <= self.n_members else f"for {percent[2]} train {self.needed} members"
        return (
            f"With {self.n_members} members the mean epistemic uncertainty is {self.epistemic:.3g}, with a standard error of {percent[0]} "
            f"({percent[1]} for a single instance); {enough}. It is about {100 * (1 - self.epistemic / self.limit):.0f} % lower than with "
            "infinitely many members."
        )


def members_needed(q: Distribution, loss: str | Loss = "log", *, events: Family | None = None, target: float = 0.05) -> MembersNeeded:
    r"""How many members are needed to know the epistemic uncertainty well enough?

    Leaving out one member at a time gives M pseudo-values :math:`M\,\mathrm{EU} - (M-1)\,\mathrm{EU}_{-i}`; their mean estimates EU
    with infinitely many members, their standard deviation divided by √m the standard error with m. The instances are taken as
    they are. The standard error is itself rough: by a third for M = 5, by a tenth for M = 50.

    Parameters
    ----------
    q : Ensemble or MultiLabelEnsemble
        At least 3 equally weighted members.
    loss, events
        As for `labelwise.decompose`.
    target : float
        The relative standard error that is good enough.

    Returns
    -------
    MembersNeeded

    Examples
    --------
    >>> q = Ensemble(np.random.default_rng(0).dirichlet([8, 2, 2], size=(5, 10)))
    >>> print(members_needed(q))
    With 5 members the mean epistemic uncertainty is 0.103, with a standard error of 13 % (42 % for a single instance); for 5 %
    train 36 members. It is about 20 % lower than with infinitely many members.
    """
    check_confidence(target)
    m = _n_members(q, 3)
    if q.weights is not None:  # type: ignore[union-attr]
        raise ValueError("`q` must have equally weighted members: the standard error is that of members drawn alike")
    u = decompose(q, loss, events=events)
    if u.structure == "overlapping":
        raise ValueError("`events` overlap, so their sum counts classes more than once. Use single labels or a partition")
    each = _flat(u)[1, :, -1]
    if not each.size:
        raise ValueError("`q` must have at least one instance")
    without = np.stack([x[1, :, -1] for x in _reweighted(q, u, (1 - np.eye(m)) / (m - 1))])
    pseudo = m * each - (m - 1) * without
    limit = float(pseudo.mean())
    se = float(pseudo.mean(axis=1).std(ddof=1)) / sqrt(m)
    se_each = float(np.sqrt(pseudo.var(axis=0, ddof=1).mean() / m))
    needed = max(2, ceil(m * (se / (target * limit)) ** 2)) if limit > 0 else None
    return MembersNeeded(m, float(each.mean()), limit, se, se_each, target, needed)
