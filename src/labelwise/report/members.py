r"""Predictions of the members for some cases, in two bytes each.

A probability is stored as the nearest of 65,535 angles, :math:`p = \sin^2(\pi i / 131068)`: 0, ½
and 1 are exact, and near 0 and 1, where entropies are most sensitive to rounding, the steps are
smallest. The page renormalizes mutually exclusive classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import to_numpy
from ..distributions import Distribution, Intervals
from ..io import Predictions
from .collect import largest_first
from .columns import PageData, smallest_type

STEPS = 65534
NUMBERS = 3_000_000
"""Maximum number of embedded two-byte numbers."""
NUMBERS_OF_MANY_ROWS = 200_000  # where the columns alone fill the page
ALL_CLASSES, SOME_CLASSES = 64, 24
"""With more classes than the first, a case has the second number of them."""
DRAWS = 16
"""Draws that represent a continuous distribution."""
AT_ONCE = 1 << 23


def quantize(probs: np.ndarray) -> np.ndarray:
    """Probabilities as uint16."""
    angle = np.arcsin(np.sqrt(np.clip(np.asarray(probs, np.float64), 0, 1)))
    return np.rint(angle * (2 * STEPS / np.pi)).astype(np.uint16)


def classes_of_case(n_classes: int) -> int:
    """For how many classes a case has its members."""
    if n_classes <= ALL_CLASSES:
        return n_classes
    return SOME_CLASSES


def embed_members(
    page: PageData, sets: Sequence[Predictions], positions: np.ndarray, truth: np.ndarray
) -> None:
    """Read the cases at ``positions`` (increasing, of all sets) again and embed their members."""
    cases = sets[0]
    width = classes_of_case(cases.n_classes)
    m = cases.n_members or DRAWS
    step = max(1, AT_ONCE // (m * cases.n_classes))
    codes, labels, weights = [], [], []
    before = 0
    for part in sets:
        first, last = np.searchsorted(positions, [before, before + len(part)])
        for start in range(first, last, step):
            rows = positions[start : min(start + step, last)]
            q = part[rows - before].distribution()
            probs, own = _members_or_draws(q, m)
            if width < cases.n_classes:
                labels.append(_most_probable(to_numpy(q.mean()), truth[rows], width))
                probs = np.take_along_axis(probs, labels[-1][None], axis=-1)
            codes.append(quantize(probs).transpose(1, 0, 2))
            weights.append(np.broadcast_to(own.T, (len(rows), m)))
        before += len(part)
    page.add_block("members", np.concatenate(codes), "u2")
    if labels:
        page.add_block("members.labels", np.concatenate(labels), smallest_type(cases.n_classes))
    if cases.weighted:
        of_rows = np.concatenate(weights)
        if np.all(of_rows == of_rows[:1]):
            of_rows = of_rows[0]
        page.add_block("members.weights", of_rows, "f8")


def _members_or_draws(q: Distribution, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of ``m`` members, (m, N, K), and their weights, (m,) or (m, N)."""
    probs: Any
    weights: Any = np.full(m, 1 / m)
    if q.members is not None:
        probs, own = q.members
        if own is not None:
            weights = own
    elif isinstance(q, Intervals):  # no draws: the point that stands for the set
        mean = to_numpy(q.mean())
        probs = np.broadcast_to(mean, (m, *mean.shape))
    else:
        probs = q.sample(m, rng=0)
    return to_numpy(probs), to_numpy(weights)


def _most_probable(mean: np.ndarray, truth: np.ndarray, width: int) -> np.ndarray:
    """The most probable classes of each case, most probable first; the truth, if it is not among
    them, is the last.
    """
    most = largest_first(mean, width)
    absent = (truth >= 0) & ~np.any(most == truth[:, None], axis=-1)
    most[absent, -1] = truth[absent]
    return most
