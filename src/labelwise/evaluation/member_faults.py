"""Faults of members that are seen by comparing them with each other and with the truth: constant
members, copies, classes in another order, and members that have nothing to do with the others.

Thresholds were chosen on some trained ensembles and validated on others: `lab/studies/health.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._arrays import Array, quotient
from .._tables import enumerated, first_names, shortened

LONGEST_NAME = 60  # characters of a class name that a sentence shows
# Where a few rows carry all the variation (a rare class), the members may well agree or be constant
# by chance.
MIN_CARRIERS = 15
SATURATED = 1e-6  # probabilities closer to 0 or 1 are votes
# Members that vary by less than this share of the usual variance are constant.
CONSTANT = 0.01
# Votes of 0 and 1 are often equal by chance. Trees disagree in a few percent of the instances.
MIN_EQUAL_VALUES, MIN_DISAGREEMENTS, MIN_EQUAL_VOTES = 10, 10, 500
MAX_CLASSES = 256  # for the search for permutations
# A permutation is reported if the mean correlation gained for each class that moves is at least
# this, and so many standard errors, because the best of many permutations is taken.
PERMUTATION_GAIN, PERMUTATION_ERRORS, HELD_OUT_ERRORS = 0.25, 4, 3
# A member is unrelated if its correlation with the others is below this share of theirs and like
# that of shuffled rows, where theirs is far above that. Errors are standard deviations over all
# orders of the rows.
UNRELATED, SHUFFLED_ERRORS, RELATED_ERRORS = 0.25, 3, 5
# Two members have nobody to be compared with: they are unrelated if shuffled rows would be as
# close, and N tells.
PAIR_ERRORS, MAX_PAIR_ERROR = 2, 0.04
REST = "the other members"


@dataclass(frozen=True)
class Finding:
    """One fault of some members."""

    fault: str
    """``scale`` (no probabilities), ``constant``, ``copies``, ``permuted classes``, ``unrelated``
    or ``folds``.
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
    names: tuple[str, ...]
    """What all members of the ensemble are called: by name in quotes, or by their positions."""
    class_names: tuple[str, ...]
    truth: np.ndarray | None
    """(N, K): 1 for the true labels."""

    def __len__(self) -> int:
        return len(self.probs)

    @property
    def n_instances(self) -> int:
        return self.probs.shape[1]

    def without(self, numbers: Set[int]) -> Members:
        """The other members."""
        kept = [i for i, number in enumerate(self.numbers) if number not in numbers]
        rest = tuple([self.numbers[i] for i in kept])
        return replace(self, probs=self.probs[kept], numbers=rest)

    def finding(self, fault: str, which: Sequence[int], what: str) -> Finding:
        """``Members 0 and 2 are identical``; ``which`` are positions among these members."""
        numbers = tuple([self.numbers[i] for i in which])
        start = "Members" if len(numbers) > 1 else "Member"
        names = enumerated([self.names[number] for number in numbers])
        return Finding(fault, numbers, f"{start} {names} {what}")

    def mean_of_others(self, i: int) -> Array:
        return np.delete(self.probs, i, axis=0).mean(axis=0)


def quoted(name: str) -> str:
    """A class name in a sentence."""
    return repr(shortened(name, LONGEST_NAME))


def count_carriers(sizes: np.ndarray) -> np.ndarray:
    """(Σ s)² / Σ s² of sizes (..., N): N if all rows have the same size, 1 if only one has any."""
    return quotient(sizes.sum(axis=-1) ** 2, np.square(sizes).sum(axis=-1), 0)


