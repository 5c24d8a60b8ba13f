"""What each fault of an ensemble's members looks like, one function for each.

Thresholds were chosen on some trained ensembles and validated on others: `lab/studies/health.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._tables import counted, enumerated, shortened, some

SATURATED = 1e-6  # probabilities closer to 0 or 1 are compared as if they were this close
LONGEST_NAME = 60  # characters of a class name that a sentence shows
MAX_CLASSES = 256  # for the search for permutations
N_PARTS = 4  # a fault of half the instances covers at least one whole part
MIN_PART = 20  # instances of a part
MAX_SHIFT = 20  # rows by which a member may be shifted to be recognized

# Members that vary by less than this share of the usual variance are constant.
CONSTANT = 0.01
# Where a few rows carry all the variation (a rare class), the members may well agree or be constant
# by chance.
MIN_CARRIERS = 15
# Votes of 0 and 1 are often equal by chance. Trees disagree in a few percent of the instances.
MIN_EQUAL_VALUES, MIN_DISAGREEMENTS, MIN_EQUAL_VOTES = 10, 10, 500
# Near copies differ by less than this share of the usual difference and of a standard deviation,
# and from all others by several times as much: members of one kind among those of another are
# alike, too. They have at least so many different values.
NEAR, MAX_NEAR, NEAR_GAP, MIN_NEAR_VALUES = 0.1, 0.02, 5, 20
# A permutation is reported if the mean correlation gained for each class that moves is at least
# this, and so many standard errors, because the best of many permutations is taken.
PERMUTATION_GAIN, PERMUTATION_ERRORS, HELD_OUT_ERRORS = 0.25, 4, 3
# A member is unrelated if its correlation with the others is below this share of theirs and like
# that of shuffled rows, where theirs is far above that. Errors are standard deviations over all
# orders of the rows. Above half of theirs it is ordinary.
UNRELATED, SHUFFLED_ERRORS, RELATED_ERRORS, ORDINARY = 0.25, 3, 5, 0.5
# Two members have nobody to be compared with: they are unrelated if shuffled rows would be as
# close, and N tells.
PAIR_ERRORS, MAX_PAIR_ERROR = 2, 0.04
# Labels have leaked into a member that is never wrong, where the best other member is wrong this
# often. If its probabilities are 0 and 1 it is the labels; else it might be a much better model, so
# the bar is higher.
LEAKED_VOTES, LEAKED, LEAKED_SHARE = 10, 20, 0.05


@dataclass(frozen=True)
class Finding:
    """One fault of some members."""

    fault: str
    """``not finite``, ``logits``, ``log-probabilities``, ``percentages``, ``off scale``, ``sums``,
    ``constant``, ``copies``, ``near copies``, ``copied labels``, ``copied rows``, ``permuted
    classes``, ``unrelated``, ``shifted rows``, ``unrelated rows``, ``leaked labels`` or ``folds``.
    """
    members: tuple[int, ...]
    """Positions of the members, from 0."""
    sentence: str


@dataclass(frozen=True, eq=False)
class Members:
    """Predictions of members on some of the instances."""

    probs: np.ndarray
    """(M, N, K)."""
    numbers: tuple[int, ...]
    """The position of each member in the ensemble."""
    rows: np.ndarray
    """The position of each instance, (N,)."""
    class_names: tuple[str, ...]
    truth: np.ndarray | None
    """(N, K): 1 for the true labels."""
    exclusive: bool
    """Whether exactly one class is true."""

    def __len__(self) -> int:
        return len(self.probs)

    def without(self, numbers: Set[int]) -> Members:
        """The other members."""
        kept = [i for i, number in enumerate(self.numbers) if number not in numbers]
        return replace(self, probs=self.probs[kept], numbers=tuple(self.numbers[i] for i in kept))

    def part(self, block: slice) -> Members:
        """The same members on some of the instances."""
        truth = None if self.truth is None else self.truth[block]
        return replace(self, probs=self.probs[:, block], rows=self.rows[block], truth=truth)

    def parts(self) -> list[Members]:
        """All of the instances, cut into a few parts that are large enough to be judged; none if
        there are too few.
        """
        n = len(self.rows)
        if n < N_PARTS * MIN_PART:
            return []
        ends = np.linspace(0, n, N_PARTS + 1).astype(int)
        return [self.part(slice(start, stop)) for start, stop in pairwise(ends)]

    def others(self, i: int) -> str:
        """What member ``i`` is compared with, in words."""
        return f"member {self.numbers[1 - i]}" if len(self) == 2 else "the other members"

    @cached_property
    def _sum(self) -> np.ndarray:
        return np.asarray(self.probs.sum(axis=0))

    def mean_of_others(self, i: int) -> np.ndarray:
        return np.asarray((self._sum - self.probs[i]) / (len(self) - 1))

    def errors(self, truth: np.ndarray) -> np.ndarray:
        """In how many instances each member is wrong, (M,)."""
        if self.exclusive:
            return np.asarray((self.probs.argmax(axis=-1) != truth.argmax(axis=-1)).sum(axis=1))
        return np.asarray(((self.probs > 0.5) != truth).any(axis=-1).sum(axis=1))


def constant_members(members: Members) -> tuple[list[Finding], set[int]]:
    """Members that hardly vary between the instances, compared with the others; and all that are
    too constant to be compared.
    """
    sizes = np.square(members.probs - members.probs.mean(axis=1, keepdims=True)).sum(
        axis=-1
    )  # (M, N)
    spread = sizes.mean(axis=-1)
    still = spread <= max(CONSTANT * float(np.median(spread)), 1e-12)
    numbers = [members.numbers[i] for i in np.flatnonzero(still)]
    if not numbers:
        return [], set()
    if still.all():
        soft = bool(_is_soft(members.probs).any())
        is_fault = soft or sizes.shape[1] >= MIN_EQUAL_VOTES
    else:
        # Others that vary in a few rows only: a member may miss these, for instance all cases of a
        # rare class.
        is_fault = float(np.median([_carriers(x) for x in sizes[~still]])) >= MIN_CARRIERS
    if not is_fault:
        return [], set(numbers)
    predict = "predicts" if len(numbers) == 1 else "predict"
    sentence = f"{named(numbers)} {predict} (nearly) the same for all instances"
    return [Finding("constant", tuple(numbers), sentence)], set(numbers)


def identical_members(members: Members) -> Iterator[Finding]:
    """Members that are equal, where that can hardly be chance."""
    pairs = _pairs(len(members))
    equal = np.array(
        [np.array_equal(members.probs[a], members.probs[b]) for a, b in pairs], dtype=bool
    )
    if not equal.any():
        return
    if len(members.rows) < MIN_EQUAL_VOTES:
        equal &= _can_hardly_be_chance(members, pairs)
    for group in _connected(pairs[equal]):
        numbers = [members.numbers[i] for i in group]
        yield Finding("copies", tuple(numbers), f"{named(numbers)} are identical")


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
    has_values = np.array([_distinct(p.max(axis=-1)) >= MIN_NEAR_VALUES for p in members.probs])
    for group in _close_groups(pairs, _differences(odds, pairs), has_values):
        near |= np.isin(pairs, group).all(axis=1)
        numbers = [members.numbers[i] for i in group]
        sentence = (
            f"{named(numbers)} are nearly identical (difference below {NEAR:.0%} of the usual)"
        )
        yield Finding("near copies", tuple(numbers), sentence)

    others = pairs[~near]  # pairs that are close in all labels have been named
    for k, name in enumerate(members.class_names):
        has_values = np.array([_distinct(p[:, k]) >= MIN_NEAR_VALUES for p in members.probs])
        for group in _close_groups(others, _differences(odds[:, :, k], others), has_values):
            numbers = [members.numbers[i] for i in group]
            sentence = f"{named(numbers)} have (nearly) the same probabilities of {quoted(name)}"
            yield Finding("copied labels", tuple(numbers), sentence)


def copied_rows(members: Members) -> Iterator[Finding]:
    """Members that are equal in a part of the instances only: an array that was filled in part, and
    held another member before.
    """
    pairs, parts = _pairs(len(members)), members.parts()
    copied: dict[tuple[int, int], list[int]] = {}
    for j, part in enumerate(parts):
        evident = _can_hardly_be_chance(part, pairs)
        for (a, b), is_evident in zip(pairs.tolist(), evident, strict=True):
            if is_evident and np.array_equal(part.probs[a], part.probs[b]):
                copied.setdefault((a, b), []).append(j)
    for (a, b), chosen in copied.items():
        numbers = (members.numbers[a], members.numbers[b])
        yield Finding(
            "copied rows", numbers, f"{named(numbers)} are identical in {_instances(parts, chosen)}"
        )


def permuted_classes(members: Members) -> Iterator[Finding]:
    """Members whose classes agree better with the truth or with the other members in another
    order.
    """
    if len(members.class_names) > MAX_CLASSES:
        return
    for i, number in enumerate(members.numbers):
        references = [] if members.truth is None else [("the true classes", members.truth)]
        if len(members) > 1:
            references.append((members.others(i), members.mean_of_others(i)))
        for other, reference in references:
            order = _better_order(_standardized(reference), _standardized(members.probs[i]))
            if order is None:
                continue
            names = [quoted(name) for name in members.class_names]
            moved = some([f"{names[a]} as {names[b]}" for a, b in enumerate(order) if a != b])
            sentence = f"Member {number} has its classes in another order than {other}: {moved}"
            yield Finding("permuted classes", (number,), sentence)
            break


def unrelated_members(members: Members) -> Iterator[Finding]:
    """Members that have nothing to do with the others: rows in another order or shifted, another
    task, random numbers.

    Without the truth it cannot be told which of two members is at fault.
    """
    found = [i for i, compared in enumerate(_comparisons(members)) if _is_unrelated(compared)]
    for i in found:
        yield _unrelated_finding(members, i)
    if len(members) == 2 and not found:
        relation = _relation(members.probs[0], members.probs[1])
        like_shuffled = abs(relation.correlation) < PAIR_ERRORS * relation.error
        if relation.is_clear and relation.error < MAX_PAIR_ERROR and like_shuffled:
            shift = _shift(members, 0)
            what = (
                f"is {_shifted(shift)}"
                if shift
                else "has its rows in another order, or is of another task"
            )
            sentence = (
                f"{named(members.numbers)} have nothing in common (correlation "
                f"{relation.correlation:.2f}): one of the two {what}"
            )
            yield Finding("shifted rows" if shift else "unrelated", members.numbers, sentence)


def unrelated_rows(members: Members) -> Iterator[Finding]:
    """Members that have nothing to do with the others in a part of the instances: rows of an old
    file, or in another order.

    Elsewhere they are as the others are: a weak member has little to do with them in all parts, and
    may have nothing in some.
    """
    parts = members.parts()
    compared = [_comparisons(part) for part in parts]
    for i, number in enumerate(members.numbers):
        chosen = [j for j, part in enumerate(compared) if part and _is_unrelated(part[i])]
        is_ordinary = any(x.is_ordinary for part in compared if part for x in part[i])
        if chosen and is_ordinary:
            sentence = (
                f"Member {number} has nothing in common with {members.others(i)} in "
                f"{_instances(parts, chosen)}: "
                "these may be in another order, or left over from other predictions"
            )
            yield Finding("unrelated rows", (number,), sentence)


def leaked_labels(members: Members) -> Iterator[Finding]:
    """A member that is never wrong where all others often are: it holds the labels, or was trained
    on them.
    """
    if members.truth is None or len(members) < 2:
        return
    errors = members.errors(members.truth)
    n = len(members.rows)
    for i in np.flatnonzero(errors == 0).tolist():
        best = int(np.delete(errors, i).min())
        is_the_truth = bool((members.probs[i] == members.truth).all())
        is_suspicious = (
            best >= LEAKED_VOTES if is_the_truth else best >= max(LEAKED, LEAKED_SHARE * n)
        )
        if is_suspicious:
            number = members.numbers[i]
            what = "equals the true labels" if is_the_truth else "is never wrong"
            best_words = (
                f"{members.others(i)} is" if len(members) == 2 else "the best other member is"
            )
            sentence = (
                f"Member {number} {what} in {counted(n, 'instance')}, where {best_words} wrong in "
                f"{best:,}: the labels may have leaked"
            )
            yield Finding("leaked labels", (number,), sentence)


def named(numbers: Sequence[int]) -> str:
    """``Members 0 and 2``."""
    return f"Member{'s' if len(numbers) > 1 else ''} {enumerated([str(i) for i in numbers])}"


def quoted(name: str) -> str:
    """A class name in a sentence."""
    return repr(shortened(name, LONGEST_NAME))


class _Relation(NamedTuple):
    """How two predictions (N, K) of the same instances go together."""

    correlation: float
    error: float
    """Its standard deviation over all orders of the rows of one of them."""
    carriers: float
    """The number of rows that carry the variation, of the one that has fewer."""

    @property
    def is_clear(self) -> bool:
        return self.carriers >= MIN_CARRIERS


def _relation(a: np.ndarray, b: np.ndarray) -> _Relation:
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    if size < 1e-9:
        return _Relation(0.0, 1.0, 0.0)
    # The variance of Σ a_n · b_π(n) over all orders π is tr(AᵀA BᵀB) / (N − 1).
    smaller = (a.T @ a) * (b.T @ b) if a.shape[1] <= a.shape[0] else np.square(a @ b.T)
    error = float(np.sqrt(smaller.sum() / (len(a) - 1))) / size
    carriers = min(_carriers(np.square(x).sum(axis=-1)) for x in (a, b))
    return _Relation(float((a * b).sum()) / size, error, carriers)


class _Comparison(NamedTuple):
    """A member's relation to the others or to the truth, and the usual correlation of the other
    members with these (0: not known).
    """

    relation: _Relation
    level: float

    @property
    def is_like_shuffled(self) -> bool:
        return (
            self.relation.is_clear
            and abs(self.relation.correlation) < SHUFFLED_ERRORS * self.relation.error
        )

    @property
    def tells(self) -> bool:
        """Whether unrelated members can be told from others by it."""
        return self.level > RELATED_ERRORS * self.relation.error

    @property
    def is_low(self) -> bool:
        return (
            self.tells
            and self.is_like_shuffled
            and self.relation.correlation < UNRELATED * self.level
        )

    @property
    def is_ordinary(self) -> bool:
        return self.tells and self.relation.correlation > ORDINARY * self.level


def _comparisons(members: Members) -> list[list[_Comparison]]:
    """Each member compared with the others and, if it is known, the truth."""
    if len(members) < 2:
        return []
    compared = []
    for i, level in enumerate(_levels(members.probs)):
        compared.append(
            [_Comparison(_relation(members.probs[i], members.mean_of_others(i)), float(level))]
        )
    if members.truth is not None:
        to_truth = [_relation(x, members.truth) for x in members.probs]
        correlations = np.array([x.correlation for x in to_truth])
        for i, relation in enumerate(to_truth):
            compared[i].append(_Comparison(relation, float(np.median(np.delete(correlations, i)))))
    return compared


def _is_unrelated(compared: Sequence[_Comparison]) -> bool:
    """Whether a member is like shuffled rows to the others, and the others or the truth tell that
    it should not be.
    """
    return compared[0].is_like_shuffled and any(x.is_low for x in compared)


def _levels(x: np.ndarray) -> np.ndarray:
    """For each member the usual correlation of another with the mean of the rest, in an ensemble
    without that member, (M,).

    0 for two members. Of each pair of members only the product matters, so this is not slow.
    """
    m = len(x)
    levels = np.zeros(m)
    if m < 3:
        return levels
    d = (x - x.mean(axis=1, keepdims=True)).reshape(m, -1)
    products = d @ d.T
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        own = products[np.ix_(rest, rest)]
        with_rest = own.sum(axis=1) - np.diag(own)
        size_of_rest = own.sum() - 2 * own.sum(axis=1) + np.diag(own)
        size = np.sqrt(np.maximum(size_of_rest * np.diag(own), 0))
        levels[i] = np.median(with_rest / np.where(size > 0, size, np.inf))
    return levels


def _unrelated_finding(members: Members, i: int) -> Finding:
    number = members.numbers[i]
    shift = _shift(members, i)
    if shift:
        return Finding(
            "shifted rows",
            (number,),
            f"Member {number} is {_shifted(shift)} against {members.others(i)}",
        )
    correlation = _relation(members.probs[i], members.mean_of_others(i)).correlation
    accuracy = ""
    if members.truth is not None:
        right = 1 - members.errors(members.truth) / len(members.rows)
        accuracy = f", accuracy {right[i]:.0%} instead of {np.median(np.delete(right, i)):.0%}"
    sentence = (
        f"Member {number} has nothing in common with {members.others(i)} (correlation "
        f"{correlation:.2f}{accuracy}): "
        "its rows may be in another order, or it may be of another task"
    )
    return Finding("unrelated", (number,), sentence)


def _shift(members: Members, i: int) -> int:
    """By how many rows a member is shifted against the others; 0 if that does not explain it or
    cannot be seen.
    """
    n = len(members.rows)
    if members.rows[-1] != n - 1:  # not all rows are there
        return 0
    member, others = members.probs[i], members.mean_of_others(i)
    best, best_shift = 0.0, 0
    for shift in range(1, min(MAX_SHIFT, n // 2) + 1):
        for sign, a, b in (
            (1, member[shift:], others[:-shift]),
            (-1, member[:-shift], others[shift:]),
        ):
            relation = _relation(a, b)
            if relation.is_clear and relation.correlation > max(
                best, RELATED_ERRORS * relation.error
            ):
                best, best_shift = relation.correlation, sign * shift
    return best_shift


def _shifted(shift: int) -> str:
    return f"shifted {'down' if shift > 0 else 'up'} by {counted(abs(shift), 'row')}"


def _instances(parts: Sequence[Members], chosen: Sequence[int]) -> str:
    """``instances 250 to 499``: the positions of the chosen parts, neighbors put together."""
    ranges = []
    for j in chosen:
        if j - 1 in chosen:
            continue
        last = j
        while last + 1 in chosen:
            last += 1
        ranges.append(f"{parts[j].rows[0]:,} to {parts[last].rows[-1]:,}")
    return f"instances {enumerated(ranges)}"


def _pairs(m: int) -> np.ndarray:
    """All pairs of members, (pairs, 2)."""
    return np.array([(a, b) for a in range(m) for b in range(a + 1, m)], dtype=int).reshape(-1, 2)


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


def _carriers(sizes: np.ndarray) -> float:
    """(Σ s)² / Σ s²: N if all N rows have the same size, 1 if only one row has any."""
    square = float(np.square(sizes).sum())
    return float(sizes.sum()) ** 2 / square if square > 0 else 0.0


def _differences(odds: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The mean difference of each pair of members (M, N, ...), in standard deviations of each
    member.
    """
    values = odds.reshape(len(odds), -1)
    spread = np.sqrt(np.square(values).mean(axis=1, keepdims=True))
    values = values / np.where(spread > 1e-9, spread, np.inf)
    return np.array([np.abs(values[a] - values[b]).mean() for a, b in pairs])


