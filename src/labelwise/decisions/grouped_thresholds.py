"""Tests for `choose_threshold` where cases come in groups (the slices of a patient): groups are
independent, their cases are not.

Draw a group, then one of its cases. With the share :math:`A_g` of the group's cases that are
accepted and the share :math:`W_g` that are accepted and wrong, the error among the accepted is
:math:`E W_g / E A_g`. It is above the target τ only if :math:`Z_g = W_g - τ A_g`, which lies
between −τ and 1 − τ, has a positive mean. That is tested by betting: a fortune that is multiplied
by :math:`1 - η_g Z_g`, with bets η that depend only on earlier groups, is expected never to grow if
it does, so that it exceeds 1/δ with probability at most δ (Ville; Waudby-Smith & Ramdas 2024).
"""

from __future__ import annotations

from math import ceil, inf, log, log1p

import numpy as np

PILOT = 10
"""Every tenth group only provides the thresholds to test."""
MOST = 100
"""Number of thresholds at most."""
CAUTION = 0.95
"""Share of the largest bet that no outcome can ruin."""


def largest_threshold(
    score: np.ndarray,
    wrong: np.ndarray,
    share: np.ndarray,
    code: np.ndarray,
    n_groups: int,
    target: float,
    delta: float,
) -> tuple[float, str]:
    """The largest threshold proven to keep the error below ``target`` with probability 1 −
    ``delta``, or −∞ and the reason.

    ``share`` is what each case is of its group. Every tenth group provides candidates; with the
    others they are tested from strict to lenient until one fails, from a few starts that share δ.
    The candidates are independent of the groups they are tested with, so fixed-sequence testing is
    valid as it is. Without candidates, such as with fewer than ten groups, only accepting
    everything is tested. Groups are taken in the order of their names, which must have nothing to
    do with their scores.
    """
    n = n_groups - n_groups // PILOT
    pilot = code % PILOT == PILOT - 1
    levels = np.unique(score[pilot])
    number = 1
    while levels.size and _fewest(target, delta / number) << number <= n:
        number += 1
    fewest = _fewest(target, delta / number)
    if n < fewest:
        needed = next(g for g in range(fewest, 2 * fewest + 1) if g - g // PILOT >= fewest)
        reason = f"{n_groups} groups cannot prove it even without errors; at least {needed}"
        return -inf, f"{reason} are needed"
    alone = not levels.size  # only accepting everything is tested
    if not alone:
        levels = levels[np.unique(np.linspace(0, len(levels) - 1, MOST).astype(int))]
    levels = np.append(levels, inf)  # accepts everything
    covered = np.searchsorted(np.sort(score[pilot]), levels, side="right") / (pilot.sum() + 1)
    starts = np.minimum(
        covered.searchsorted([(fewest << i) / n for i in range(number)]), len(levels) - 1
    ).tolist()
    z = _excess(score[~pilot], share[~pilot] * (wrong[~pilot] - target), code[~pilot], levels)
    passed = np.append(log_fortunes(z, target) >= log(number / delta), False)
    best = max(
        start + int(np.argmin(passed[start:])) - 1 if passed[start] else -1 for start in starts
    )
    if best < 0:
        where = f"at any of {number} starting points"
        if alone:
            where = (
                "if all cases are accepted, and no other group has a case to take a stricter "
                "threshold from"
            )
        return -inf, f"the {n} groups tested with do not prove it {where}"
    return float(levels[best]), ""


def _fewest(target: float, delta: float) -> int:
    """The fewest groups without errors that prove an error below the target."""
    return ceil(log(1 / delta) / log1p(CAUTION * target / (1 - target)))


def _excess(
    score: np.ndarray, each: np.ndarray, code: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """:math:`Z_g` at each level, (groups, levels): sums of ``each`` over the cases with scores up
    to the level.
    """
    groups, row = np.unique(code, return_inverse=True)
    z = np.zeros((len(groups), len(levels) + 1))
    np.add.at(z, (row, np.searchsorted(levels, score)), each)
    return np.cumsum(z[:, :-1], axis=1)


def log_fortunes(z: np.ndarray, target: float) -> np.ndarray:
    """The logarithm of the largest fortune on the way for each column of ``z`` (groups, levels);
    the fortune starts with 1.
    """
    fortune, largest = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    # As if seen before: bets start at 1.
    total, squares = np.full(z.shape[1], -target), np.full(z.shape[1], target)
    for row in z:
        # To second order the logarithm grows fastest with this bet.
        bet = np.clip(-total / squares, 0, CAUTION / (1 - target))
        fortune = fortune + np.log1p(-bet * row)
        largest = np.maximum(largest, fortune)
        total, squares = total + row, squares + row**2
    return largest
