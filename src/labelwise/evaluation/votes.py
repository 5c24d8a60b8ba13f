r"""What people's votes say about aleatoric and epistemic claims.

For two votes of one case, with v = 1 for label k and the predicted mean θ̄,

    ½ (v₁ − v₂)²  +  (v₁ − θ̄)(v₂ − θ̄)  =  ½ [(v₁ − θ̄)² + (v₂ − θ̄)²]

If both people vote for k with probability p, independently of each other given the case, the
expectations are p(1 − p), (p − θ̄)² and their sum: what squared loss calls aleatoric, epistemic and
total uncertainty when p is distributed as Θ. So 2 AU_k is the claimed probability that two people
disagree about label k, and two votes per case suffice to check it, without bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import as_double, quotient
from .._errors import InputError
from .._frames import columns_by_class, repeated, same_rows
from .._resampling import group_codes
from .._validation.labels import as_labels, as_numpy, plain_labels
from ..decomposition import PARTS, Uncertainty, decompose
from ..distributions import Distribution
from ..distributions.base import not_a_distribution
from ..events import Family, as_events


@dataclass(frozen=True, eq=False)
class Votes:
    """Claims of squared loss and votes about the same events, of the cases with at least two
    votes.
    """

    u: Uncertainty
    """The claims: (N, E)."""
    mean: np.ndarray
    """θ̄ of each event, (N, E)."""
    yes: np.ndarray
    """Number of votes for each event, (N, E)."""
    n: np.ndarray
    """Number of votes, (N, 1)."""
    answers: np.ndarray | None
    """Whether each annotator voted for each event, (A, N, E), NaN where they did not vote at all;
    ``None`` if the annotators are not known.
    """
    pair_bounds: np.ndarray
    """The largest ½ Σ (v₁ − v₂)² of two votes, for each event and then for the sum over all events,
    (E + 1,).
    """
    code: np.ndarray
    """Group of each case: 0, 1, …"""
    n_groups: int
    keep: np.ndarray
    """Which of the given cases have at least two votes."""

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.u.class_names

    @cached_property
    def claimed(self) -> np.ndarray:
        """Claimed TU, AU and EU, (3, N, E)."""
        return np.stack([as_double(getattr(self.u, part)) for part in PARTS])

    @cached_property
    def observed(self) -> np.ndarray:
        """Unbiased estimates of what is claimed, (3, N, E)."""
        return pair_statistics(self.yes, self.n, self.mean)

    @cached_property
    def disputed(self) -> np.ndarray:
        """Number of cases on which people disagree about each event, (E,)."""
        return ((self.yes > 0) & (self.yes < self.n)).sum(axis=0)

    @cached_property
    def without_each_annotator(self) -> np.ndarray:
        """Means of claimed and observed uncertainty without each of the annotators, (A, 3, 2, E);
        A = 0 for fewer than three.
        """
        means = []
        for answer in () if self.answers is None else self.answers:
            n = self.n - ~np.isnan(answer[:, :1])
            enough = n[:, 0] >= 2
            if enough.any():
                yes = (self.yes - np.nan_to_num(answer))[enough]
                observed = pair_statistics(yes, n[enough], self.mean[enough])
                means.append(np.stack([self.claimed[:, enough], observed], axis=1).mean(axis=2))
        if len(means) < 3:
            means = []
        return np.reshape(means, (len(means), len(PARTS), 2, self.mean.shape[1]))


def claimed_share(u: Uncertainty) -> np.ndarray:
    """AU/TU; 1 where there is no uncertainty."""
    share = quotient(as_double(u.aleatoric), as_double(u.total), 1.0)
    return np.minimum(share, 1.0)


def pair_statistics(yes: np.ndarray, n: np.ndarray, mean: np.ndarray) -> np.ndarray:
    r"""Means over all pairs of votes of one case, stacked as total, aleatoric and epistemic.

    .. math:: \overline{(v - \bar\theta)^2}, \qquad
              \overline{\tfrac12 (v_1 - v_2)^2} = \frac{y (n - y)}{n (n - 1)}, \qquad
              \overline{(v_1 - \bar\theta)(v_2 - \bar\theta)}

    Unbiased for p(1 − p) + (p − θ̄)², p(1 − p) and (p − θ̄)² from two votes on; the last includes
    the bias of the mean and may be negative.

    One of two people chose the label:

    >>> pair_statistics(np.array([1.0]), np.array([2.0]), np.array([0.3])).ravel().round(3)
    array([ 0.29,  0.5 , -0.21])
    """
    no, pairs = n - yes, n * (n - 1)
    squares = yes * (1 - mean) ** 2 + no * mean**2
    return np.stack(
        [squares / n, yes * no / pairs, ((yes * (1 - mean) - no * mean) ** 2 - squares) / pairs]
    )


def read_votes(
    q: Distribution,
    votes: Any,
    *,
    events: Family | None = None,
    annotators: Sequence[str] | None = None,
    groups: Any = None,
) -> Votes:
    """Validate predictions and votes of the same N cases."""
    check_one_axis_of_cases(q)
    family = as_events(events)
    if family is not None and not q.exclusive:
        raise ValueError(
            "`events` are for classes of which one is chosen; labels that may occur together are "
            "compared one by one"
        )
    if family is not None and family.given is not None:
        raise ValueError(
            "`events` must not be conditional: which cases have votes inside the condition depends "
            "on the votes, so that claims about them cannot be checked without bias"
        )
    k, n = q.n_classes, q.batch_shape[0]
    inside = np.eye(k)
    if q.exclusive:
        votes, groups = same_rows(q, votes=votes, groups=groups)
        if family is not None:
            inside = np.zeros((k, len(family.names)))
            for e, (classes, _) in enumerate(family.resolve(k, q.class_names)):
                inside[classes, e] = 1
        squares = np.sum(inside**2, axis=1)
        # Σ (v₁ − v₂)² of votes for each two classes, (K, K)
        apart = squares[:, None] + squares - 2 * inside @ inside.T
        of_each = (inside.max(axis=0) - inside.min(axis=0)) ** 2
        pair_bounds = 0.5 * np.append(of_each, apart.max())
    else:
        (groups,) = same_rows(q, groups=groups)
        pair_bounds = 0.5 * np.append(np.ones(k), k)
    yes, total, answers = _votes_for_events(q, votes, annotators, inside)
    keep = total[:, 0] >= 2
    if keep.sum() < 2:
        raise ValueError(
            f"`votes` must have at least 2 cases with 2 votes or more; got {keep.sum()} of "
            f"{n}. One vote cannot tell disagreement from error"
        )
    code, _ = group_codes(groups, n)
    values, code = np.unique(code[keep], return_inverse=True)
    if len(values) < 2:
        raise ValueError(
            "`groups` must name at least 2 groups; got 1, which says nothing about the spread"
        )
    if not keep.all():
        q = q[keep]
    return Votes(
        decompose(q, "squared", events=family),
        np.clip(as_double(q.marginal(family).mean[0]), 0, 1),
        yes[keep],
        total[keep],
        None if answers is None else answers[:, keep],
        pair_bounds,
        code,
        len(values),
        keep,
    )


def check_one_axis_of_cases(q: Any, name: str = "q") -> None:
    """A distribution of N cases, and nothing else."""
    if not isinstance(q, Distribution):
        raise not_a_distribution(q)
    if len(q.batch_shape) != 1:
        raise InputError(
            f"`{name}` must have one axis of cases, shape (N, K); got batch shape {q.batch_shape}"
        )


def count_votes(
    q: Distribution, votes: Any, annotators: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Votes for each class or label (N, K), and all votes on each case (N,).

    >>> q = lw.Ensemble(np.full((2, 3, 2), 0.5), class_names=["nevus", "melanoma"])
    >>> chosen = [["nevus", "melanoma"], ["nevus", ""], ["nevus", "nevus"]]
    >>> count_votes(q, chosen, ["Ann", "Bob"])
    (array([[1., 1.],
           [1., 0.],
           [2., 0.]]), array([2., 1., 2.]))
    """
    yes, total, _ = _votes_for_events(q, votes, annotators, np.eye(q.n_classes))
    return yes, total[:, 0]


