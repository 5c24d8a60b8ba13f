"""Which number tells best where people disagree? Held-out scores of repaired aleatoric uncertainty
and of simple baselines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._labels import as_numpy
from .._resampling import Estimate, t_interval_with_extremes
from ..distributions import Distribution
from ..events import Family
from ._maps import fit_isotonic
from .votes import Votes, read_votes
from .votes_intervals import case_bounds, pair_bounds, standard_error
from .votes_repair import FEW, apply_maps, fit_maps


@dataclass(frozen=True, eq=False)
class VoteScore:
    """Squared error of claims about the disagreement of people: score = calibration − resolution +
    uncertainty; arrays (E,).
    """

    score: Estimate
    """Mean squared difference from ½(v₁ − v₂)², averaged over the pairs of a case. It includes the
    noise of the votes, the same for all claims.
    """
    calibration: np.ndarray
    """What the best nondecreasing map of the claims would save; 0 is best."""
    resolution: np.ndarray
    """What that map saves over the best constant; higher is better."""
    uncertainty: np.ndarray
    """The score of the best constant, the same for all claims."""
    class_names: tuple[str, ...]


def score_votes(
    claims: Any,
    q: Distribution,
    votes: Any,
    *,
    events: Family | None = None,
    annotators: Sequence[str] | None = None,
    groups: Any = None,
    confidence: float = 0.95,
) -> VoteScore:
    r"""Score claims of aleatoric uncertainty under squared loss, (N, E), against votes.

    .. math:: \frac1N \sum_i \Big( c_i - \overline{\tfrac12 (v_1 - v_2)^2} \Big)^2 = \text{calibration} - \text{resolution} + \text{uncertainty}

    The pair statistic is unbiased for p(1 − p), so the expected score is lowest for the truth, as a
    proper score is. The decomposition is by isotonic regression (Dimitriadis, Gneiting & Jordan
    2021).

    Parameters
    ----------
    claims : array (N, E)
        For instance ``u.aleatoric`` of `fit_vote_calibration`.
    q, votes, events, annotators, groups, confidence
        As for `vote_reliability`.

    Returns
    -------
    VoteScore

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]]]))
    >>> score_votes(lw.decompose(q, "squared").aleatoric, q, [[1, 1], [2, 0], [2, 0]]).resolution.round(3)
    array([0.056, 0.056])
    """  # noqa: E501
    read = read_votes(q, votes, events=events, annotators=annotators, groups=groups)
    c = as_numpy(claims, "claims").astype(float)
    if c.shape != (len(read.keep), len(read.class_names)):
        raise ValueError(
            "`claims` must have one value per case and label, shape "
            f"{(len(read.keep), len(read.class_names))}; got shape {c.shape}"
        )
    return score_claims(c[read.keep], read, confidence)


def score_claims(claims: np.ndarray, read: Votes, confidence: float = 0.95) -> VoteScore:
    """`score_votes` of validated votes."""
    seen = read.observed[1]
    each = (claims - seen) ** 2
    score = each.mean(axis=0)
    se, freedom = standard_error(each, read.code, read.n_groups, None)
    _, most = case_bounds(1, pair_bounds(read)[:-1], read)
    worst = np.maximum(most - claims.min(axis=0), claims.max(axis=0)) ** 2  # of one case
    low, high = t_interval_with_extremes(score, se, freedom, confidence, (0.0, worst), len(each))
    best = np.stack([fit_isotonic(c, o)(c) for c, o in zip(claims.T, seen.T, strict=True)], axis=-1)
    fitted, constant = ((seen - best) ** 2).mean(axis=0), seen.var(axis=0)
    estimate = Estimate(score, low, high, confidence, f"{read.n_groups} groups")
    return VoteScore(estimate, score - fitted, constant - fitted, constant, read.class_names)


def candidates(
    fit: Votes, test: Votes, members: tuple[np.ndarray, np.ndarray] | None = None, one: int = 0
) -> dict[str, np.ndarray]:
    """Claims (N, E) about the test cases, repaired on the fitting cases: those of the repair, and
    others under isotonic repair.

    ``members`` are the members' probabilities of the fitting and of the test cases, (M, N, E);
    ``one`` is the member that stands for a single network.
    """
    seen = fit.observed[1]
    means, shares, _ = fit_maps(fit, "isotonic")
    repaired = [apply_maps(means, shares, read) for read in (fit, test)]
    found = {"AU as claimed": test.claimed[1], "AU: mean, then share": repaired[1][1]}
    features = {"AU: mean, then share, then isotonic": (repaired[0][1], repaired[1][1])}
    if members is not None:
        each = [np.stack([f(p[..., k]) for k, f in enumerate(means)], axis=-1) for p in members]
        features["AU: mean of each member, then isotonic"] = (
            (each[0] * (1 - each[0])).mean(axis=0),
            (each[1] * (1 - each[1])).mean(axis=0),
        )
    features["TU: mean, then isotonic"] = (repaired[0][0], repaired[1][0])
    features |= {
        f"{part}: isotonic": (fit.claimed[i], test.claimed[i])
        for i, part in ((1, "AU"), (0, "TU"), (2, "EU"))
    }
    if members is not None:
        features["one network's p(1 − p): isotonic"] = (
            members[0][one] * (1 - members[0][one]),
            members[1][one] * (1 - members[1][one]),
        )
    few = ((fit.yes > 0) & (fit.yes < fit.n)).sum(axis=0) < FEW
    for name, (x, new) in features.items():
        pooled = fit_isotonic(x.ravel(), seen.ravel()) if few.any() else None
        maps = [
            pooled if pooled is not None and few[k] else fit_isotonic(x[:, k], seen[:, k])
            for k in range(len(few))
        ]
        found[name] = np.stack([f(new[:, k]) for k, f in enumerate(maps)], axis=-1)
    found["constant per label"] = np.broadcast_to(seen.mean(axis=0), test.mean.shape)
    return found


def member_probabilities(q: Distribution, read: Votes) -> np.ndarray | None:
    """Event probabilities of the members, (M, N, E); ``None`` if there are none, or if they have
    weights.
    """
    if q.members is None or q.weights is not None:
        return None
    return np.asarray(
        np.clip(to_numpy(q.members[0]).astype(float)[:, read.keep] @ read.inside, 0, 1)
    )
