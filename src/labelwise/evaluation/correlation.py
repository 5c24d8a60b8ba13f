"""Rank agreement of uncertainty with the spread of human votes and with prediction error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._frames import columns_by_class, same_rows
from .._labels import as_numpy, as_scores, same_length
from .._resampling import Estimate, Resampling
from ..decomposition import PARTS, Uncertainty
from .runs import measure_of


@dataclass(frozen=True, eq=False)
class RankAgreement:
    """Rank correlations of two quantities; NaN if one of them is constant."""

    spearman: Estimate
    """Correlation of the ranks (ties share their mean rank)."""
    kendall: Estimate
    """Kendall's τ_b: pairs in the same order minus pairs in opposite order, corrected for ties."""
    n: int


@dataclass(frozen=True, eq=False)
class Agreement:
    """Rank agreement of total, aleatoric and epistemic uncertainty with human votes and with
    error.
    """

    pairs: dict[tuple[str, str], RankAgreement]
    by_class: dict[str, RankAgreement]
    """For each label, aleatoric uncertainty against the spread of the votes for or against that
    label.
    """

    def __getitem__(self, pair: tuple[str, str]) -> RankAgreement:
        """For example ``agreement["aleatoric", "votes"]``."""
        if pair not in self.pairs:
            known = ", ".join(f"[{a!r}, {b!r}]" for a, b in self.pairs)
            raise KeyError(f"no pair {pair!r}. There are {known}")
        return self.pairs[pair]


class _Ranked:
    """One variable, sorted once, and its midranks under any instance counts."""

    def __init__(self, x: np.ndarray) -> None:
        self.order = np.argsort(x, kind="stable")
        ranked = x[self.order]
        self.last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(x) - 1)
        self.block = np.empty(len(x), dtype=np.int64)
        self.block[self.order] = np.repeat(
            np.arange(len(self.last)), np.diff(self.last, prepend=-1)
        )

    def midranks(self, counts: np.ndarray) -> np.ndarray:
        """Mean rank minus one half of each instance when instance i occurs ``counts[..., i]``
        times.
        """
        upper = np.cumsum(counts[..., self.order], axis=-1, dtype=float)[..., self.last]
        lower = np.concatenate([np.zeros_like(upper[..., :1]), upper[..., :-1]], axis=-1)
        return np.asarray(((upper + lower) / 2)[..., self.block])


