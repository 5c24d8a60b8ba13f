"""Repair claims of uncertainty with people's votes: first the mean, then the aleatoric share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .._arrays import to_numpy
from .._suggestions import check_choice
from ..decomposition import PARTS, Uncertainty, decompose
from ..distributions import Distribution
from ..events import Events, Family, as_events
from ._maps import fit_isotonic, fit_logistic, ordered
from .votes import Votes, claimed_share, read_votes

Method = Literal["isotonic", "platt"]
Map = Callable[[np.ndarray], np.ndarray]

FEW = 50
"""Labels with fewer cases on which people disagree share their maps with all labels."""
LEAST = 1e-12
"""Repaired totals below it say nothing about the share."""


@dataclass(frozen=True, eq=False)
class VoteCalibration:
    """Maps fitted to votes. Call it on a distribution to get its repaired `Uncertainty` under
    squared loss.
    """

    mean_maps: tuple[Map, ...]
    """Of each label: θ̄ to the expected share of votes."""
    share_maps: tuple[Map, ...]
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
        if u.class_names != self.class_names:
            raise ValueError(
                "`q` must have the labels the maps were fitted for, "
                f"{', '.join(self.class_names[:5])}; got {', '.join(u.class_names[:5])}"
            )
        mean = np.clip(to_numpy(q.marginal(self.events).mean[0]).astype(float), 0, 1)
        total, aleatoric, epistemic = _apply(
            self.mean_maps, self.share_maps, mean, claimed_share(u)
        )
        return replace(
            u,
            total=total,
            aleatoric=aleatoric,
            epistemic=epistemic,
            sums=None,
            joint=None,
            error=None,
            n_members=None,
        )

    def __str__(self) -> str:
        lines = ["mean, claimed → repaired".ljust(32) + "".join(f"{part:>22}" for part in PARTS)]
        for k, name in enumerate(self.class_names):
            moved = "".join(
                f"{f'{a:.4f} → {b:.4f}':>22}"
                for a, b in zip(self.claimed[:, k], self.repaired[:, k], strict=True)
            )
            lines.append(f"  {name[:27] + (' *' if name in self.pooled else ''):30}" + moved)
        return "\n".join(
            lines
            + (["  * maps of all labels together: too few disagreements"] if self.pooled else [])
        )


def fit_vote_calibration(
    q: Distribution,
    votes: Any,
    *,
    method: Method = "isotonic",
    events: Family | None = None,
    annotators: Sequence[str] | None = None,
) -> VoteCalibration:
    r"""Repair TU, AU and EU so that they fit the votes of people.

    First the mean: the expected share of votes for label k as a nondecreasing function θ̄′_k of
    θ̄_k, so TU′ = θ̄′(1 − θ̄′). Then the aleatoric share: AU′/TU′ as a nondecreasing function of
    the claimed AU/TU, with values in [0, 1], such that mean AU′ is the mean disagreement of pairs
    of votes wherever that function is constant. EU′ = TU′ − AU′ ≥ 0. Repairing AU alone is
    impossible: people often disagree more than the *total* claimed.

    Fit on cases used neither for training nor for evaluation.

    Parameters
    ----------
    q, votes, events, annotators
        As for `vote_reliability`.
    method : {"isotonic", "platt"}
        Any nondecreasing functions, or logistic ones with two parameters, for few votes. Labels
        with fewer than 50 cases on which people disagree use functions fitted to all labels
        together.

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
    >>> q = lw.Ensemble(np.stack([[sure, 1 - sure]] * 2).transpose(0, 2, 1), class_names=["ill", "healthy"])
    >>> votes = rng.binomial(3, p)
    >>> u = fit_vote_calibration(q, np.stack([votes, 3 - votes], axis=1))(q)
    >>> before = lw.decompose(q, "squared")
    >>> [round(float(x["ill"].aleatoric.mean()), 2) for x in (before, u)], round(float(np.mean(p * (1 - p))), 2)
    ([0.15, 0.2], 0.2)
    """  # noqa: E501
    check_choice(method, "method", ("isotonic", "platt"))
    read = read_votes(q, votes, events=events, annotators=annotators)
    means, shares, pooled = fit_maps(read, method)
    repaired = _apply(means, shares, read.mean, read.claimed_share).mean(axis=1)
    return VoteCalibration(
        means,
        shares,
        read.class_names,
        as_events(events),
        pooled,
        read.claimed.mean(axis=1),
        repaired,
    )


def fit_maps(
    read: Votes,
    method: str,
    weights: np.ndarray | None = None,
    orders: dict[Any, Any] | None = None,
) -> tuple[tuple[Map, ...], tuple[Map, ...], tuple[str, ...]]:
    """Maps of the means and of the shares, and the labels that use pooled maps.

    ``weights`` (N,) are those of the cases. A dictionary ``orders`` remembers how the cases are
    sorted, for fits with other weights.
    """
    w = np.ones((len(read.n), 1)) if weights is None else weights[:, None]
    orders = {} if orders is None else orders
    few = ((read.yes > 0) & (read.yes < read.n)).sum(axis=0) < FEW

    def fit(kind: str, x: np.ndarray, y: np.ndarray, each: np.ndarray, of: int | None) -> Map:
        if method == "platt":
            return fit_logistic(x[None], y, "platt", weights=each)
        if (kind, of) not in orders:
            orders[kind, of] = ordered(x)
        return fit_isotonic(x, y, each, orders[kind, of])

    def both(of: int | None) -> tuple[Map, Map]:
        part = slice(None) if of is None else slice(of, of + 1)
        x, y, share, observed = (
            a[:, part].ravel()
            for a in (read.mean, read.share, read.claimed_share, read.observed[1])
        )
        each = np.broadcast_to(w, read.mean[:, part].shape).ravel()
        mean_map = fit("mean", x, y, each, of)
        total = _total(mean_map(x))
        known = total > LEAST
        if not np.any(each[known] > 0):
            return mean_map, np.ones_like
        target = observed / np.where(known, total, 1)
        return mean_map, fit(
            "share", share, target, np.where(known, each * total, 0), of
        )  # so that mean AU′ is the mean disagreement

    together = both(None) if few.any() else None
    pairs = [together if together is not None and few[k] else both(k) for k in range(len(few))]
    return (
        tuple(a for a, _ in pairs),
        tuple(b for _, b in pairs),
        tuple(name for name, f in zip(read.class_names, few, strict=True) if f),
    )


def apply_maps(means: Sequence[Map], shares: Sequence[Map], read: Votes) -> np.ndarray:
    """Repaired TU, AU and EU of the cases, (3, N, E)."""
    return _apply(means, shares, read.mean, read.claimed_share)


def _apply(
    means: Sequence[Map], shares: Sequence[Map], mean: np.ndarray, share: np.ndarray
) -> np.ndarray:
    total = np.stack([_total(f(mean[..., k])) for k, f in enumerate(means)], axis=-1)
    part = np.clip(np.stack([f(share[..., k]) for k, f in enumerate(shares)], axis=-1), 0, 1)
    return np.stack([total, part * total, (1 - part) * total])


def _total(mean: np.ndarray) -> np.ndarray:
    mean = np.clip(mean, 0, 1)
    return np.asarray(mean * (1 - mean))
