"""Uncertainty by class, and a ranking of the classes by the members' disagreement about them.

A rare class has a small mean EU_k because it has negligible probability on most instances. With
the true classes, the ranking therefore uses means over the instances of each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .._arrays import Array, quotient
from .._engine.blocks import add_rows, row_blocks
from .._frames import same_rows
from .._resampling import Estimate, check_confidence, group_codes, t_interval
from .._tables import Tabular
from .._validation.labels import as_numpy, outcomes_by_class
from ..decomposition import PARTS, Uncertainty

# Of the number of instances and the sums of the three parts: which two make each of `ClassMeans`.
_RATIOS = ((1, 0), (2, 0), (3, 0), (3, 1))


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Mean total, aleatoric and epistemic uncertainty of each class, arrays of shape (K,)."""

    total: Estimate
    aleatoric: Estimate
    epistemic: Estimate
    epistemic_share: Estimate
    """ΣEU_k / ΣTU_k; NaN for a class with no uncertainty on any instance."""


@dataclass(frozen=True, eq=False, repr=False)
class ByClass(Tabular):
    """Summary of label-wise uncertainty by class, returned by `by_class`."""

    class_names: tuple[str, ...]
    n: int
    everywhere: ClassMeans
    """Means over all instances."""
    own: ClassMeans | None
    """Means over the instances of each class; needs ``y_true``."""
    counts: Array | None
    """Number of instances of each class; needs ``y_true``."""

    @property
    def ranked_means(self) -> ClassMeans:
        """The means that the ranking is by: `own` if ``y_true`` was given, else `everywhere`."""
        return self.own or self.everywhere

    @property
    def ranking(self) -> tuple[str, ...]:
        """The classes from most to least disputed among the members, by their mean EU over their
        own instances if ``y_true`` was given, which does not depend on prevalence, else over all.
        Classes without a value come last.
        """
        return tuple(self.class_names[k] for k in self.order)

    @property
    def order(self) -> np.ndarray:
        """The positions of the classes in the order of `ranking`."""
        value = self.ranked_means.epistemic.value
        return np.argsort(-value, kind="stable")  # NaN is last

    def _title(self) -> str:
        rule = "mean EU_k over the instances of class k"
        if self.own is None:
            rule = "mean EU_k over all instances (small for rare classes, even disputed ones)"
        return f"Most disputed first, by {rule}"

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"class": self.class_names}
        if self.counts is not None:
            columns["n"] = self.counts
        if self.own is not None:
            columns |= self.own.epistemic.columns("epistemic_own")
        columns |= self.everywhere.epistemic.columns("epistemic")
        columns |= self.everywhere.total.columns("total")
        columns |= self.everywhere.epistemic_share.columns("epistemic_share")
        return {name: np.asarray(values)[self.order] for name, values in columns.items()}


def by_class(
    u: Uncertainty,
    y_true: Any = None,
    *,
    groups: Any = None,
    intervals: bool = False,
    confidence: float = 0.95,
) -> ByClass:
    r"""Label-wise uncertainty by class: means, ratios, and which class the members
    disagree about most.

    Three summaries of the EU of class k. The first depends on the prevalence of the class, the
    second does not, and the third is a share, not an amount:

    .. math::
        \frac1N \sum_i \mathrm{EU}_{ik}, \qquad \frac{\sum_{i: y_i = k} \mathrm{EU}_{ik}}{\#\{i: y_i
        = k\}}, \qquad \frac{\sum_i \mathrm{EU}_{ik}}{\sum_i \mathrm{TU}_{ik}}

    The classes are ranked by the second if ``y_true`` is given, else by the first. All are ratios
    of sums over instances, or over groups, and have Student's t-intervals (linearized, on the logit
    scale) with as many degrees of freedom as equally large groups would have, less one. Memory: a
    byte for each number of a part (N, K), where ``y_true`` is given; for intervals of groups three
    sums (G, K).

    Parameters
    ----------
    u : Uncertainty
        Result of `labelwise.decompose`, arrays (..., K).
    y_true : array (...) or bool array (..., K), optional
        True classes as names or positions (integers are names if all class names are integers), or
        0/1 for each label or event.
    groups : array (...), optional
        Group of each instance (patient), for the intervals.
    intervals : bool
        Whether all means have intervals.
    confidence : float

    Returns
    -------
    ByClass

    Examples
    --------
    >>> from labelwise import Ensemble, decompose
    >>> rare = np.array([[0.1, 0.1, 0.8], [0.2, 0.1, 0.2]])
    >>> q = Ensemble(np.stack([1 - rare, rare], axis=-1), class_names=["common", "rare"])
    >>> summary = by_class(decompose(q), ["common", "common", "rare"])
    >>> summary.ranking, summary.own.epistemic.value.round(3)
    (('rare', 'common'), array([0.007, 0.278]))
    """
    if not hasattr(u, "epistemic"):
        raise TypeError(f"`u` must be the result of lw.decompose; got {type(u).__name__}")
    y_true, groups = same_rows(u, y_true=y_true, groups=groups)
    shape, k = u.total.shape[:-1], len(u.class_names)
    values = [as_numpy(getattr(u, part), part).reshape(-1, k) for part in PARTS]
    n = len(values[0])
    if n == 0:
        raise ValueError(f"`u` must have at least one instance; got shape {(*shape, k)}")
    outcomes = None
    if y_true is not None:
        outcomes = outcomes_by_class(y_true, u.class_names, shape)
    check_confidence(confidence)
    if groups is not None and not intervals:
        raise ValueError("`groups` are used only for intervals. Pass intervals=True, too")
    code, n_groups = group_codes(groups, n)
    sums = ClassSums(k)
    for rows in row_blocks(n, k):
        sums.add([x[rows] for x in values], None if outcomes is None else outcomes[rows])
    found = sums.result(u.class_names, confidence)
    if not intervals:
        return found
    tables = _sums_of_groups(values, None, code, n_groups)
    everywhere, own = _with_intervals(found.everywhere, tables, u.maximum), found.own
    if own is not None:
        tables = _sums_of_groups(values, outcomes, code, n_groups)
        own = _with_intervals(own, tables, u.maximum)
    return replace(found, everywhere=everywhere, own=own)


