r"""Predictions of the members for some cases, in two bytes each.

A probability is stored as the nearest of 65,535 angles, :math:`p = \sin^2(\pi i / 131068)`: 0, ½
and 1 are exact, and near 0 and 1, where entropies are most sensitive to rounding, the steps are
smallest. The page renormalizes mutually exclusive classes.
"""

from __future__ import annotations

import numpy as np

from .._arrays import to_numpy
from .._engine.blocks import row_blocks
from ..distributions import Distribution, Intervals
from .collect import Collected
from .columns import PageData, smallest_type
from .strata import Chosen

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


def embed_members(page: PageData, found: Collected, rows: np.ndarray, with_members: Chosen) -> None:
    """Read the cases that have their members, of the ``rows`` of the page, again and embed them."""
    cases = found.cases
    positions, truth = rows[with_members.rows], found["truth"]
    width = classes_of_case(cases.n_classes)
    numbers = (cases.n_members or DRAWS) * cases.n_classes  # of a case
    codes, labels, weights = [], [], []
    before = 0
    for number, part in enumerate(found.sets.values()):
        own = positions[found.dataset[positions] == number]
        for block in row_blocks(len(own), numbers, AT_ONCE):
            here = own[block]
            q = part[here - before].distribution()
            probs, weight = _members_or_draws(q)
            if width < cases.n_classes:
                labels.append(_most_probable(to_numpy(q.mean()), truth[here], width))
                probs = np.take_along_axis(probs, labels[-1][None], axis=-1)
            codes.append(quantize(probs).transpose(1, 0, 2))
            weights.append(np.broadcast_to(weight.T, (len(here), len(probs))))
        before += len(part)
    page.add_rows("members.rows", with_members.rows)
    page.add_block("members.weight", with_members.weight, "f4")
    page.add_block("members", np.concatenate(codes), "u2")
    if labels:
        page.add_block("members.labels", np.concatenate(labels), smallest_type(cases.n_classes))
    if cases.weighted:
        of_rows = np.concatenate(weights)
        if np.all(of_rows == of_rows[:1]):
            of_rows = of_rows[0]
        page.add_block("members.weights", of_rows, "f8")


def _members_or_draws(q: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the members, or of draws, (m, N, K), and their weights, (m,) or (m, N)."""
    weights = None
    if q.members is not None:
        probs, weights = q.members
    elif isinstance(q, Intervals):  # no draws: the point that stands for the set
        probs = q.mean()[None]
    else:
        probs = q.sample(DRAWS, rng=0)
    if weights is None:
        weights = np.full(len(probs), 1 / len(probs))
    return to_numpy(probs), to_numpy(weights)


def _most_probable(mean: np.ndarray, truth: np.ndarray, width: int) -> np.ndarray:
    """The most probable classes of each case; the truth, if it is not among them, instead of the
    least probable one.
    """
    most = np.argpartition(mean, -width, axis=-1)[:, -width:]  # the least of them is the first
    absent = (truth >= 0) & ~np.any(most == truth[:, None], axis=-1)
    most[absent, 0] = truth[absent]
    return most