def constant_members(members: Members) -> tuple[list[Finding], set[int]]:
    """Members that hardly vary between the instances, compared with the others; and all that are
    too constant to be compared.
    """
    away = members.probs - members.probs.mean(axis=1, keepdims=True)
    sizes = np.square(away).sum(axis=-1)  # (M, N)
    spread = sizes.mean(axis=-1)
    still = spread <= max(CONSTANT * np.median(spread), 1e-12)
    if not still.any():
        return [], set()
    if still.all():
        is_fault = (
            _is_soft_probability(members.probs).any() or members.n_instances >= MIN_EQUAL_VOTES
        )
    else:
        # Others that vary in a few rows only: a member may miss these, for instance all cases of a
        # rare class.
        is_fault = np.median(count_carriers(sizes[~still])) >= MIN_CARRIERS
    which = np.flatnonzero(still).tolist()
    predict = "predicts" if len(which) == 1 else "predict"
    finding = members.finding("constant", which, f"{predict} (nearly) the same for all instances")
    findings = [finding] if is_fault else []
    return findings, {*finding.members}


def identical_members(members: Members) -> Iterator[Finding]:
    """Members that are equal, where that can hardly be chance: many different values are not, and
    votes are not where all others disagree.
    """
    groups: dict[bytes, list[int]] = {}
    for i, probs in enumerate(members.probs):
        groups.setdefault(probs.tobytes(), []).append(i)
    copies = [group for group in groups.values() if len(group) > 1]
    if not copies:
        return
    votes = members.probs > 0.5
    disagreements = (votes[:, None] != votes).any(axis=-1).sum(axis=-1)  # (M, M)
    differ = disagreements[disagreements > 0]
    # members that vote differently do so in enough instances
    votes_tell = differ.size > 0 and differ.min() >= MIN_DISAGREEMENTS
    by_chance = members.n_instances < MIN_EQUAL_VOTES and not votes_tell
    for group in copies:
        largest = members.probs[group[0]].max(axis=-1)
        values = np.unique(largest[_is_soft_probability(largest)])
        if not by_chance or len(values) >= MIN_EQUAL_VALUES:
            yield members.finding("copies", group, "are identical")


def _is_soft_probability(p: np.ndarray) -> Array:
    """Which probabilities are neither 0 nor 1."""
    return (p > SATURATED) & (p < 1 - SATURATED)


def permuted_classes(members: Members) -> Iterator[Finding]:
    """Members whose classes agree better with the truth or with the other members in another
    order.
    """
    if len(members.class_names) > MAX_CLASSES:
        return
    names = [quoted(name) for name in members.class_names]
    for i, probs in enumerate(members.probs):
        references = {}
        if members.truth is not None:
            references["the true classes"] = members.truth
        if len(members) > 1:
            references[REST] = members.mean_of_others(i)
        for other, reference in references.items():
            order = _better_class_order(
                _standardized_classes(reference), _standardized_classes(probs)
            )
            if order is not None:
                moved = first_names(
                    [f"{names[a]} as {names[b]}" for a, b in enumerate(order) if a != b]
                )
                what = f"has its classes in another order than {other}: {moved}"
                yield members.finding("permuted classes", [i], what)
                break


def _better_class_order(reference: np.ndarray, member: np.ndarray) -> np.ndarray | None:
    """For each class of ``reference`` (N, K) the class of ``member`` that corresponds to it, if
    that is not the same one.

    The best of all orders gains something even if there is nothing to gain, so it must also gain
    where it was not chosen.
    """
    from scipy.optimize import linear_sum_assignment

    everywhere, even, odd = slice(None), slice(0, None, 2), slice(1, None, 2)
    orders, gains = [], []
    for chosen, held in ((everywhere, everywhere), (even, odd), (odd, even)):
        agreement = reference[chosen].T @ member[chosen]
        order = linear_sum_assignment(agreement, maximize=True)[1]
        n_moved = np.count_nonzero(order != np.arange(len(order)))
        # what each instance adds to the mean correlation of the classes that move
        gain = (reference * (member[:, order] - member))[held].sum(axis=1)
        orders.append(order)
        gains.append(gain / max(n_moved, 1))
    mean, error = _mean_and_error(gains[0])
    if mean < max(PERMUTATION_GAIN, PERMUTATION_ERRORS * error):
        return None
    mean, error = _mean_and_error(np.concatenate(gains[1:]))
    return orders[0] if mean > HELD_OUT_ERRORS * error else None