class ClassSums:
    """What every summary by class is a ratio of: the number of instances and the sums of total,
    aleatoric and epistemic uncertainty, over all instances and over those of each class.

    Memory: O(K). Blocks of any size give the same bits.
    """

    def __init__(self, k: int) -> None:
        self.everywhere = np.zeros((1 + len(PARTS), k))
        """(4, K): the number, and the three sums."""
        self.own: np.ndarray | None = None

    def add(self, values: Sequence[np.ndarray], outcomes: np.ndarray | None) -> None:
        """Add the three parts (n, K) of some more instances, and to which classes these belong."""
        self.everywhere[0] += len(values[0])
        for i, x in enumerate(values, 1):
            self.everywhere[i] = add_rows(self.everywhere[i], x)
        if outcomes is None:
            return
        if self.own is None:
            self.own = np.zeros_like(self.everywhere)
        k = self.own.shape[1]
        instances, labels = np.nonzero(outcomes)
        labels = np.append(np.arange(k), labels)
        for i, x in enumerate([outcomes, *values]):
            self.own[i] = np.bincount(labels, np.append(self.own[i], x[instances, labels[k:]]))

    def result(self, class_names: tuple[str, ...], confidence: float = 0.95) -> ByClass:
        """The summary, without intervals."""
        own, counts, n = None, None, int(self.everywhere[0, 0])
        if self.own is not None:
            own, counts = _class_means(self.own, confidence), self.own[0].astype(np.int64)
        return ByClass(class_names, n, _class_means(self.everywhere, confidence), own, counts)


def _class_means(sums: np.ndarray, confidence: float) -> ClassMeans:
    """Means and the epistemic share from the number and the sums of the parts, (4, K)."""
    ratios = [quotient(sums[top], sums[bottom]) for top, bottom in _RATIOS]
    return ClassMeans(*(Estimate(ratio, confidence=confidence) for ratio in ratios))


def _sums_of_groups(
    values: Sequence[np.ndarray],
    outcomes: np.ndarray | None,
    code: np.ndarray,
    n_groups: int,
) -> list[Any]:
    """The number of instances and the sums of the three parts in each group, over all instances,
    (G, 1) and (G, K), or over those of each class, as sparse (G, K).
    """
    from scipy.sparse import csr_array

    n = len(values[0])
    if outcomes is None:
        each: list[Any] = [np.ones((n, 1)), *values]
    else:
        at = np.nonzero(outcomes)
        each = [csr_array((x[at].astype(float), at), outcomes.shape) for x in (outcomes, *values)]
    if n_groups == n:
        return each
    in_group = csr_array((np.ones(n), (code, np.arange(n))), shape=(n_groups, n))
    return [in_group @ x for x in each]


def _with_intervals(means: ClassMeans, tables: Sequence[Any], maximum: np.ndarray) -> ClassMeans:
    """The means with intervals from the sums of the groups."""
    estimates = []
    for field, (top, bottom) in zip(fields(ClassMeans), _RATIOS, strict=True):
        value, confidence = getattr(means, field.name).value, means.total.confidence
        size, squares, errors = np.zeros((3, len(value)))
        for rows in row_blocks(*tables[1].shape):
            sizes = _dense(tables[bottom][rows])
            away = _dense(tables[top][rows]) - value * sizes
            size += sizes.sum(axis=0)
            squares += (sizes**2).sum(axis=0)
            errors += (away**2).sum(axis=0)
        # how many equally large groups would say as much (Kish)
        units = quotient(size**2, squares)
        error = quotient(np.sqrt(errors * quotient(units, units - 1)), size)
        highest: Any = 1.0
        if bottom == 0:
            highest = np.fmax(maximum, value)  # a corrected mean may exceed the maximum
        freedom = np.fmax(units - 1, 1)
        ends = t_interval(value, error, freedom, confidence, (0.0, highest), units)
        method = f"t-interval over {tables[0].shape[0]} groups"
        estimates.append(Estimate(value, *ends, confidence, method))
    return ClassMeans(*estimates)


def _dense(table: Any) -> np.ndarray:
    """A part of a table in double precision."""
    return np.asarray(table if isinstance(table, np.ndarray) else table.toarray(), float)
