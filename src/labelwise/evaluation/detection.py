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
from .._resampling import Estimate, Resampling, check_confidence, check_replicates, group_codes
from .._tables import Tabular
from .._validation.arguments import Rng, as_rng
from .._validation.labels import as_scores, same_length
from ._delong import delong, delong_interval, difference_interval
from .ranking import RankedScores


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


class DetectionRanking:
    """Instances by their score, of which some are "out"."""

    def __init__(self, score: np.ndarray, is_out: np.ndarray) -> None:
        self.ranked, self.is_out = RankedScores(score), is_out

    def _counts(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Numbers of "out" and of "in" at each level of the score and up to it, (..., levels)."""
        up_to = self.ranked.sums(np.stack([counts * self.is_out, counts * ~self.is_out]))
        (out_at, in_at) = np.diff(up_to, axis=-1, prepend=0.0)
        return out_at, in_at, *up_to.astype(float)

    def placements(self) -> tuple[np.ndarray, np.ndarray]:
        """For each "in" the share of "out" that scores higher, for each "out" the share of "in"
        that scores lower; ties count half. The mean of either is the AUROC.
        """
        out_at, in_at, out, inside = self._counts(np.ones(len(self.is_out)))
        higher = self.ranked.of_instances(1 - (out - out_at / 2) / out[-1])
        lower = self.ranked.of_instances((inside - in_at / 2) / inside[-1])
        return higher[~self.is_out], lower[self.is_out]

    def numbers(self, counts: np.ndarray) -> np.ndarray:
        """AUROC, AUPR and FPR at 95 % TPR, (..., 3), of instances that are there ``counts``
        (..., n) times.
        """
        out_at, in_at, out, inside = self._counts(counts)
        p, n = out[..., -1:], inside[..., -1:]
        empty = (p == 0) | (n == 0)  # a cluster bootstrap may draw only one side
        p, n = np.where(empty, 1, p), np.where(empty, 1, n)
        tp, fp = p - out + out_at, n - inside + in_at  # flagged: of this level or higher
        numbers = (
            np.sum(out_at * (inside - in_at / 2), axis=-1, keepdims=True) / (p * n),
            np.sum(out_at * tp / np.maximum(tp + fp, 1), axis=-1, keepdims=True) / p,
            np.min(np.where(tp / p >= 0.95, fp / n, 1.0), axis=-1, keepdims=True),
        )
        return np.where(empty, np.nan, np.concatenate(numbers, axis=-1))


def _rank_both_sides(score_in: np.ndarray, score_out: np.ndarray) -> DetectionRanking:
    score = np.concatenate([score_in, score_out])
    return DetectionRanking(score, np.arange(len(score)) >= len(score_in))


def _groups_of_both_sides(
    groups_in: Any, groups_out: Any, n_in: int, n_out: int
) -> np.ndarray | None:
    """Groups of all instances, "in" first; equal names on both sides are one group."""
    if (groups_in is None) != (groups_out is None):
        raise ValueError("give both `groups_in` and `groups_out`, or neither")
    if groups_in is None:
        return None
    group_codes(groups_in, n_in, "groups_in")  # which refuses other shapes
    group_codes(groups_out, n_out, "groups_out")
    inside, out = to_numpy(groups_in), to_numpy(groups_out)
    if (inside.dtype.kind in "US") != (out.dtype.kind in "US"):
        raise TypeError(
            f"`groups_in` and `groups_out` must be of the same kind; got {inside.dtype} and "
            f"{out.dtype}"
        )
    return np.append(inside, out)


def detection_scores(
    score_in: Any,
    score_out: Any,
    *,
    groups_in: Any = None,
    groups_out: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: Rng = None,
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
    inside, out = as_scores(score_in, "score_in"), as_scores(score_out, "score_out")
    ranking = _rank_both_sides(inside, out)
    groups = _groups_of_both_sides(groups_in, groups_out, len(inside), len(out))
    check_confidence(confidence)
    spread = delong(*ranking.placements(), groups)
    auroc, aupr, fpr95 = ranking.numbers(np.ones(len(inside) + len(out))).tolist()
    aupr, fpr95 = Estimate(aupr, confidence=confidence), Estimate(fpr95, confidence=confidence)
    if check_replicates(n_bootstrap) > 0:
        rng = as_rng(rng)
        if groups is None:  # resample each side at its own size
            sides = [Resampling(len(x), None, n_bootstrap, confidence, rng) for x in (inside, out)]
        else:
            sides = [Resampling(len(groups), groups, n_bootstrap, confidence, rng)]
        replicates = []
        for drawn in zip(*(side.counts(len(inside) + len(out)) for side in sides), strict=True):
            replicates.append(ranking.numbers(np.concatenate(drawn, axis=1)))
        _, auprs, fprs = np.concatenate(replicates).T
        # whether there are few groups is decided by the degrees of freedom of the AUROC
        aupr = sides[0].estimate(aupr.value, auprs, (0.0, 1.0), spread.df + 1)
        fpr95 = sides[0].estimate(fpr95.value, fprs, (0.0, 1.0), spread.df + 1)
    return DetectionScores(
        delong_interval(auroc, spread, confidence), aupr, fpr95, len(inside), len(out)
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
) -> Estimate:
    """Paired difference in AUROC between two scores, a − b, on the same instances.

    Scores of the same instances have correlated errors, which DeLong's covariance takes into
    account. Parameters as for `detection_scores`.

    >>> rng = np.random.default_rng(0)
    >>> a_in, a_out = rng.normal(0, 1, 200), rng.normal(1, 1, 200)
    >>> b_in, b_out = a_in + rng.normal(0, 1, 200), a_out + rng.normal(0, 1, 200)
    >>> print(compare_detection(a_in, a_out, b_in, b_out))
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
    (in_a, out_a), (in_b, out_b) = (_rank_both_sides(*x).placements() for x in (a, b))
    difference = float(in_a.mean() - in_b.mean())
    spread = delong(in_a - in_b, out_a - out_b, groups)
    return difference_interval(difference, spread, confidence)
