"""A test: are claims of aleatoric uncertainty compatible with people's votes?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .._arrays import quotient
from .._resampling import Resampling, check_replicates
from .._tables import Check
from .._validation.arguments import as_rng
from .._validation.labels import check_fitted_classes
from ..distributions import Distribution
from ..evaluation.votes import Votes, read_votes
from ..events import Family
from .reliability import BinnedForecasts
from .votes_repair import apply_maps, fit_maps

N_BINS = 3
MIN_DISAGREEMENTS = 20
"""Disagreements, claimed or observed, that a cell needs to be tested."""


@dataclass(frozen=True, eq=False, repr=False)
class VoteCheck(Check):
    """Whether claims of aleatoric uncertainty are compatible with votes, returned by
    `check_votes`.
    """

    ok: bool
    """Whether the claims are compatible with the votes: not rejected at the chosen level."""
    p_value: float
    within: float
    """The relative error that all labels' mean claims stay within, with the chosen confidence for
    all labels at once; infinite if a label is never disagreed about.
    """
    claimed: dict[str, float]
    """Mean claimed aleatoric uncertainty of each label that was tested."""
    observed: dict[str, float]
    pooled: tuple[str, ...]
    """Labels with too few disagreements, tested together as ``"other labels"``."""

    def _columns(self) -> dict[str, Any]:
        claimed, observed = self.claimed.values(), self.observed.values()
        return {"label": list(self.claimed), "claimed": [*claimed], "observed": [*observed]}

    def __str__(self) -> str:
        size = "within no bound"
        if np.isfinite(self.within):
            size = f"within {100 * self.within:.0f} %"
        if self.ok:
            return (
                f"The votes do not contradict the claims (p = {self.p_value:.3f}); they agree "
                f"{size}."
            )
        worst = max(self.claimed, key=lambda name: abs(self.claimed[name] - self.observed[name]))
        return (
            f"The votes contradict the claims (p = {self.p_value:.3f}): two people disagree about "
            f"{worst!r} in {200 * self.observed[worst]:.2f} % of the "
            f"cases, claimed are {200 * self.claimed[worst]:.2f} %. Claimed and observed agree "
            f"{size}."
        )


def check_votes(
    q: Distribution,
    votes: Any,
    *,
    fitted_on: tuple[Any, ...] | None = None,
    events: Family | None = None,
    annotators: Sequence[str] | None = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_bootstrap: int = 300,
    rng: int | np.random.Generator | None = None,
) -> VoteCheck:
    """Test whether claimed aleatoric uncertainty under squared loss is compatible with votes.

    The gap between claim and observed disagreement is taken for each label over all cases and in
    three bins by size of the claim. The statistic is the largest gap in units of its bootstrap
    standard error; its distribution under the null hypothesis is that of the bootstrap gaps around
    the observed ones. Labels with few disagreements are tested together. A large data set rejects
    every model, a small one none; `within` says how far off the claims may be. In simulations with
    right claims the test rejected 3 to 6 % at the 5 % level, repaired claims 4 to 8 %.

    Parameters
    ----------
    q, votes, events, annotators
        As for `vote_reliability`; the votes of ``fitted_on`` are of the same kind.
    fitted_on : tuple (q, votes) or (q, votes, groups), optional
        Test the claims repaired by `fit_vote_calibration` on these other cases. The error of the
        fit is part of the null hypothesis: each replicate resamples both sets and fits again.
    groups : array (N,), optional
        Group of each case (patient), resampled as a whole.
    confidence, n_bootstrap, rng
        The test has level 1 − ``confidence``; number of replicates, and their random seed or
        generator.

    Returns
    -------
    VoteCheck
        ``.ok`` is true if compatible; prints as a sentence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=2000)
    >>> q = lw.Ensemble(np.stack([[p, 1 - p]] * 2).transpose(0, 2, 1))
    >>> votes = rng.binomial(2, p)
    >>> print(check_votes(q, np.stack([votes, 2 - votes], axis=1), rng=0))
    The votes do not contradict the claims (p = 0.990); they agree within 6 %.
    """
    n_bootstrap, rng = check_replicates(n_bootstrap, required=True), as_rng(rng)
    test = read_votes(q, votes, events=events, annotators=annotators, groups=groups)
    fit = None
    if fitted_on is not None:
        if not isinstance(fitted_on, tuple) or len(fitted_on) not in (2, 3):
            raise ValueError(
                "`fitted_on` must be (q, votes) or (q, votes, groups) of the cases that the repair "
                "is fitted on"
            )
        other, other_votes, other_groups = (*fitted_on, None)[:3]
        fit = read_votes(
            other, other_votes, events=events, annotators=annotators, groups=other_groups
        )
        check_fitted_classes(len(test.class_names), test.class_names, fit.class_names)
    claims = test.claimed[1]
    if fit is not None:
        claims = apply_maps(*fit_maps(fit), test.mean, test.u)[1]
    cells = _TestedCells(claims, test)
    gap = cells.mean_gaps(claims, np.ones(len(claims)))
    replicates = _replicated_claims(claims, test, fit, n_bootstrap, rng)
    replicated = np.stack([cells.mean_gaps(c, w) for w, c in replicates])
    p_value = _p_value_of_claims(gap, replicated)
    k = len(cells.names)
    seen = cells.sums(cells.observed)[:k] / len(claims)
    within = _relative_error_of_claims(gap[:k], replicated[:, :k], seen, confidence)
    return VoteCheck(
        p_value >= 1 - confidence,
        p_value,
        within,
        dict(zip(cells.names, (gap[:k] + seen).tolist(), strict=True)),
        dict(zip(cells.names, seen.tolist(), strict=True)),
        cells.pooled,
    )


class _TestedCells:
    """What is tested: each label with enough disagreements, the other labels together, and the
    bins by claim of a label that have enough.
    """

    def __init__(self, claims: np.ndarray, test: Votes) -> None:
        self.observed = test.observed[1]
        # bins by repaired claims would select errors of the fit
        self.binned = [
            BinnedForecasts(claimed, observed, [N_BINS], adaptive=True)
            for claimed, observed in zip(test.claimed[1].T, self.observed.T, strict=True)
        ]
        # claimed: about the probability that at least two people disagree
        expected = self.sums_of_bins(np.minimum(1.0, test.n * claims))
        seen = self.sums_of_bins(self.observed > 0)
        informative = np.maximum(expected, seen)  # (E, bins)
        self.enough = informative.sum(axis=1) >= MIN_DISAGREEMENTS
        self.rest = bool(informative[~self.enough].sum() >= MIN_DISAGREEMENTS)
        self.bins = (informative >= MIN_DISAGREEMENTS) & self.enough[:, None]
        if not self.enough.any() and not self.rest:
            raise ValueError(
                f"`votes` must hold at least {MIN_DISAGREEMENTS} disagreements, claimed or "
                f"observed; got {informative.sum():.1f}. Collect more votes before testing"
            )
        labels = np.array(test.class_names)
        self.names = [*labels[self.enough].tolist(), *["other labels"] * self.rest]
        self.pooled = tuple(labels[~self.enough].tolist())

    def sums_of_bins(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` (N, E) over the cases of each label's bins, (E, bins)."""
        return np.stack(
            [bins.sums(of_label) for bins, of_label in zip(self.binned, x.T, strict=True)]
        )

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` (N, E) over the cells: first the labels, as in ``names``, then the bins."""
        sums = self.sums_of_bins(x)
        labels = [*sums.sum(axis=1)[self.enough], *[sums[~self.enough].sum()] * self.rest]
        return np.concatenate([labels, sums[self.bins]])

    def mean_gaps(self, claims: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Mean of claim minus observation in each cell, over all cases with these weights."""
        gaps = claims - self.observed
        return self.sums(weights[:, None] * gaps) / weights.sum()


def _p_value_of_claims(gap: np.ndarray, replicated: np.ndarray) -> float:
    """Of the largest gap in units of its standard error, against that of the bootstrap gaps around
    the observed ones.
    """
    squares = (replicated - gap) ** 2
    # shares are at most 1, which biases fits near 1; that is no fault of the claims
    unbiased = gap - (replicated.mean(axis=0) - gap)
    beyond = np.minimum(np.abs(gap), np.abs(unbiased))
    statistic = np.max(_gap_in_standard_errors(beyond, squares.mean(axis=0)))
    # in units that leave the replicate itself out, as the gap is
    others = (squares.sum(axis=0) - squares) / (len(replicated) - 1)
    null = np.max(_gap_in_standard_errors(replicated - gap, others), axis=1)
    return float((1 + np.sum(null >= statistic)) / (1 + len(replicated)))


def _relative_error_of_claims(
    gap: np.ndarray, replicated: np.ndarray, seen: np.ndarray, confidence: float
) -> float:
    """The largest relative error of a label that the simultaneous intervals of the gaps allow."""
    variance = ((replicated - gap) ** 2).mean(axis=0)
    largest = np.max(_gap_in_standard_errors(replicated - gap, variance), axis=1)
    off = np.abs(gap) + np.quantile(largest, confidence) * np.sqrt(variance)
    return float(np.max(np.where(off > 0, quotient(off, seen, np.inf), 0)))


def _gap_in_standard_errors(gap: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The size of each gap in standard errors; 0 where it does not vary."""
    return quotient(np.abs(gap), np.sqrt(variance), 0)


def _replicated_claims(
    claims: np.ndarray,
    test: Votes,
    fit: Votes | None,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Weights of the cases (N,) and claims (N, E) in each replicate."""

    def draws(read: Votes) -> Iterator[np.ndarray]:
        resampling = Resampling(len(read.code), read.code, n_bootstrap, 0.95, rng)
        return chain.from_iterable(resampling.counts())

    if fit is None:
        yield from ((weights, claims) for weights in draws(test))
        return
    for weights, fit_weights in zip(draws(test), draws(fit), strict=True):
        maps = fit_maps(fit, fit_weights.astype(float))
        yield weights, apply_maps(*maps, test.mean, test.u)[1]