def _votes_for_events(
    q: Distribution, votes: Any, annotators: Sequence[str] | None, inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Votes for the events (N, E), all votes (N, 1), and those of each annotator, if known.
    ``inside`` (K, E) says which classes are in which events.
    """
    k, n = q.n_classes, q.batch_shape[0]
    names = annotators
    if names is not None:
        names = () if isinstance(names, str) else tuple(map(str, names))
        if len(names) < 2 or repeated(names) is not None:
            raise ValueError(f"`annotators` must be at least 2 different names; got {annotators!r}")
    class_names = q.class_names or tuple(map(str, range(k)))
    if not q.exclusive:
        answers = _answers_of_annotators(votes, n, k, names)
    elif names is None:
        counts = _vote_counts(columns_by_class(votes, class_names, "votes"), n, k)
        return counts @ inside, counts.sum(axis=1, keepdims=True), None
    else:
        chosen = _chosen_by_annotators(votes, class_names, n, names).T
        answers = np.where((chosen >= 0)[..., None], inside[chosen], np.nan)
    total = np.sum(~np.isnan(answers[..., :1]), axis=0).astype(float)
    return np.nansum(answers, axis=0), total, None if names is None else answers


def _answers_of_annotators(
    votes: Any, n: int, k: int, annotators: Sequence[str] | None
) -> np.ndarray:
    """For labels that may occur together: 0 or 1 of each annotator, (A, N, K); NaN for cases
    without an answer.
    """
    answers = as_numpy(votes, "votes").astype(float)
    if answers.ndim != 3 or answers.shape[1:] != (n, k):
        raise ValueError(
            "`votes` on labels that may occur together must be 0 or 1 for each annotator, case and "
            f"label, shape (A, {n}, {k}); got shape {answers.shape}"
        )
    if annotators is not None and len(annotators) != len(answers):
        raise ValueError(
            f"`annotators` must name the {len(answers)} annotators of `votes`; got "
            f"{len(annotators)} names"
        )
    missing = np.all(answers == -1, axis=-1, keepdims=True)
    wrong = answers[~(missing | (answers == 0) | (answers == 1))]
    if wrong.size:
        raise ValueError(
            "`votes` must be 0 or 1 for each label, or −1 for all labels of a case that an "
            f"annotator did not see; got {wrong[0]:g}"
        )
    return np.where(missing, np.nan, answers)


def _vote_counts(votes: Any, n: int, k: int) -> np.ndarray:
    counts = as_numpy(votes, "votes").astype(float)
    if counts.shape != (n, k):
        raise ValueError(
            f"`votes` must count the votes for each class, shape ({n}, {k}); got shape "
            f"{counts.shape}. If they are the classes that each annotator "
            "chose, pass the `annotators` too"
        )
    wrong = counts[(counts < 0) | (counts != np.floor(counts))]
    if wrong.size:
        raise ValueError(
            f"`votes` must be whole numbers of votes, not negative; got {wrong[0]:g}. Shares do "
            "not tell how many people voted: multiply by their "
            "number. Classes chosen by each annotator (−1 = none) need `annotators`"
        )
    return counts


def _chosen_by_annotators(
    votes: Any, class_names: Sequence[str], n: int, annotators: Sequence[str]
) -> np.ndarray:
    """Positions of the classes that were chosen, (N, A); −1 for none."""
    labels = plain_labels(votes, "votes")
    if labels.shape != (n, len(annotators)):
        raise ValueError(
            f"`votes` must have one class per case and annotator, shape ({n}, {len(annotators)}); "
            f"got shape {labels.shape}"
        )
    voted = ~np.isin(labels, ("", "-1")) if labels.dtype.kind == "U" else labels != -1
    place = np.full(labels.shape, -1, np.int64)
    place[voted] = as_labels(labels[voted], "votes", class_names, (int(voted.sum()),))
    return place
