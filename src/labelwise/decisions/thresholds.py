"""Rejection thresholds that bound the error among accepted cases, with a finite-sample
guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log, log1p
from typing import Any

import numpy as np

from .._arrays import Array
from .._format import number, percent
from .._frames import same_rows
from .._resampling import group_codes
from .._tables import Sentences
from .._validation.labels import as_correct, as_scores
from ..sets._quantiles import as_guarantee_level


@dataclass(frozen=True, repr=False)
class Threshold(Sentences):
    """Accept a case if its score is at most ``value``; ``found`` tells whether any threshold
    reaches the target.
    """

    value: float
    """−∞ (accept nothing) when no threshold reaches the target."""
    target: float
    confidence: float
    n: int
    """Number of calibration cases."""
    n_accepted: int
    errors: int
    """Errors among the accepted cases."""
    reason: str = ""
    """Why no threshold was found."""
    n_groups: int | None = None
    """Number of groups; ``None`` if all cases are independent."""

    @property
    def found(self) -> bool:
        return self.value > -inf

    @property
    def coverage(self) -> float:
        """Share of accepted cases."""
        return self.n_accepted / self.n if self.n else 0.0

    def accept(self, score: Array) -> Array:
        """Whether to accept each case."""
        return score <= self.value

    def __str__(self) -> str:
        of = ""
        if self.n_groups is not None:
            of = f" of a random case of a random group (of {self.n_groups})"
        bound = f"below {number(self.target, 4)} with confidence {number(self.confidence, 4)}"
        if not self.found:
            return f"no threshold keeps the error{of} {bound}: {self.reason}"
        return (
            f"accept scores up to {number(self.value, 6)}: {percent(self.coverage)} of the cases, "
            f"{self.errors} of {self.n_accepted} wrong, error{of} {bound}"
        )


def choose_threshold(
    score: Array,
    correct: Any,
    *,
    target: float,
    confidence: float,
    groups: Any = None,
) -> Threshold:
    r"""The largest threshold for which the error among accepted cases is provably below ``target``.

    For independent cases from the same distribution, :math:`P\big(P(\text{wrong} \mid \text{score}
    \le \hat\lambda) \le \text{target}\big) \ge \text{confidence}`, for every sample size and
    distribution. Thresholds are tested from strict to lenient by exact binomial (Clopper–Pearson)
    tests until one fails (fixed-sequence testing, as in Learn then Test), from a few starting
    points that share the error probability.

    Cases of the same patient are not independent: without ``groups`` the guarantee then does not
    hold. With ``groups`` one case of each group is drawn at random (always the same one), and these
    are tested. The error that is bounded is that of a random case of a random group, among the
    accepted; every group counts the same.

    The score and the predictions must not have been fitted on these cases.

    Parameters
    ----------
    score : array (n,)
        Uncertainty: high is rejected. Negate a confidence.
    correct : array (n,) of bool
        Whether the prediction was right.
    target : float
        Largest acceptable share of errors among accepted cases.
    confidence : float
        Probability with which the guarantee must hold, e.g. 0.95. For thresholds of K classes that
        hold simultaneously, choose each from the cases predicted to be of its class, with
        1 − 0.05 / K.
    groups : array (n,), optional
        Group of each case. Groups are what is counted: a target of 0.05 at confidence 0.95 needs 60
        or more.

    Returns
    -------
    Threshold
        Prints as one sentence. If no threshold can be shown to reach the target, ``.found`` is
        false and ``.reason`` tells why.

    Notes
    -----
    Let λ* be a point where the error among the accepted rises to the target. The errors among the N
    cases with scores up to λ* are binomial(N, target), so the test there passes with probability at
    most δ, and no threshold beyond it is reached without passing. The first test uses the k most
    certain cases, which given the next one are independent draws below it. Ties are accepted or
    rejected together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(2000)
    >>> correct = rng.random(2000) > 0.2 * score ** 2   # the error rate grows with the score
    >>> t = choose_threshold(score, correct, target=0.05, confidence=0.95)
    >>> print(str(t).rpartition(",")[0])
    accept scores up to 0.759779: 75.5 % of the cases, 55 of 1509 wrong
    """
    score, correct, groups = same_rows(score=score, correct=correct, groups=groups)
    score = as_scores(score, "score")
    wrong = ~as_correct(correct, len(score))
    as_guarantee_level(target, "target")
    as_guarantee_level(confidence, "confidence")
    code, n_groups = group_codes(groups, len(score))

    tested, unit = np.arange(len(score)), "cases"
    if groups is not None:
        # The first case of each group in a random order, the same one each time.
        order = np.random.default_rng(0).permutation(len(score))
        tested, unit = order[np.unique(code[order], return_index=True)[1]], "groups"
    value, reason = _largest_proven_threshold(
        score[tested], wrong[tested], target, 1 - confidence, unit
    )
    accepted = score <= value
    return Threshold(
        value,
        target,
        confidence,
        n=len(score),
        n_accepted=int(accepted.sum()),
        errors=int(wrong[accepted].sum()),
        reason=reason,
        n_groups=None if groups is None else n_groups,
    )


def fewest_with_confidence(rate: float, delta: float) -> int:
    """The fewest cases without an error that prove an error rate below ``rate``: (1 − rate)ⁿ ≤ δ.

    >>> fewest_with_confidence(0.05, 0.05)
    59
    """
    return ceil(log(delta) / log1p(-rate))


def _starts_of_threshold_tests(n: int, target: float, delta: float) -> tuple[list[int], float]:
    """Starting sizes of the test sequences, and the error probability of each sequence.

    Sizes double from the smallest that can pass: one early error stops a sequence that starts with
    few cases, and a late start misses strict thresholds. They depend only on n, target and δ, never
    on the data.
    """
    number = 1
    while fewest_with_confidence(target, delta / number) << number < n:
        number += 1
    first = fewest_with_confidence(target, delta / number)
    return [first << i for i in range(number) if first << i < n], delta / number


def _largest_proven_threshold(
    score: np.ndarray, wrong: np.ndarray, target: float, delta: float, unit: str
) -> tuple[float, str]:
    """The largest threshold proven for independent cases, or −∞ and the reason."""
    from scipy.special import bdtr

    n = len(score)
    starts, share = _starts_of_threshold_tests(n, target, delta)
    if not starts:
        needed = fewest_with_confidence(target, delta) + 1
        return -inf, f"{n} {unit} cannot prove it even without errors; at least {needed} are needed"
    # Errors first among ties: the first test must not depend on the order of ties.
    order = np.lexsort((~wrong, score))
    score, errors = score[order], np.cumsum(wrong[order])
    # P(Bin(n, target) ≤ errors) ≤ δ: the exact binomial test
    passed = bdtr(errors.astype(float), np.arange(1, n + 1), target) <= share
    boundary = np.append(score[1:] != score[:-1], True)[:n]  # the last of its ties
    # Proven is what some sequence of tests reached: after its start no test failed.
    place = np.arange(n)
    started = np.full(n, -1)
    for k in starts:
        if passed[k - 1]:
            started[k:] = k
    failed = np.maximum.accumulate(np.where(boundary & ~passed, place, -1))
    proven = score[boundary & (started > failed)]
    if proven.size:
        return float(proven[-1]), ""
    first = starts[0]
    reason = f"no test passes, the first with {errors[first - 1]} errors"
    return -inf, f"{reason} among the {first} most certain of {n} {unit}"
