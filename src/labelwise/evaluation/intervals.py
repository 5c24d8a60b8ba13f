"""Confidence intervals of uncertainty: a jackknife over members."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np

from .._arrays import as_double
from .._engine.blocks import row_blocks
from .._resampling import Estimate, check_confidence, t_interval
from .._tables import Tabular
from ..decomposition import PARTS, decompose
from ..distributions import Distribution
from ..events import Family
from ..losses import Loss, LossName
from .classes import ClassSums

MIN_MEMBERS = 3
INSTANCE_BLOCK = 1 << 20  # predictions that are held in double precision at once


@dataclass(frozen=True, eq=False, repr=False)
class UncertaintyIntervals(Tabular):
    """Mean label-wise uncertainty with intervals, each of shape (K,)."""

    total: Estimate
    aleatoric: Estimate
    epistemic: Estimate
    class_names: tuple[str, ...]

    def _title(self) -> str:
        return f"Uncertainty with {100 * self.total.confidence:g} % intervals over the members"

    def _columns(self) -> dict[str, Any]:
        columns = {"label": self.class_names}
        for part in PARTS:
            columns |= getattr(self, part).columns(part)
        return columns


def uncertainty_intervals(
    q: Distribution,
    loss: LossName | Loss = "log",
    *,
    events: Family | None = None,
    confidence: float = 0.95,
) -> UncertaintyIntervals:
    r"""Confidence intervals for mean label-wise TU, AU and EU over trainings of the members.

    A jackknife: each member is left out once. M − 1 members have less EU than M, so the EU of each
    part of the ensemble is divided by its share of pairs of different members, :math:`1 - \sum_m
    w_m^2`, and multiplied by that of the ensemble. The interval is :math:`\text{estimate} \cdot
    \exp(\pm t\, \mathrm{se} / \text{estimate})` with Student's t and M − 1 degrees of freedom.
    ``docs/lab/coverage.md`` has the coverage in simulations.

    The interval is for the expected value with M members, whose EU is lower than with infinitely
    many (``correction="jackknife"`` of `labelwise.decompose` estimates that). It assumes that the
    members are independent trainings of the same kind. What is rare among trainings cannot be seen
    in a few of them: if one in ten fails, most ensembles of five have no failed member, and the
    interval misses the expected EU a third of the time. The instances stay as they are; for
    intervals over instances see `by_class`. Memory: O(K).

    Parameters
    ----------
    q : Ensemble or MultiLabelEnsemble
        At least 3 members.
    loss, events
        As for `labelwise.decompose`.
    confidence : float

    Returns
    -------
    UncertaintyIntervals

    Examples
    --------
    >>> from labelwise import Ensemble
    >>> q = Ensemble(np.random.default_rng(0).dirichlet([8, 2], size=(10, 50)))
    >>> print(uncertainty_intervals(q, "squared").epistemic)
    0.013 (95 % interval 0.011 to 0.014)
    0.013 (95 % interval 0.011 to 0.014)
    """
    check_confidence(confidence)
    weights = _weights_for_jackknife(q)
    m = len(weights)
    if not all(q.batch_shape):
        raise ValueError("`q` must have at least one instance")
    n, *inner = q.batch_shape or (1,)
    one: Any = q[:1] if q.batch_shape else q
    labels = decompose(one, loss, events=events)  # their names and the largest values

    def means(weights: np.ndarray) -> np.ndarray:
        """Mean TU, AU and EU of each label, (3, K), with the EU of as many members as there are."""
        weights = weights / weights.sum()
        sums = ClassSums(k)
        for rows in row_blocks(n, m * prod(inner) * q.n_classes, INSTANCE_BLOCK):
            part: Any = q[rows] if q.batch_shape else q
            part = part.with_values(stored=as_double(part.probs), weights=weights)
            u = decompose(part, loss, events=events)
            sums.add([getattr(u, name).reshape(-1, k) for name in PARTS], None)
        _, _, aleatoric, epistemic = sums.everywhere / sums.everywhere[0]
        epistemic *= pairs / _pairs_of_different_members(weights)
        return np.stack([aleatoric + epistemic, aleatoric, epistemic])

    k = len(labels.class_names)
    pairs = _pairs_of_different_members(weights)
    estimate = means(weights)
    without = np.stack([means(weights * (np.arange(m) != i)) for i in range(m)])
    se = np.sqrt((m - 1) * np.var(without, axis=0))
    low, high = t_interval(estimate, se, m - 1, confidence, (0.0, inf), m)
    high = np.minimum(high, np.maximum(labels.maximum, estimate))  # of what uncertainty can be
    total, aleatoric, epistemic = (
        Estimate(*ends, confidence, "jackknife over members")
        for ends in zip(estimate, low, high, strict=True)
    )
    return UncertaintyIntervals(total, aleatoric, epistemic, labels.class_names)


def _weights_for_jackknife(q: Any) -> np.ndarray:
    """The weights of the members, which must be enough to leave one out, and sum to 1."""
    if not isinstance(q, Distribution) or not q.finite or q.n_members is None:
        raise ValueError(
            f"`q` must be an ensemble to leave out members; got {type(q).__name__}. For intervals "
            "over instances use lw.evaluation.by_class"
        )
    weights = np.full(q.n_members, 1 / q.n_members)
    if q.weights is not None:
        weights = as_double(q.weights)
    if weights.ndim > 1:
        raise ValueError(
            "`q` has weights that differ between instances, so its members cannot be left out"
        )
    if np.count_nonzero(weights) < MIN_MEMBERS:
        raise ValueError(
            f"`q` must have at least {MIN_MEMBERS} members with a weight (5 or more are usual); "
            f"got {np.count_nonzero(weights)}: one member says nothing about epistemic "
            "uncertainty, and two say nothing about how it varies"
        )
    return weights


def _pairs_of_different_members(weights: np.ndarray) -> float:
    """The share of pairs of members drawn with these weights that are not the same one twice."""
    return 1 - float(weights @ weights)
