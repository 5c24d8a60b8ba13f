"""Members that say too little by themselves: constant ones, copies of others, near copies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .member_faults import MIN_CARRIERS, Finding, Members, count_carriers, instances_of, quoted

SATURATED = 1e-6  # probabilities closer to 0 or 1 are compared as if they were this close
# Members that vary by less than this share of the usual variance are constant.
CONSTANT = 0.01
# Votes of 0 and 1 are often equal by chance. Trees disagree in a few percent of the instances.
MIN_EQUAL_VALUES, MIN_DISAGREEMENTS, MIN_EQUAL_VOTES = 10, 10, 500
# Near copies differ by less than this share of the usual difference and of a standard deviation,
# and from all others by several times as much: members of one kind among those of another are
# alike, too. They have at least so many different values.
NEAR, MAX_NEAR, NEAR_GAP, MIN_NEAR_VALUES = 0.1, 0.02, 5, 20


def constant_members(members: Members) -> tuple[list[Finding], set[int]]:
    """Members that hardly vary between the instances, compared with the others; and all that are
    too constant to be compared.
    """
    away = members.probs - members.probs.mean(axis=1, keepdims=True)
    sizes = np.square(away).sum(axis=-1)  # (M, N)
    spread = sizes.mean(axis=-1)
    still = spread <= max(CONSTANT * float(np.median(spread)), 1e-12)
    if not still.any():
        return [], set()
    if still.all():
        is_fault = bool(_is_soft(members.probs).any()) or sizes.shape[1] >= MIN_EQUAL_VOTES
    else:
        # Others that vary in a few rows only: a member may miss these, for instance all cases of a
        # rare class.
        is_fault = float(np.median([count_carriers(x) for x in sizes[~still]])) >= MIN_CARRIERS
    which = np.flatnonzero(still).tolist()
    predict = "predicts" if len(which) == 1 else "predict"
    finding = members.finding("constant", which, f"{predict} (nearly) the same for all instances")
    return [finding] if is_fault else [], {*finding.members}


def identical_members(members: Members) -> Iterator[Finding]:
    """Members that are equal, where that can hardly be chance."""
    pairs = _pairs(len(members))
    equal = np.array([np.array_equal(*members.probs[pair]) for pair in pairs], dtype=bool)
    if equal.any() and len(members.rows) < MIN_EQUAL_VOTES:
        equal &= _can_hardly_be_chance(members, pairs)
    for group in _connected(pairs[equal]):
        yield members.finding("copies", group, "are identical")


def nearly_identical_members(members: Members) -> Iterator[Finding]:
    """Members that differ much less than is usual among them, in all labels or in single ones.

    Differences are between log-odds, where small probabilities count like large ones: a rare label
    does not look copied. Each member's log-odds are standardized first: one that is far more
    confident than the others differs from all of them, and would make the differences between the
    others look small.
    """
    pairs = _pairs(len(members))
    if not len(pairs):
        return
    clipped = np.clip(members.probs, SATURATED, 1 - SATURATED)
    odds = np.log(clipped) - np.log1p(-clipped)
    odds -= odds.mean(axis=1, keepdims=True)

    near = np.zeros(len(pairs), bool)
    for group in _close_groups(pairs, odds, members.probs.max(axis=-1)):
        near |= np.isin(pairs, group).all(axis=1)
        what = f"are nearly identical (difference below {NEAR:.0%} of the usual)"
        yield members.finding("near copies", group, what)

    others = pairs[~near]  # pairs that are close in all labels have been named
    for k, name in enumerate(members.class_names):
        for group in _close_groups(others, odds[:, :, k], members.probs[:, :, k]):
            what = f"have (nearly) the same probabilities of {quoted(name)}"
            yield members.finding("copied labels", group, what)


def copied_rows(members: Members) -> Iterator[Finding]:
    """Members that are equal in a part of the instances only: an array that was filled in part, and
    held another member before.
    """
    pairs, parts = _pairs(len(members)), members.parts()
    copied: dict[tuple[int, int], list[int]] = {}
    for j, part in enumerate(parts):
        for a, b in pairs[_can_hardly_be_chance(part, pairs)].tolist():
            if np.array_equal(part.probs[a], part.probs[b]):
                copied.setdefault((a, b), []).append(j)
    for pair, chosen in copied.items():
        yield members.finding(
            "copied rows", pair, f"are identical in {instances_of(parts, chosen)}"
        )


def _pairs(m: int) -> np.ndarray:
    """All pairs of members, (pairs, 2)."""
    return np.column_stack(np.triu_indices(m, 1))


def _can_hardly_be_chance(members: Members, pairs: np.ndarray) -> np.ndarray:
    """Which pairs of members are not equal by chance, if they are equal: (pairs,).

    Many different values are not, and votes are not where all others disagree.
    """
    votes = members.probs > 0.5
    disagreements = np.array([(votes[a] != votes[b]).any(axis=-1).sum() for a, b in pairs])
    disagreements = disagreements[disagreements > 0]
    if len(disagreements) and disagreements.min() >= MIN_DISAGREEMENTS:
        return np.ones(len(pairs), bool)
    values = np.array([_distinct(p.max(axis=-1)) for p in members.probs])
    return np.asarray((values[pairs] >= MIN_EQUAL_VALUES).all(axis=1))


def _is_soft(p: np.ndarray) -> np.ndarray:
    """Which probabilities are neither 0 nor 1."""
    return np.asarray((p > SATURATED) & (p < 1 - SATURATED))


def _distinct(p: np.ndarray) -> int:
    """The number of different probabilities other than 0 and 1."""
    return len(np.unique(p[_is_soft(p)]))


def _close_groups(pairs: np.ndarray, odds: np.ndarray, probs: np.ndarray) -> list[list[int]]:
    """Groups of members that differ much less from each other than is usual, and than from any
    other member.

    The difference of two members is the mean difference of their log-odds (M, N, ...), in standard
    deviations of each. Members with few different probabilities (M, N) are alike by chance. A
    single pair has nothing to be compared with, unless it is equal.
    """
    values = odds.reshape(len(odds), -1)
    spread = np.sqrt(np.square(values).mean(axis=1, keepdims=True))
    values = values / np.where(spread > 1e-9, spread, np.inf)
    apart = np.array([np.abs(values[a] - values[b]).mean() for a, b in pairs])

    differ = apart[apart > 1e-9]
    usual = float(np.median(differ)) if len(apart) > 1 and len(differ) else 0.0
    has_values = np.array([_distinct(p) >= MIN_NEAR_VALUES for p in probs])
    close = (apart <= min(NEAR * usual, MAX_NEAR)) & has_values[pairs].all(axis=1)
    groups = []
    for group in _connected(pairs[close]):
        inside = np.isin(pairs, group).sum(axis=1)
        to_others = apart[inside == 1]
        if not len(to_others) or to_others.min() > NEAR_GAP * apart[close & (inside == 2)].max():
            groups.append(group)
    return groups


def _connected(pairs: np.ndarray) -> list[list[int]]:
    """Groups of members that are connected by pairs."""
    groups: list[set[int]] = []
    for pair in pairs.tolist():
        joined = {*pair}.union(*(group for group in groups if group & {*pair}))
        groups = [group for group in groups if not group & joined] + [joined]
    return [sorted(group) for group in groups]
