"""How the number of members changes an AUROC: ensembles drawn from the members of all runs, which differ only in their seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ..distributions import Ensemble
from .scores import MEASURES, aurocs, scores
from .settings import TestImages

__all__ = ["by_members"]

SIZES = (2, 3, 5, 10, 15, 20)
SHUFFLES = 10


def by_members(
    members: Mapping[TestImages, np.ndarray], inside: TestImages, outside: Sequence[TestImages]
) -> dict[tuple[str, str, str], Any]:
    """(set, measure, size) -> mean AUROC of epistemic uncertainty and deviation between ensembles; ``members`` are (M, N, K)."""
    total = len(members[inside])
    found: dict[tuple[str, str, str], Any] = {}
    for size in (*(m for m in SIZES if m < total), total):
        shuffles = [[_aurocs(members, inside, outside, group) for group in groups] for groups in _disjoint(total, size)]
        for key in shuffles[0][0]:
            values = np.array([[each[key] for each in groups] for groups in shuffles])
            sd = sqrt(values.var(axis=1, ddof=1).mean()) if values.shape[1] > 1 else None  # no two of a shuffle share a member
            found[(*key, str(size))] = {"mean": float(values.mean()), "sd": sd}
    return found


def _aurocs(
    members: Mapping[TestImages, np.ndarray], inside: TestImages, outside: Sequence[TestImages], group: np.ndarray
) -> dict[tuple[str, str], float]:
    """(set, measure) -> AUROC of epistemic uncertainty of the members in ``group``."""
    of = {images: scores(Ensemble(members[images][group])) for images in (inside, *outside)}
    found = {images: aurocs(of[inside], of[images], ["epistemic"]) for images in outside}
    return {(images.data, measure): found[images][measure, "epistemic"] for images in outside for measure in MEASURES}


def _disjoint(total: int, size: int) -> Iterator[list[np.ndarray]]:
    """All ``total`` members dealt out into as many groups of ``size`` as they make, several times over."""
    rng = np.random.default_rng(0)
    for _ in range(SHUFFLES if size < total else 1):
        order = rng.permutation(total)
        yield [np.sort(order[i : i + size]) for i in range(0, total - size + 1, size)]