def _close_groups(pairs: np.ndarray, apart: np.ndarray, has_values: np.ndarray) -> list[list[int]]:
    """Groups of members that differ much less from each other than is usual, and than from any
    other member.

    A single pair has nothing to be compared with, unless it is equal.
    """
    differ = apart[apart > 1e-9]
    usual = float(np.median(differ)) if len(apart) > 1 and len(differ) else 0.0
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


def _better_order(reference: np.ndarray, member: np.ndarray) -> np.ndarray | None:
    """For each class of ``reference`` (N, K) the class of ``member`` that corresponds to it, if
    that is not the same one.

    The best of all orders gains something even if there is nothing to gain, so it must also gain
    where it was not chosen.
    """
    order = _best_order(reference, member)
    gain = _gain(order, reference, member)
    if gain is None or gain.mean() < max(
        PERMUTATION_GAIN, PERMUTATION_ERRORS * _standard_error(gain)
    ):
        return None
    even, odd = slice(0, None, 2), slice(1, None, 2)
    held_out = []
    for chosen, held in ((even, odd), (odd, even)):
        other_gain = _gain(
            _best_order(reference[chosen], member[chosen]), reference[held], member[held]
        )
        held_out.append(np.zeros(len(reference[held])) if other_gain is None else other_gain)
    gain = np.concatenate(held_out)
    return order if gain.mean() > HELD_OUT_ERRORS * _standard_error(gain) else None


def _best_order(reference: np.ndarray, member: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(reference.T @ member, maximize=True)[1])


def _gain(order: np.ndarray, reference: np.ndarray, member: np.ndarray) -> np.ndarray | None:
    """What each instance adds to the mean correlation of the classes that move, (N,); ``None`` if
    none does.
    """
    moved = np.flatnonzero(order != np.arange(len(order)))
    if not len(moved):
        return None
    return np.asarray(
        (reference[:, moved] * (member[:, order[moved]] - member[:, moved])).mean(axis=1)
    )


def _standard_error(x: np.ndarray) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x)))


def _standardized(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant ones 0."""
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf))
