"""Are claims of uncertainty right? Claimed against observed disagreement of people, label by
label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._resampling import check_confidence
from .._tables import Tabular, counted
from ..decomposition import PARTS
from ..distributions import Distribution
from ..evaluation.votes import read_votes
from ..events import Family
from .votes_intervals import Claim, mean_claim


@dataclass(frozen=True, eq=False)
class VotePart:
    """Total, aleatoric or epistemic uncertainty against the votes."""

    labels: Claim
    summed: Claim | None
    """The sum over the labels; ``None`` for events that overlap."""


@dataclass(frozen=True, eq=False, repr=False)
class VoteReliability(Tabular):
    """Claimed against observed uncertainty under squared loss, returned by `vote_reliability`."""

    total: VotePart
    aleatoric: VotePart
    """Twice these numbers: the probability that two people disagree about the label."""
    epistemic: VotePart
    """Observed: the squared difference between vote probability and predicted mean, so it includes
    the bias of the mean.
    """
    class_names: tuple[str, ...]
    n_cases: int
    left_out: int
    """Cases with fewer than two votes, which are not used."""

    def _title(self) -> str:
        sums = []
        for name in PARTS:
            summed = getattr(self, name).summed
            if summed is not None:
                sums.append(f"{name} {summed.ratio.value:.2f}")
        title = f"Claimed ÷ observed over {counted(self.n_cases, 'case')}"
        if self.left_out:
            title += f" ({self.left_out:,} with fewer than two votes are left out)"
        if sums:
            title += f"; of the sum of all labels: {', '.join(sums)}"
        return title

    def _columns(self) -> dict[str, Any]:
        columns = {"label": self.class_names}
        for name in PARTS:
            columns |= getattr(self, name).labels.ratio.columns(name)
        return columns


def vote_reliability(
    q: Distribution,
    votes: Any,
    *,
    events: Family | None = None,
    annotators: Sequence[str] | None = None,
    groups: Any = None,
    confidence: float = 0.95,
) -> VoteReliability:
    r"""Compare claimed with observed uncertainty, label by label, from at least two votes per case.

    .. math:: \mathrm{AU} \leftrightarrow \tfrac12 (v_1 - v_2)^2, \quad
              \mathrm{EU} \leftrightarrow (v_1 - \bar\theta_k)(v_2 - \bar\theta_k), \quad
              \mathrm{TU} \leftrightarrow \tfrac12 [(v_1 - \bar\theta_k)^2 + (v_2 - \bar\theta_k)^2]

    for pairs of votes of one case (v = 1 for label k), averaged over the pairs of a case and then
    over the cases, which weigh equally. The three add up exactly and are unbiased if the
    predictions were fixed before the votes. The claim under test: a label of the model means the
    vote of one random person, and two people vote independently given Θ. If the model was trained
    on curated labels, the ratio also measures that mismatch.

    It is about squared loss: under log loss finitely many votes give no unbiased estimate.

    Parameters
    ----------
    q : Distribution
        Predictions for N cases.
    votes : array (N, K), or (N, A) with ``annotators``, or (A, N, K)
        Numbers of votes for each class; or the class chosen by each annotator (position or name; −1
        or an empty name for none). For labels that may occur together (`MultiLabelEnsemble`): 0 or
        1 for each annotator, case and label, −1 for cases without an answer.
    events : mapping or Events, optional
        Groups of classes or ordinal cuts instead of single labels.
    annotators : sequence of str, optional
        Names of the A annotators. Intervals then allow for the choice of annotators too (jackknife,
        at least three).
    groups : array (N,), optional
        Group of each case (patient); defaults to one group per case.
    confidence : float
        Level of the intervals: cluster-robust, with Student's t, within the bounds of what two
        votes can show. Where nobody disagreed, they allow for as much as could have been missed.

    Returns
    -------
    VoteReliability

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 2, size=2000)
    >>> votes = rng.binomial(2, p)  # two people vote on each case
    >>> q = lw.Ensemble(np.stack([[p, 1 - p]] * 2).transpose(0, 2, 1))
    >>> print(vote_reliability(q, np.stack([votes, 2 - votes], axis=1)).aleatoric.summed.ratio)
    0.991 (95 % interval 0.941 to 1.045)
    """
    check_confidence(confidence)
    read = read_votes(q, votes, events=events, annotators=annotators, groups=groups)
    parts = []
    for part in range(len(PARTS)):
        claim = mean_claim(read, part, confidence)
        summed = None
        if read.u.structure != "overlapping":
            summed = claim[-1]
        parts.append(VotePart(claim[:-1], summed))
    n_cases, left_out = len(read.n), len(read.keep) - len(read.n)
    return VoteReliability(parts[0], parts[1], parts[2], read.class_names, n_cases, left_out)
