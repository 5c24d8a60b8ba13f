"""Out-of-distribution detection: how well a score separates out-of-distribution from
in-distribution instances.

All numbers follow from the true and false positives at each distinct score, so one sort serves them
all and, with weighted counts, every bootstrap replicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._frames import same_rows
from .._resampling import Estimate, Resampling, check_confidence, check_replicates
from .._tables import Tabular
from .._validation.arguments import as_rng
from .._validation.labels import as_scores, same_length
from ._delong import delong, difference_interval, interval, placements


@dataclass(frozen=True, eq=False, repr=False)
class DetectionScores(Tabular):
    """Separation of out-of-distribution ("out") from in-distribution ("in") instances by a
    score.
    """

    auroc: Estimate
    """Probability that an "out" instance scores higher than an "in" one (ties count half); interval
    by DeLong's method.
    """
    aupr: Estimate
    """Average precision with "out" as the positive class; the share of "out" at chance level."""
    fpr95: Estimate
    """Share of "in" flagged at the threshold that detects at least 95 % of "out"."""
    n_in: int
    n_out: int

    def _title(self) -> str:
        return f"Detection of {self.n_out:,} out-of-distribution among {self.n_in:,} other cases"


@dataclass(frozen=True, eq=False, repr=False)
class DetectionComparison(Tabular):
    """Difference between two scores of the same instances, first minus second."""

    auroc: Estimate
    p_value: float
    """Two-sided p-value of equal AUROC (DeLong's test)."""

    def _title(self) -> str:
        return "Difference in AUROC, first score minus second"


class _DetectionRanking:
    """Instances in decreasing order of the score; "in" instances are numbered first."""

    def __init__(self, score_in: np.ndarray, score_out: np.ndarray) -> None:
        score = np.concatenate([score_in, score_out])
        self.n_in, self.n_out = len(score_in), len(score_out)
        self.order = np.argsort(score)[::-1]
        ranked = score[self.order]
        self.last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        """The last position of each distinct score."""
        self.is_out = self.order >= self.n_in

    def curves(self, counts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """True and false positives at each distinct score from the highest, (..., distinct),
        instances weighted by ``counts``.
        """
        ranked = np.ones(len(self.order)) if counts is None else counts[..., self.order]
        caught = np.cumsum(ranked * self.is_out, axis=-1)[..., self.last]
        everything = np.cumsum(ranked, axis=-1)[..., self.last]
        return caught.astype(float), (everything - caught).astype(float)

    def placements(self) -> tuple[np.ndarray, np.ndarray]:
        """See `_delong.placements`."""
        return placements(*self.curves(), self.order, self.last, self.n_in)

    def numbers(self, counts: np.ndarray | None = None) -> np.ndarray:
        """AUROC, AUPR and FPR at 95 % TPR, (..., 3), of instances weighted by ``counts``."""
        tp, fp = self.curves(counts)
        p, n = tp[..., -1:], fp[..., -1:]
        dtp, dfp = (np.diff(x, axis=-1, prepend=0.0) for x in (tp, fp))
        empty = (p == 0) | (n == 0)  # a cluster bootstrap may draw only one side
        p, n = np.where(empty, 1, p), np.where(empty, 1, n)
        caught = tp / p >= 0.95
        numbers = (
            np.sum(dfp * (tp - dtp / 2), axis=-1, keepdims=True) / (p * n),
            np.sum(dtp * tp / np.maximum(tp + fp, 1), axis=-1, keepdims=True) / p,
            np.min(np.where(caught, fp / n, 1.0), axis=-1, keepdims=True),
        )
        return np.where(empty, np.nan, np.concatenate(numbers, axis=-1))


def _groups_of_both_sides(
    groups_in: Any, groups_out: Any, n_in: int, n_out: int
) -> np.ndarray | None:
    """Groups of all instances, "in" first; equal names on both sides are one group."""
    if groups_in is None and groups_out is None:
        return None
    if groups_in is None or groups_out is None:
        raise ValueError("give both `groups_in` and `groups_out`, or neither")
    sides = []
    for groups, n, name in ((groups_in, n_in, "groups_in"), (groups_out, n_out, "groups_out")):
        side = to_numpy(groups)
        if side.shape != (n,):
            raise ValueError(
                f"`{name}` must name the group of each of the {n} instances, shape ({n},); got "
                f"shape {side.shape}"
            )
        sides.append(side)
    if (sides[0].dtype.kind in "US") != (sides[1].dtype.kind in "US"):
        raise TypeError(
            f"`groups_in` and `groups_out` must be of the same kind; got {sides[0].dtype} and "
            f"{sides[1].dtype}"
        )
    return np.concatenate(sides)


def detection_scores(
    score_in: Any,
    score_out: Any,
    *,
    groups_in: Any = None,
    groups_out: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> DetectionScores:
    """AUROC, AUPR and FPR at 95 % TPR of a score that should be higher out of distribution.

    Any real-valued score; only its order matters. Ties are exact (they count half in the AUROC and
    share a threshold elsewhere). The numbers equal scikit-learn's ``roc_auc_score``,
    ``average_precision_score`` and the first point of ``roc_curve`` with a true-positive rate of at
    least 0.95. Others take "in" as the positive class; for their AUPR and FPR, swap the sides:
    ``detection_scores(-score_out, -score_in)``.

    Parameters
    ----------
    score_in, score_out : array (N,), (L,)
        Scores of the in-distribution and of the out-of-distribution instances.
    groups_in, groups_out : array (N,), (L,), optional
        Group of each instance (patient), named alike on both sides; used by all intervals.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) AUPR and FPR have bootstrap intervals;
        ``rng`` is their random seed or generator. The AUROC always has DeLong's interval.

    Returns
    -------
    DetectionScores

    Examples
    --------
    >>> scores = detection_scores([0.1, 0.2, 0.3, 0.4], [0.3, 0.6, 0.7])
    >>> round(float(scores.auroc), 4), round(float(scores.aupr), 4), float(scores.fpr95)
    (0.875, 0.8667, 0.5)
    """
    score_in, groups_in = same_rows(score_in=score_in, groups_in=groups_in)
    score_out, groups_out = same_rows(score_out=score_out, groups_out=groups_out)
    ranking = _DetectionRanking(as_scores(score_in, "score_in"), as_scores(score_out, "score_out"))
    groups = _groups_of_both_sides(groups_in, groups_out, ranking.n_in, ranking.n_out)
    check_confidence(confidence)
    spread = delong(*ranking.placements(), groups)
    return DetectionScores(
        auroc=interval(float(ranking.numbers()[0]), spread, confidence),
        **_aupr_and_fpr_with_bootstrap(ranking, groups, spread.df, n_bootstrap, confidence, rng),
        n_in=ranking.n_in,
        n_out=ranking.n_out,
    )


def as_numbers(scores: DetectionScores) -> dict[str, float]:
    """What the command and the report show, as plain data."""
    return {
        "auroc": float(scores.auroc),
        "low": float(scores.auroc.low),
        "high": float(scores.auroc.high),
        "aupr": float(scores.aupr),
        "fpr95": float(scores.fpr95),
    }


def compare_detection(
    a_in: Any,
    a_out: Any,
    b_in: Any,
    b_out: Any,
    *,
    groups_in: Any = None,
    groups_out: Any = None,
    confidence: float = 0.95,
) -> DetectionComparison:
    """Paired difference in AUROC between two scores, a − b, on the same instances.

    Scores of the same instances have correlated errors, which DeLong's covariance takes into
    account. Parameters as for `detection_scores`.

    >>> rng = np.random.default_rng(0)
    >>> a_in, a_out = rng.normal(0, 1, 200), rng.normal(1, 1, 200)
    >>> b_in, b_out = a_in + rng.normal(0, 1, 200), a_out + rng.normal(0, 1, 200)
    >>> print(compare_detection(a_in, a_out, b_in, b_out).auroc)
    0.092 (95 % interval 0.051 to 0.133)
    """
    a_in, b_in, groups_in = same_rows(a_in=a_in, b_in=b_in, groups_in=groups_in)
    a_out, b_out, groups_out = same_rows(a_out=a_out, b_out=b_out, groups_out=groups_out)
    a = as_scores(a_in, "a_in"), as_scores(a_out, "a_out")
    b = (
        same_length(as_scores(b_in, "b_in"), "b_in", len(a[0]), "a_in"),
        same_length(as_scores(b_out, "b_out"), "b_out", len(a[1]), "a_out"),
    )
    groups = _groups_of_both_sides(groups_in, groups_out, len(a[0]), len(a[1]))
    check_confidence(confidence)
    first, second = _DetectionRanking(*a), _DetectionRanking(*b)
    difference = float(first.numbers()[0] - second.numbers()[0])
    (in_a, out_a), (in_b, out_b) = first.placements(), second.placements()
    spread = delong(in_a - in_b, out_a - out_b, groups)
    return DetectionComparison(*difference_interval(difference, spread, confidence))


def _aupr_and_fpr_with_bootstrap(
    ranking: _DetectionRanking,
    groups: np.ndarray | None,
    df: float,
    n_bootstrap: int,
    confidence: float,
    rng: Any,
) -> dict[str, Estimate]:
    """AUPR and FPR at 95 % TPR with bootstrap intervals.

    Whether there are few groups is decided by the degrees of freedom of the AUROC.
    """
    _, aupr, fpr95 = ranking.numbers().tolist()
    if check_replicates(n_bootstrap) == 0:
        return {
            "aupr": Estimate(aupr, confidence=confidence),
            "fpr95": Estimate(fpr95, confidence=confidence),
        }
    n_in, n_out = ranking.n_in, ranking.n_out
    rng = as_rng(rng)
    if groups is None:  # resample each side at its own size
        sides = [Resampling(n, None, n_bootstrap, confidence, rng) for n in (n_in, n_out)]
    else:
        sides = [Resampling(n_in + n_out, groups, n_bootstrap, confidence, rng)]
    replicates = []
    for drawn in zip(*(side.counts(n_in + n_out) for side in sides), strict=True):
        replicates.append(ranking.numbers(np.concatenate(drawn, axis=1)))
    columns = np.concatenate(replicates).T
    return {
        "aupr": sides[0].estimate(aupr, columns[1], (0.0, 1.0), df + 1),
        "fpr95": sides[0].estimate(fpr95, columns[2], (0.0, 1.0), df + 1),
    }
