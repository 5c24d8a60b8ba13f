"""Which number tells best where people disagree? Held-out scores of repaired aleatoric uncertainty
and of simple baselines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._frames import columns_by_class, same_rows
from .._resampling import Estimate, t_interval_with_extremes
from .._tables import Tabular
from .._validation.labels import as_numpy
from ..distributions import Distribution
from ..evaluation.votes import read_votes
from ..events import Family
from ._maps import fit_isotonic
from .votes_intervals import case_bounds, error_of_mean_claim


@dataclass(frozen=True, eq=False, repr=False)
class VoteScore(Tabular):
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

    def _title(self) -> str:
        return "Squared error of the claims: score = calibration − resolution + uncertainty"

    def _columns(self) -> dict[str, Any]:
        columns = {"label": self.class_names, **self.score.columns("score")}
        for name in ("calibration", "resolution", "uncertainty"):
            columns[name] = getattr(self, name)
        return columns


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

    .. math:: \frac1N \sum_i \Big( c_i - \overline{\tfrac12 (v_1 - v_2)^2} \Big)^2
              = \text{calibration} - \text{resolution} + \text{uncertainty}

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
    >>> claims = lw.decompose(q, "squared").aleatoric
    >>> score_votes(claims, q, [[1, 1], [2, 0], [2, 0]]).resolution.round(3)
    array([0.056, 0.056])
    """
    read = read_votes(q, votes, events=events, annotators=annotators, groups=groups)
    (claims,) = same_rows(q, claims=claims)
    c = as_numpy(columns_by_class(claims, read.class_names, "claims"), "claims").astype(float)
    if c.shape != (len(read.keep), len(read.class_names)):
        raise ValueError(
            "`claims` must have one value per case and label, shape "
            f"{(len(read.keep), len(read.class_names))}; got shape {c.shape}"
        )
    claims = c[read.keep]
    seen = read.observed[1]
    each = (claims - seen) ** 2
    score = each.mean(axis=0)
    se, df = error_of_mean_claim(each, read.code, read.n_groups)
    _, most = case_bounds(1, read)
    worst = np.maximum(most[:-1] - claims.min(axis=0), claims.max(axis=0)) ** 2  # of one case
    low, high = t_interval_with_extremes(score, se, df, confidence, (0.0, worst), len(each))
    best = np.stack([fit_isotonic(c, o)(c) for c, o in zip(claims.T, seen.T, strict=True)], axis=-1)
    fitted, constant = ((seen - best) ** 2).mean(axis=0), seen.var(axis=0)
    estimate = Estimate(score, low, high, confidence, f"{read.n_groups} groups")
    return VoteScore(estimate, score - fitted, constant - fitted, constant, read.class_names)
