"""Members that do not go with the others or with the truth: classes or rows in another order,
another task, leaked labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._tables import counted, first_names
from .member_faults import MIN_CARRIERS, Finding, Members, count_carriers, instances_of, quoted

MAX_CLASSES = 256  # for the search for permutations
MAX_SHIFT = 20  # rows by which a member may be shifted to be recognized
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
            references[members.others(i)] = members.mean_of_others(i)
        for other, reference in references.items():
            order = _better_order(_standardized(reference), _standardized(probs))
            if order is not None:
                moved = first_names(
                    [f"{names[a]} as {names[b]}" for a, b in enumerate(order) if a != b]
                )
                what = f"has its classes in another order than {other}: {moved}"
                yield members.finding("permuted classes", [i], what)
                break


def unrelated_members(members: Members) -> Iterator[Finding]:
    """Members that have nothing to do with the others: rows in another order or shifted, another
    task, random numbers.

    Without the truth it cannot be told which of two members is at fault.
    """
    found = [i for i, relations in enumerate(_relations(members)) if _is_unrelated(relations)]
    for i in found:
        shift = _shift(members, i)
        if shift:
            what = f"is {shift} against {members.others(i)}"
            yield members.finding("shifted rows", [i], what)
        else:
            yield members.finding("unrelated", [i], _nothing_in_common(members, i))
    if len(members) == 2 and not found:
        relation = _relation(members.probs[0], members.probs[1])
        if relation.is_like_shuffled(PAIR_ERRORS) and relation.error < MAX_PAIR_ERROR:
            shift = _shift(members, 0)
            fault = "shifted rows" if shift else "unrelated"
            why = f"is {shift}" if shift else "has its rows in another order, or is of another task"
            what = (
                f"have nothing in common (correlation {relation.correlation:.2f}): "
                f"one of the two {why}"
            )
            yield members.finding(fault, [0, 1], what)


def _nothing_in_common(members: Members, i: int) -> str:
    correlation = _relation(members.probs[i], members.mean_of_others(i)).correlation
    accuracy = ""
    if members.truth is not None:
        right = 1 - members.errors(members.truth) / len(members.rows)
        accuracy = f", accuracy {right[i]:.0%} instead of {np.median(np.delete(right, i)):.0%}"
    return (
        f"has nothing in common with {members.others(i)} (correlation "
        f"{correlation:.2f}{accuracy}): "
        "its rows may be in another order, or it may be of another task"
    )


def unrelated_rows(members: Members) -> Iterator[Finding]:
    """Members that have nothing to do with the others in a part of the instances: rows of an old
    file, or in another order.

    Elsewhere they are as the others are: a weak member has little to do with them in all parts, and
    may have nothing in some.
    """
    parts = members.parts()
    if len(members) < 2 or not parts:
        return
    by_member = zip(*(_relations(part) for part in parts), strict=True)
    for i, relations in enumerate(by_member):
        chosen = [j for j, part in enumerate(relations) if _is_unrelated(part)]
        if chosen and any(x.is_ordinary for part in relations for x in part):
            what = (
                f"has nothing in common with {members.others(i)} in "
                f"{instances_of(parts, chosen)}: "
                "these may be in another order, or left over from other predictions"
            )
            yield members.finding("unrelated rows", [i], what)


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
        suspicious, what = max(LEAKED, LEAKED_SHARE * n), "is never wrong"
        if np.array_equal(members.probs[i], members.truth):
            suspicious, what = LEAKED_VOTES, "equals the true labels"
        if best >= suspicious:
            other = members.others(i) if len(members) == 2 else "the best other member"
            what += (
                f" in {counted(n, 'instance')}, where {other} is wrong in {best:,}: "
                "the labels may have leaked"
            )
            yield members.finding("leaked labels", [i], what)


class Relation(NamedTuple):
    """How a member's predictions (N, K) go together with others of the same instances."""

    correlation: float
    error: float
    """Its standard deviation over all orders of the rows of one of them."""
    carriers: float
    """The number of rows that carry the variation, of the one that has fewer."""
    usual: float = 0.0
    """The usual correlation of other members, as far as it is known."""

    def is_like_shuffled(self, errors: float = SHUFFLED_ERRORS) -> bool:
        return self.carriers >= MIN_CARRIERS and abs(self.correlation) < errors * self.error

    @property
    def tells(self) -> bool:
        """Whether unrelated members can be told from others by it."""
        return self.usual > RELATED_ERRORS * self.error

    @property
    def is_low(self) -> bool:
        is_low = self.correlation < UNRELATED * self.usual
        return self.tells and self.is_like_shuffled() and is_low

    @property
    def is_ordinary(self) -> bool:
        return self.tells and self.correlation > ORDINARY * self.usual