def _pearson(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Correlation over the last axis with weights."""
    total = w.sum(axis=-1, keepdims=True)
    dx, dy = (v - (w * v).sum(axis=-1, keepdims=True) / total for v in (x, y))
    xy, xx, yy = ((w * a * b).sum(axis=-1) for a, b in ((dx, dy), (dx, dx), (dy, dy)))
    spread = np.sqrt(xx * yy)
    return np.where(spread > 0, xy / np.where(spread > 0, spread, 1), np.nan)


def rank_agreement(
    a: Any,
    b: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> RankAgreement:
    """Spearman's and Kendall's rank correlation of two quantities, with (cluster) bootstrap
    intervals.

    Parameters
    ----------
    a, b : array (N,)
    groups : array (N,), optional
        Group of each instance (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        With ``n_bootstrap`` > 0 replicates (1000 is usual) both have bootstrap intervals; ``rng``
        is their random seed or generator. Kendall's takes most of the time: 2 s for 1000 replicates
        of 10,000 instances.

    Returns
    -------
    RankAgreement

    Examples
    --------
    >>> result = rank_agreement([1, 2, 3, 4], [1, 3, 2, 4])
    >>> round(float(result.spearman), 3), round(float(result.kendall), 3)
    (0.8, 0.667)
    """
    a, b, groups = same_rows(a=a, b=b, groups=groups)
    x = as_scores(a, "a")
    y = same_length(as_scores(b, "b"), "b", len(x), "a")
    resampling = Resampling(len(x), groups, n_bootstrap, confidence, rng)
    ranked = _Ranked(x), _Ranked(y)

    def spearman(counts: np.ndarray) -> np.ndarray:
        return _pearson(ranked[0].midranks(counts), ranked[1].midranks(counts), counts)

    values = float(spearman(np.ones(len(x)))), _kendall(ranked[0].block, ranked[1].block)
    if not resampling.wanted:
        return RankAgreement(
            Estimate(values[0], confidence=confidence),
            Estimate(values[1], confidence=confidence),
            len(x),
        )
    rho: list[np.ndarray] = []
    tau: list[float] = []
    for counts in resampling.counts():
        rho.append(spearman(counts))
        tau.extend(_kendall(*(np.repeat(x.block, count) for x in ranked)) for count in counts)
    found = [
        resampling.estimate(value, again, (-1.0, 1.0))
        for value, again in zip(values, (np.concatenate(rho), tau), strict=True)
    ]
    return RankAgreement(found[0], found[1], len(x))


def _kendall(x: np.ndarray, y: np.ndarray) -> float:
    """Kendall's τ_b of two integer rankings, NaN if one is constant."""
    from scipy.stats import kendalltau

    if np.all(x == x[0]) or np.all(y == y[0]):
        return float("nan")
    return float(
        kendalltau(x, y, method="asymptotic" if len(x) > 2 else "exact").statistic
    )  # the p-value of two would divide by 0


def agreement(
    u: Uncertainty,
    *,
    votes: Any = None,
    error: Any = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 0,
    rng: int | np.random.Generator | None = None,
) -> Agreement:
    r"""Rank agreement of the uncertainty with the spread of human votes and with the model's error.

    Where people disagree about an instance the outcome itself is noisy, so aleatoric uncertainty
    should be high. The spread of votes is the entropy of the same loss at the vote shares,
    :math:`\sum_k G(v_k / \sum_j v_j)`, in total and for each label. All three uncertainties are
    compared with both targets: aleatoric and epistemic uncertainty are correlated in practice, so a
    pair is informative only if it agrees more than the others.

    Parameters
    ----------
    u : Uncertainty
        Result of `labelwise.decompose`, arrays (N, K).
    votes : array (N, K), optional
        How many people chose each class.
    error : array (N,), optional
        Whether the prediction is wrong, or its risk.
    groups, confidence, n_bootstrap, rng
        As for `rank_agreement`.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from labelwise import Ensemble, decompose
    >>> q = Ensemble(np.array([[[0.5, 0.5], [0.9, 0.1], [0.99, 0.01]]]))
    >>> float(agreement(decompose(q), votes=[[6, 4], [9, 1], [10, 0]])["aleatoric", "votes"].spearman)
    1.0
    """  # noqa: E501
    if votes is None and error is None:
        raise ValueError("give `votes`, `error` or both to compare the uncertainty with")
    labelwise = {measure: as_numpy(measure_of(u, measure), measure) for measure in PARTS}
    if labelwise["total"].ndim != 2:
        raise ValueError(
            "`u` must have one row per instance, shape (N, K); got shape "
            f"{labelwise['total'].shape}"
        )
    votes, error, groups = same_rows(u, votes=votes, error=error, groups=groups)
    summed = u.sum()
    values = {measure: to_numpy(getattr(summed, measure)) for measure in PARTS}
    options: dict[str, Any] = {
        "groups": groups,
        "confidence": confidence,
        "n_bootstrap": n_bootstrap,
        "rng": rng,
    }
    pairs, by_class = {}, {}
    if votes is not None:
        spread = vote_spread(votes, u)
        for measure in PARTS:
            pairs[measure, "votes"] = rank_agreement(
                values[measure], spread.sum(axis=-1), **options
            )
        for k, name in enumerate(u.class_names):
            by_class[name] = rank_agreement(labelwise["aleatoric"][:, k], spread[:, k], **options)
    if error is not None:
        wrong = same_length(as_scores(error, "error"), "error", len(values["total"]), "u")
        for measure in PARTS:
            pairs[measure, "error"] = rank_agreement(values[measure], wrong, **options)
    return Agreement(pairs, by_class)


def vote_spread(votes: Any, u: Uncertainty) -> np.ndarray:
    """Label-wise entropy of the vote shares under the loss of ``u``, (N, K)."""
    counts = as_numpy(columns_by_class(votes, u.class_names, "votes"), "votes").astype(float)
    shape = tuple(u.total.shape)
    if counts.shape != shape:
        raise ValueError(
            f"`votes` must count the votes for each class, shape {shape}; got shape {counts.shape}"
        )
    if np.any(counts < 0):
        raise ValueError(f"`votes` must not be negative; got {counts.min():g}")
    total = counts.sum(axis=-1, keepdims=True)
    if np.any(total == 0):
        raise ValueError(
            f"`votes` must have at least one vote per instance; instance {int(np.argmin(total))} "
            "has none"
        )
    share = counts / total
    return np.asarray(u.loss.entropy(share, (total - counts) / total))