def _mean_and_error(x: np.ndarray) -> tuple[float, float]:
    return x.mean(), x.std(ddof=1) / np.sqrt(len(x))


def _standardized_classes(x: np.ndarray) -> Array:
    """Columns of mean 0 and variance 1; constant ones 0."""
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf)


class Relation(NamedTuple):
    """How a member's predictions (N, K) go together with others of the same instances."""

    correlation: float
    error: float
    """Its standard deviation over all orders of the rows of one of them."""
    carriers: float
    """The number of rows that carry the variation, of the one that has fewer."""

    def is_like_shuffled(self, errors: float = SHUFFLED_ERRORS) -> bool:
        return self.carriers >= MIN_CARRIERS and abs(self.correlation) < errors * self.error

    def is_lower_than(self, others: Sequence[Relation]) -> bool:
        """Whether it is like shuffled rows where the correlation of others is far above that."""
        usual = np.median([other.correlation for other in others])
        tells = usual > RELATED_ERRORS * self.error
        return tells and self.is_like_shuffled() and self.correlation < UNRELATED * usual


def unrelated_members(members: Members) -> Iterator[Finding]:
    """Members that have nothing to do with the others: rows in another order, another task, random
    numbers.

    Their correlation with the mean of the others is like that of shuffled rows, where the others'
    or, if it is known, the truth tells that it should not be. Without the truth it cannot be told
    which of two members is at fault.
    """
    if len(members) < 2:
        return
    found = False
    for i in range(len(members)):
        to_others = _relation_of_predictions(members.probs[i], members.mean_of_others(i))
        if not _is_unrelated(members, i, to_others):
            continue
        found = True
        what = (
            f"has nothing in common with {REST} (correlation {to_others.correlation:.2f}): its "
            "rows may be in another order, or it may be of another task"
        )
        yield members.finding("unrelated", [i], what)

    if len(members) == 2 and not found:
        relation = _relation_of_predictions(members.probs[0], members.probs[1])
        if relation.is_like_shuffled(PAIR_ERRORS) and relation.error < MAX_PAIR_ERROR:
            what = (
                f"have nothing in common (correlation {relation.correlation:.2f}): one of the two "
                "has its rows in another order, or is of another task"
            )
            yield members.finding("unrelated", [0, 1], what)


def _is_unrelated(members: Members, i: int, to_others: Relation) -> bool:
    """Whether member ``i`` is like shuffled rows to the others, and the others or the truth tell
    that it should not be.
    """
    if not to_others.is_like_shuffled():
        return False
    rest = members.without({members.numbers[i]})
    if len(rest) > 1:
        others = map(rest.mean_of_others, range(len(rest)))
        if to_others.is_lower_than([*map(_relation_of_predictions, rest.probs, others)]):
            return True
    if members.truth is None:
        return False
    usual = [_relation_of_predictions(p, members.truth) for p in rest.probs]
    return _relation_of_predictions(members.probs[i], members.truth).is_lower_than(usual)


def _relation_of_predictions(a: np.ndarray, b: np.ndarray) -> Relation:
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = np.linalg.norm(a) * np.linalg.norm(b)
    if size < 1e-9:
        return Relation(0.0, 1.0, 0.0)
    # The variance of Σ a_n · b_π(n) over all orders π is tr(AᵀA BᵀB) / (N − 1): of the two ways to
    # this trace, the one with the smaller matrix.
    if a.shape[1] <= a.shape[0]:
        products = (a.T @ a) * (b.T @ b)
    else:
        products = np.square(a @ b.T)
    error = np.sqrt(products.sum() / (len(a) - 1)) / size
    carriers = min(float(count_carriers(np.square(x).sum(axis=-1))) for x in (a, b))
    return Relation((a * b).sum() / size, error, carriers)
