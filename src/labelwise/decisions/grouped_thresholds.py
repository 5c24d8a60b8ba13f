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

PILOT_EVERY = 10  # every tenth group only provides the thresholds to test
MAX_THRESHOLDS = 100  # evenly spaced over those of the pilot groups
MAX_BET = 0.95  # share of the largest bet that no outcome can ruin


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
    n = n_groups - n_groups // PILOT_EVERY
    pilot = code % PILOT_EVERY == PILOT_EVERY - 1
    levels = np.unique(score[pilot])
    n_starts = 1
    while levels.size and fewest_groups(target, delta / n_starts) << n_starts <= n:
        n_starts += 1
    fewest = fewest_groups(target, delta / n_starts)
    if n < fewest:
        needed = fewest
        while needed - needed // PILOT_EVERY < fewest:
            needed += 1
        reason = f"{n_groups} groups cannot prove it even without errors; at least {needed}"
        return -inf, f"{reason} are needed"
    where = f"at any of {n_starts} starting points"
    if levels.size:
        evenly = np.linspace(0, len(levels) - 1, MAX_THRESHOLDS).astype(int)
        levels = levels[np.unique(evenly)]
    else:
        where = (
            "if all cases are accepted, and no other group has a case to take a stricter "
            "threshold from"
        )
    levels = np.append(levels, inf)  # accepts everything

    # A sequence of tests starts where the pilot groups suggest that enough cases are accepted.
    covered = np.searchsorted(np.sort(score[pilot]), levels, side="right") / (pilot.sum() + 1)
    enough = fewest * 2.0 ** np.arange(n_starts) / n
    starts = np.minimum(covered.searchsorted(enough), len(levels) - 1)
    excess = share[~pilot] * (wrong[~pilot] - target)
    z = _excess_errors_of_groups(score[~pilot], excess, code[~pilot], levels)
    passed = log_fortunes(z, target) >= log(n_starts / delta)
    best = -1
    for start in starts.tolist():
        level = start
        while level < len(levels) and passed[level]:  # until one fails
            best = max(best, level)
            level += 1
    if best < 0:
        return -inf, f"the {n} groups tested with do not prove it {where}"
    return float(levels[best]), ""


def fewest_groups(target: float, delta: float) -> int:
    """The fewest groups without errors that prove an error below the target."""
    return ceil(log(1 / delta) / log1p(MAX_BET * target / (1 - target)))


def _excess_errors_of_groups(
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
        bet = np.clip(-total / squares, 0, MAX_BET / (1 - target))
        fortune = fortune + np.log1p(-bet * row)
        largest = np.maximum(largest, fortune)
        total, squares = total + row, squares + row**2
    return largest
