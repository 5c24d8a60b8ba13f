"""Rank agreement of uncertainty with the spread of people's votes and with prediction error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise import Uncertainty
from labelwise.evaluation import RankAgreement, rank_agreement

from .text import PARTS


@dataclass(frozen=True, eq=False)
class Agreement:
    """Rank agreement of total, aleatoric and epistemic uncertainty with votes and with error."""

    pairs: dict[tuple[str, str], RankAgreement]
    """Such as ``["aleatoric", "votes"]``, of the sums over the labels."""
    by_class: dict[str, RankAgreement]
    """For each label, aleatoric uncertainty against the spread of the votes for or against it."""


def agreement(u: Uncertainty, votes: Any, error: Any = None, **options: Any) -> Agreement:
    """Compare the uncertainty of instances (N, K) with ``votes`` (N, K) and ``error`` (N,).

    Aleatoric and epistemic uncertainty are correlated in practice: a pair is informative only if it
    agrees more than the others. ``options`` are those of `labelwise.evaluation.rank_agreement`.
    """
    spread = vote_spread(votes, u)
    targets = {"votes": spread.sum(axis=-1)}
    if error is not None:
        targets["error"] = np.asarray(error)
    summed = u.sum()
    pairs = {
        (part, name): rank_agreement(getattr(summed, part), target, **options)
        for name, target in targets.items()
        for part in PARTS
    }
    by_class = {
        name: rank_agreement(u[name].aleatoric, spread[:, k], **options)
        for k, name in enumerate(u.class_names)
    }
    return Agreement(pairs, by_class)


def vote_spread(votes: Any, u: Uncertainty) -> np.ndarray:
    r"""The entropy of the loss of ``u`` at the vote shares, (N, K): :math:`G(v_k / \sum_j v_j)`."""
    counts = np.asarray(votes, dtype=float)
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray(u.loss.entropy(counts / total, (total - counts) / total))
