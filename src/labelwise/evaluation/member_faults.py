"""Members of an ensemble on some instances, and what is said about a faulty one.

`copied_members` and `mismatched_members` have a function for each fault. Thresholds were chosen on
some trained ensembles and validated on others: `lab/studies/health.py`.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from .._tables import enumerated, shortened

LONGEST_NAME = 60  # characters of a class name that a sentence shows
N_PARTS = 4  # a fault of half the instances covers at least one whole part
MIN_PART = 20  # instances of a part
# Where a few rows carry all the variation (a rare class), the members may well agree or be constant
# by chance.
MIN_CARRIERS = 15


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

    def parts(self) -> list[Members]:
        """All of the instances, cut into a few parts that are large enough to be judged; none if
        there are too few.
        """
        n = len(self.rows)
        if n < N_PARTS * MIN_PART:
            return []
        parts = []
        for start, stop in pairwise(np.linspace(0, n, N_PARTS + 1).astype(int)):
            truth = None if self.truth is None else self.truth[start:stop]
            probs, rows = self.probs[:, start:stop], self.rows[start:stop]
            parts.append(replace(self, probs=probs, rows=rows, truth=truth))
        return parts

    def finding(self, fault: str, which: Sequence[int], what: str) -> Finding:
        """``Members 0 and 2 are identical``; ``which`` are positions among these members."""
        numbers = tuple(self.numbers[i] for i in which)
        start = "Members" if len(numbers) > 1 else "Member"
        return Finding(fault, numbers, f"{start} {enumerated([str(i) for i in numbers])} {what}")

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
            wrong = self.probs.argmax(axis=-1) != truth.argmax(axis=-1)
        else:
            wrong = ((self.probs > 0.5) != truth).any(axis=-1)
        return np.asarray(wrong.sum(axis=1))


def quoted(name: str) -> str:
    """A class name in a sentence."""
    return repr(shortened(name, LONGEST_NAME))


def instances_of(parts: Sequence[Members], chosen: Sequence[int]) -> str:
    """``instances 250 to 499``: the positions of the chosen parts, neighbors put together."""
    starts = [j for j in chosen if j - 1 not in chosen]
    ends = [j for j in chosen if j + 1 not in chosen]
    ranges = [
        f"{parts[start].rows[0]:,} to {parts[end].rows[-1]:,}"
        for start, end in zip(starts, ends, strict=True)
    ]
    return f"instances {enumerated(ranges)}"


def count_carriers(sizes: np.ndarray) -> float:
    """(Σ s)² / Σ s²: N if all N rows have the same size, 1 if only one row has any."""
    square = float(np.square(sizes).sum())
    return float(sizes.sum()) ** 2 / square if square > 0 else 0.0
