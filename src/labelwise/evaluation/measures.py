"""All measures of uncertainty, one score for each instance."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import joint
from .._arrays import as_double
from ..decomposition import PARTS, decompose, median_deviation
from ..distributions import Dirichlet, Distribution, Intervals
from ..losses import LossName
from .evidence import vacuity
from .ranking import ranking_scores, rounded, with_exact_ties

LABEL_LOSSES: tuple[LossName, ...] = ("log", "squared", "spherical", "zero_one")
LARGEST = np.finfo(float).max
JOINT_LOSSES: tuple[LossName, ...] = (
    "log",
    "spherical",
    "zero_one",
)  # squared is the sum over the labels


def measure_scores(q: Distribution[Any]) -> dict[str, np.ndarray]:
    """Each measure that ``q`` has, (N,), by name: those of the labels summed over them, then those
    of all classes at once.

    Without members there is no spread between them to measure, and labels that may occur together
    have no class as a whole.
    """
    found: dict[str, Any] = {}
    for loss in LABEL_LOSSES:
        parts = ranking_scores(q, loss)
        found |= {f"{part}, {loss}": getattr(parts, part) for part in PARTS}
    q = with_exact_ties(q)  # what ties exactly must tie here, too
    if q.finite:
        of_members = decompose(q, forecast="member").sum()
        found["reverse, log"] = of_members.regret
        found["pairwise, log"] = of_members.epistemic
        found["median deviation"] = median_deviation(q).sum(axis=-1)
        extremes = decompose(Intervals.from_members(q)).sum()
        for part in (*PARTS, "regret"):
            found[f"{part} of extremes, log"] = getattr(extremes, part)
    if q.exclusive:
        shares = joint.mutual_information_by_class(q, second_order=True)
        found["second-order share"] = shares.sum(axis=-1)
        for loss in JOINT_LOSSES:
            whole = joint.decompose(q, loss)
            found |= {f"joint {part}, {loss}": getattr(whole, part) for part in PARTS}
        if q.finite:
            found["joint reverse, log"] = joint.reverse_mutual_information(q)
            found["joint pairwise, log"] = (
                found["joint epistemic, log"] + found["joint reverse, log"]
            )
    if isinstance(q, Dirichlet):
        found["vacuity"] = vacuity(q)
    scores = {}
    for name, score in found.items():  # the infinite ones are the most uncertain, all alike
        scores[name] = np.fmin(rounded(as_double(score)), LARGEST)
    return scores
