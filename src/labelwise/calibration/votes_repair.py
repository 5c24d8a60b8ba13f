"""Repair claims of uncertainty with people's votes: first the mean, then the aleatoric share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import as_double
from .._tables import Tabular, first_names
from .._validation.labels import check_fitted_classes
from ..decomposition import PARTS, Uncertainty, decompose
from ..distributions import Distribution
from ..evaluation.votes import Votes, claimed_share, read_votes
from ..events import Events, Family, as_events
from ._maps import fit_isotonic

Map = Callable[[np.ndarray], np.ndarray]
Maps = tuple[Map, ...]
"""Of each label."""

MIN_DISPUTED_CASES = 50
"""Labels with fewer cases on which people disagree share their maps with all labels."""
MIN_TOTAL = 1e-12
"""Repaired totals below it say nothing about the share."""


@dataclass(frozen=True, eq=False, repr=False)
class VoteCalibration(Tabular):
    """Maps fitted to votes. Call it on a distribution to get its repaired `Uncertainty` under
    squared loss.
    """

    mean_maps: Maps
    """Of each label: θ̄ to the expected share of votes."""
    share_maps: Maps
    """Of each label: claimed to repaired share AU/TU."""
    class_names: tuple[str, ...]
    events: Events | None
    pooled: tuple[str, ...]
    """Labels with too few disagreements, which use maps fitted to all labels together."""
    claimed: np.ndarray
    """Mean claimed TU, AU and EU of each label on the fitting data, (3, E)."""
    repaired: np.ndarray
    """The same after the repair."""

    def __call__(self, q: Distribution) -> Uncertainty:
        """TU′ = θ̄′(1 − θ̄′), AU′ = share′ · TU′, EU′ = (1 − share′) · TU′.

        Each θ̄′_k is the expected share of votes for one label; over the labels they need not sum
        to 1.
        """
        u = decompose(q, "squared", events=self.events)
        check_fitted_classes(len(u.class_names), u.class_names, self.class_names)
        mean = np.clip(as_double(q.marginal(self.events).mean[0]), 0, 1)
        total, aleatoric, epistemic = apply_maps(self.mean_maps, self.share_maps, mean, u)
        return replace(
            u,
            total=total,
            aleatoric=aleatoric,
            epistemic=epistemic,
            sums=None,
            error=None,
            n_members=None,
        )

    def _title(self) -> str:
        title = "Means on the fitting data, claimed and repaired"
        if self.pooled:
            title += f"; too few disagreements, maps of all labels: {first_names(self.pooled)}"
        return title

    def _columns(self) -> dict[str, Any]:
        columns = {"label": self.class_names}
        for part, claimed, repaired in zip(PARTS, self.claimed, self.repaired, strict=True):
            columns[f"{part}_claimed"] = claimed
            columns[part] = repaired
        return columns


def fit_vote_calibration(
    q: Distribution,
    votes: Any,
    *,
    events: Family | None = None,
    annotators: Sequence[str] | None = None,
) -> VoteCalibration:
    r"""Repair TU, AU and EU so that they fit the votes of people.

    First the mean: the expected share of votes for label k as a nondecreasing function θ̄′_k of
    θ̄_k, so TU′ = θ̄′(1 − θ̄′). Then the aleatoric share: AU′/TU′ as a nondecreasing function of
    the claimed AU/TU, with values in [0, 1], such that mean AU′ is the mean disagreement of pairs
    of votes wherever that function is constant. Labels with fewer than 50 cases on which people
    disagree use functions fitted to all labels together. EU′ = TU′ − AU′ ≥ 0. Repairing AU alone is
    impossible: people often disagree more than the *total* claimed.

    Fit on cases used neither for training nor for evaluation.

    Parameters
    ----------
    q, votes, events, annotators
        As for `vote_reliability`.

    Returns
    -------
    VoteCalibration
        Call it on a distribution to get an `Uncertainty`; printed, it says how far TU, AU and EU
        moved.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=2000)
    >>> sure = np.clip(1.5 * p - 0.25, 0, 1)  # an overconfident prediction
    >>> q = lw.Ensemble(np.stack([[sure, 1 - sure]] * 2).transpose(0, 2, 1))
    >>> votes = rng.binomial(3, p)
    >>> u = fit_vote_calibration(q, np.stack([votes, 3 - votes], axis=1))(q)
    >>> claimed, truth = lw.decompose(q, "squared").aleatoric[:, 0], p * (1 - p)
    >>> [round(float(x.mean()), 2) for x in (claimed, u.aleatoric[:, 0], truth)]
    [0.15, 0.2, 0.2]
    """
    read = read_votes(q, votes, events=events, annotators=annotators)
    means, shares = fit_maps(read)
    few = read.disputed < MIN_DISPUTED_CASES
    return VoteCalibration(
        means,
        shares,
        read.class_names,
        as_events(events),
        tuple(np.array(read.class_names)[few].tolist()),
        read.claimed.mean(axis=1),
        apply_maps(means, shares, read.mean, read.u).mean(axis=1),
    )


def fit_maps(read: Votes, weights: np.ndarray | None = None) -> tuple[Maps, Maps]:
    """Maps of the means and of the shares; ``weights`` (N,) are those of the cases. Labels with
    fewer than `MIN_DISPUTED_CASES` disagreements use pooled maps.
    """
    w = np.ones((len(read.n), 1)) if weights is None else weights[:, None]
    share = claimed_share(read.u)

    def fit_both(labels: slice) -> tuple[Map, Map]:
        x = read.mean[:, labels].ravel()
        each = np.broadcast_to(w, read.mean[:, labels].shape).ravel()
        mean_map = fit_isotonic(x, (read.yes / read.n)[:, labels].ravel(), each)
        total = _entropy_of_mean(mean_map(x))
        known = total > MIN_TOTAL
        if not np.any(each[known] > 0):
            return mean_map, np.ones_like
        target = read.observed[1][:, labels].ravel() / np.where(known, total, 1)
        # weighted by TU′, so that mean AU′ is the mean disagreement
        of_share = np.where(known, each * total, 0)
        return mean_map, fit_isotonic(share[:, labels].ravel(), target, of_share)

    few = read.disputed < MIN_DISPUTED_CASES
    pooled = fit_both(slice(None)) if few.any() else None
    pairs = []
    for k in range(len(few)):
        pairs.append(pooled if pooled and few[k] else fit_both(slice(k, k + 1)))
    means, shares = zip(*pairs, strict=True)
    return means, shares


def apply_maps(means: Maps, shares: Maps, mean: np.ndarray, u: Uncertainty) -> np.ndarray:
    """Repaired TU, AU and EU of the cases with this θ̄ and these claims, (3, N, E)."""
    share = claimed_share(u)
    total = np.stack([_entropy_of_mean(f(mean[..., k])) for k, f in enumerate(means)], axis=-1)
    part = np.clip(np.stack([f(share[..., k]) for k, f in enumerate(shares)], axis=-1), 0, 1)
    return np.stack([total, part * total, (1 - part) * total])


def _entropy_of_mean(mean: np.ndarray) -> np.ndarray:
    mean = np.clip(mean, 0, 1)
    return mean * (1 - mean)
