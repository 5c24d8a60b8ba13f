"""Uncertainty by class, and a ranking of the classes by the members' disagreement about them.

A rare class has a small mean EU_k because it has negligible probability on most instances. With
the true classes, the ranking therefore uses means over the instances of each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from .._frames import same_rows
from .._resampling import Estimate, Resampling
from .._tables import Tabular
from .._validation.labels import as_numpy, outcomes_by_class
from ..decomposition import PARTS, Uncertainty

RULES = {
    "own": "mean EU_k over the instances of class k",
    "everywhere": "mean EU_k over all instances (small for rare classes, even disputed ones)",
}


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Mean total, aleatoric and epistemic uncertainty of each class, arrays of shape (K,)."""

    total: Estimate
    aleatoric: Estimate
    epistemic: Estimate
    epistemic_share: Estimate
    """ΣEU_k / ΣTU_k; NaN for a class with no uncertainty on any instance."""


def epistemic_share(epistemic: Any, total: Any) -> np.ndarray:
    """The share of the uncertainty that is epistemic: mean EU divided by mean TU, over the same
    instances (a ratio of means).

    A mean of ratios would give certain and uncertain instances the same weight. NaN without any
    uncertainty.

    >>> epistemic_share([0.1, 0.0], [0.4, 0.0])
    array([0.25,  nan])
    """
    return _ratio_of_sums(np.asarray(epistemic, dtype=float), np.asarray(total, dtype=float))


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
        value = np.asarray(self.ranked_means.epistemic.value)
        order = np.argsort(np.where(np.isnan(value), np.inf, -value), kind="stable")
        return tuple(self.class_names[k] for k in order)

    def _title(self) -> str:
        rule = "everywhere" if self.own is None else "own"
        return f"Most disputed first, by {RULES[rule]}"

    def _columns(self) -> dict[str, Any]:
        order = [self.class_names.index(name) for name in self.ranking]
        columns: dict[str, Any] = {"class": self.class_names}
        if self.counts is not None:
            columns["n"] = self.counts
        if self.own is not None:
            columns |= self.own.epistemic.columns("epistemic_own")
        columns |= self.everywhere.epistemic.columns("epistemic")
        columns |= self.everywhere.total.columns("total")
        columns |= self.everywhere.epistemic_share.columns("epistemic_share")
        return {name: np.asarray(values)[order] for name, values in columns.items()}


def by_class(
    u: Uncertainty,
    y_true: Any = None,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> ByClass:
    r"""Label-wise uncertainty by class: means, ratios, and which class the members
    disagree about most.

    Three summaries of the EU of class k. The first depends on the prevalence of the class, the
    second does not, and the third is a share, not an amount:

    .. math::
        \frac1N \sum_i \mathrm{EU}_{ik}, \qquad \frac{\sum_{i: y_i = k} \mathrm{EU}_{ik}}{\#\{i: y_i
        = k\}}, \qquad \frac{\sum_i \mathrm{EU}_{ik}}{\sum_i \mathrm{TU}_{ik}}

    The classes are ranked by the second if ``y_true`` is given, else by the first.

    Parameters
    ----------
    u : Uncertainty
        Result of `labelwise.decompose`, arrays (..., K).
    y_true : array (...) or bool array (..., K), optional
        True classes as names or positions (integers are names if all class names are integers), or
        0/1 for each label or event.
    groups : array (...), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) all means have bootstrap intervals;
        ``rng`` is their random seed or generator.

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
    values = {part: as_numpy(getattr(u, part), part).reshape(-1, k) for part in PARTS}
    n = len(values["total"])
    if n == 0:
        raise ValueError(f"`u` must have at least one instance; got shape {(*shape, k)}")
    weights: dict[str, np.ndarray] = {"everywhere": np.ones((n, k))}
    counts = None
    if y_true is not None:
        outcomes = outcomes_by_class(y_true, u.class_names, shape)
        weights["own"], counts = outcomes.astype(float), outcomes.sum(axis=0)
    # per instance (N, weightings, 1 + measures, K): every summary is a ratio of sums of these
    measures = np.stack([np.ones((n, k)), *values.values()], axis=1)
    parts = np.stack(list(weights.values()), axis=1)[:, :, None] * measures[:, None]
    resampling = Resampling(n, groups, n_bootstrap, confidence, rng)
    sums = parts.sum(axis=0)
    replicates = resampling.sums(parts) if resampling.wanted else None

    def estimate(w: int, top: int, bottom: int = 0) -> Estimate:
        """One sum divided by another, for all classes, with intervals."""
        value = _ratio_of_sums(sums[w, top], sums[w, bottom])
        if replicates is None:
            return Estimate(value, confidence=confidence)
        drawn = _ratio_of_sums(replicates[:, w, top], replicates[:, w, bottom])
        units = _effective_number_of_groups(resampling.group_sums(parts[:, w, bottom]))
        highest = 1.0
        if bottom == 0:
            highest = np.fmax(u.maximum, value)  # a corrected mean may exceed the maximum
        return resampling.estimate(value, drawn, (0.0, highest), units)

    means = {}
    for w, name in enumerate(weights):
        share = estimate(w, 3, 1)
        means[name] = ClassMeans(estimate(w, 1), estimate(w, 2), estimate(w, 3), share)
    return ByClass(
        class_names=u.class_names,
        n=n,
        everywhere=means["everywhere"],
        own=means.get("own"),
        counts=counts,
    )


def _ratio_of_sums(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top / bottom; NaN where bottom is 0."""
    defined = bottom > 0
    return np.where(defined, top / np.where(defined, bottom, 1), np.nan)


def _effective_number_of_groups(weights: np.ndarray) -> np.ndarray:
    """How many equally weighted groups would say as much as groups with these weights (G, K), by
    class (Kish).
    """
    return _ratio_of_sums(weights.sum(axis=0) ** 2, np.sum(weights**2, axis=0))
