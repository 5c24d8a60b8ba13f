"""How the number of members changes an AUROC: ensembles drawn from the members of all runs, which differ in nothing but their seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ..distributions import Ensemble
from ..evaluation import detection_scores
from .scores import MEASURES, scores
from .settings import Source

SIZES = (2, 3, 5, 10, 15, 20)
SHUFFLES = 10


def by_members(members: Mapping[Source, np.ndarray], inside: Source, outside: Sequence[Source]) -> dict[tuple[str, str, str], Any]:
    """(set, measure, size) -> mean AUROC of epistemic uncertainty and deviation between ensembles; ``members`` are (M, N, K)."""
    total = len(members[inside])
    found: dict[tuple[str, str, str], Any] = {}
    for size in (*(m for m in SIZES if m < total), total):
        shuffles: list[list[dict[tuple[str, str], float]]] = []
        for groups in _disjoint(total, size):
            shuffles.append([])
            for group in groups:
                of = {source: scores(Ensemble(members[source][group])) for source in (inside, *outside)}
                shuffles[-1].append(
                    {(o.data, m): _auroc(of[inside][m, "epistemic"], of[o][m, "epistemic"]) for o in outside for m in MEASURES}
                )
        for source in outside:
            for measure in MEASURES:
                values = np.array([[each[source.data, measure] for each in groups] for groups in shuffles])
                sd = sqrt(values.var(axis=1, ddof=1).mean()) if values.shape[1] > 1 else None  # no two of a shuffle share a member
                found[source.data, measure, str(size)] = {"mean": float(values.mean()), "sd": sd}
    return found


def _auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    return float(detection_scores(inside, outside).auroc)


def _disjoint(total: int, size: int) -> Iterator[list[np.ndarray]]:
    """All ``total`` members dealt out into as many groups of ``size`` as they make, several times over."""
    rng = np.random.default_rng(0)
    for _ in range(SHUFFLES if size < total else 1):
        order = rng.permutation(total)
        yield [np.sort(order[i : i + size]) for i in range(0, total - size + 1, size)]