def _relation(a: np.ndarray, b: np.ndarray) -> Relation:
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    if size < 1e-9:
        return Relation(0.0, 1.0, 0.0)
    # The variance of Σ a_n · b_π(n) over all orders π is tr(AᵀA BᵀB) / (N − 1).
    smaller = (a.T @ a) * (b.T @ b) if a.shape[1] <= a.shape[0] else np.square(a @ b.T)
    error = float(np.sqrt(smaller.sum() / (len(a) - 1))) / size
    carriers = min(count_carriers(np.square(x).sum(axis=-1)) for x in (a, b))
    return Relation(float((a * b).sum()) / size, error, carriers)


def _relations(members: Members) -> list[list[Relation]]:
    """Of each member to the others and, if it is known, to the truth."""
    if len(members) < 2:
        return []
    usual = _usual_correlations(members.probs)
    relations = []
    for i, probs in enumerate(members.probs):
        to_others = _relation(probs, members.mean_of_others(i))
        relations.append([to_others._replace(usual=usual[i])])
    if members.truth is not None:
        to_truth = [_relation(probs, members.truth) for probs in members.probs]
        correlations = [x.correlation for x in to_truth]
        for i, relation in enumerate(to_truth):
            usual_to_truth = float(np.median(np.delete(correlations, i)))
            relations[i].append(relation._replace(usual=usual_to_truth))
    return relations


def _is_unrelated(relations: Sequence[Relation]) -> bool:
    """Whether a member is like shuffled rows to the others, and the others or the truth tell that
    it should not be.
    """
    return relations[0].is_like_shuffled() and any(x.is_low for x in relations)


def _usual_correlations(x: np.ndarray) -> list[float]:
    """For each member the median correlation of another with the mean of the rest, in an ensemble
    without that member; 0 for two members.

    Of each pair of members only the product matters, so this is not slow.
    """
    m = len(x)
    if m < 3:
        return [0.0] * m
    d = (x - x.mean(axis=1, keepdims=True)).reshape(m, -1)
    products = d @ d.T
    usual = []
    for i in range(m):
        others = np.delete(np.delete(products, i, axis=0), i, axis=1)
        own, with_all = np.diag(others), others.sum(axis=1)
        size_of_rest = others.sum() - 2 * with_all + own
        size = np.sqrt(np.maximum(size_of_rest * own, 0))
        usual.append(float(np.median((with_all - own) / np.where(size > 0, size, np.inf))))
    return usual


def _shift(members: Members, i: int) -> str:
    """``shifted down by 3 rows`` against the others; empty if that does not explain it or cannot be
    seen.
    """
    n = len(members.rows)
    if members.rows[-1] != n - 1:  # not all rows are there
        return ""
    member, others = members.probs[i], members.mean_of_others(i)
    best, what = 0.0, ""
    for shift in range(1, min(MAX_SHIFT, n // 2) + 1):
        for direction, a, b in (
            ("down", member[shift:], others[:-shift]),
            ("up", member[:-shift], others[shift:]),
        ):
            relation = _relation(a, b)
            is_related = relation.correlation > max(best, RELATED_ERRORS * relation.error)
            if is_related and relation.carriers >= MIN_CARRIERS:
                best = relation.correlation
                what = f"shifted {direction} by {counted(shift, 'row')}"
    return what


def _better_order(reference: np.ndarray, member: np.ndarray) -> np.ndarray | None:
    """For each class of ``reference`` (N, K) the class of ``member`` that corresponds to it, if
    that is not the same one.

    The best of all orders gains something even if there is nothing to gain, so it must also gain
    where it was not chosen.
    """
    order = _best_order(reference, member)
    gain = _gain(order, reference, member)
    if gain.mean() < max(PERMUTATION_GAIN, PERMUTATION_ERRORS * _standard_error(gain)):
        return None
    even, odd = slice(0, None, 2), slice(1, None, 2)
    held_out = []
    for chosen, held in ((even, odd), (odd, even)):
        other_order = _best_order(reference[chosen], member[chosen])
        held_out.append(_gain(other_order, reference[held], member[held]))
    gain = np.concatenate(held_out)
    return order if gain.mean() > HELD_OUT_ERRORS * _standard_error(gain) else None


def _best_order(reference: np.ndarray, member: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(reference.T @ member, maximize=True)[1])


def _gain(order: np.ndarray, reference: np.ndarray, member: np.ndarray) -> np.ndarray:
    """What each instance adds to the mean correlation of the classes that move, (N,)."""
    n_moved = np.count_nonzero(order != np.arange(len(order)))
    gain = (reference * (member[:, order] - member)).sum(axis=1)
    return np.asarray(gain / max(n_moved, 1))


def _standard_error(x: np.ndarray) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x)))


def _standardized(x: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1; constant ones 0."""
    spread = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(spread > 1e-9, spread, np.inf))
