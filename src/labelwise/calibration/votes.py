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

from .._arrays import to_numpy
from .._frames import columns_by_class, same_rows
from .._labels import as_numpy, plain_labels, positions
from .._resampling import group_codes
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
    labels: np.ndarray | None
    """The class that each annotator chose, (N, A), −1 for none; ``None`` if the annotators are not
    known.
    """
    inside: np.ndarray
    """Which classes belong to each event, (K, E)."""
    code: np.ndarray
    """Group of each case: 0, 1, …"""
    n_groups: int
    keep: np.ndarray
    """Which of the given cases have at least two votes."""

    @property
    def left_out(self) -> int:
        """Number of cases with fewer than two votes."""
        return int(np.sum(~self.keep))

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.u.class_names

    @cached_property
    def share(self) -> np.ndarray:
        """Share of the votes for each event, (N, E)."""
        return np.asarray(self.yes / self.n)

    @cached_property
    def claimed(self) -> np.ndarray:
        """Claimed TU, AU and EU, (3, N, E)."""
        return np.stack([to_numpy(getattr(self.u, part)).astype(float) for part in PARTS])

    @cached_property
    def claimed_share(self) -> np.ndarray:
        """Claimed AU/TU, (N, E)."""
        return claimed_share(self.u)

    @cached_property
    def observed(self) -> np.ndarray:
        """Unbiased estimates of what is claimed, (3, N, E)."""
        return pair_statistics(self.yes, self.n, self.mean)


def claimed_share(u: Uncertainty) -> np.ndarray:
    """AU/TU; 1 where there is no uncertainty."""
    total, aleatoric = (to_numpy(x).astype(float) for x in (u.total, u.aleatoric))
    return np.where(total > 0, np.minimum(aleatoric / np.where(total > 0, total, 1), 1), 1.0)


def pair_statistics(yes: np.ndarray, n: np.ndarray, mean: np.ndarray) -> np.ndarray:
    r"""Means over all pairs of votes of one case, stacked as total, aleatoric and epistemic.

    .. math:: \overline{(v - \bar\theta)^2}, \qquad \overline{\tfrac12 (v_1 - v_2)^2} = \frac{y (n - y)}{n (n - 1)}, \qquad
              \overline{(v_1 - \bar\theta)(v_2 - \bar\theta)}

    Unbiased for p(1 − p) + (p − θ̄)², p(1 − p) and (p − θ̄)² from two votes on; the last includes
    the bias of the mean and may be negative.

    >>> pair_statistics(np.array([1.0]), np.array([2.0]), np.array([0.3])).ravel().round(3)  # one of two people chose the label
    array([ 0.29,  0.5 , -0.21])
    """  # noqa: E501
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
    if not isinstance(q, Distribution):
        raise not_a_distribution(q)
    if not q.exclusive:
        raise TypeError(
            f"`q` must be about classes of which one is chosen in each vote; got {type(q).__name__}"
        )
    if len(q.batch_shape) != 1:
        raise ValueError(
            f"`q` must have one axis of cases, shape (N, K); got batch shape {q.batch_shape}"
        )
    votes, groups = same_rows(q, votes=votes, groups=groups)
    k, n = q.n_classes, q.batch_shape[0]
    class_names = q.class_names or tuple(map(str, range(k)))
    labels = None if annotators is None else _by_annotator(votes, class_names, n, annotators)
    counts = (
        _counts(columns_by_class(votes, class_names, "votes"), n, k)
        if labels is None
        else np.stack([(labels == i).sum(axis=1) for i in range(k)], axis=-1).astype(float)
    )
    family = as_events(events)
    if family is not None and family.given is not None:
        raise ValueError(
            "`events` must not be conditional: which cases have votes inside the condition depends "
            "on the votes, so that claims about them "
            "cannot be checked without bias"
        )
    inside = np.eye(k)
    if family is not None:
        inside = np.zeros((k, len(family.names)))
        for e, (classes, _) in enumerate(family.resolve(k, q.class_names)):
            inside[classes, e] = 1
    total = counts.sum(axis=1, keepdims=True)
    keep = total[:, 0] >= 2
    if keep.sum() < 2:
        raise ValueError(
            f"`votes` must have at least 2 cases with 2 votes or more; got {int(keep.sum())} of "
            f"{n}. One vote cannot tell disagreement from error"
        )
    code, _ = group_codes(None if groups is None else to_numpy(groups).reshape(-1), n)
    kept = np.arange(n)[keep] if code is None else code[keep]
    values, kept = np.unique(kept, return_inverse=True)
    if len(values) < 2:
        raise ValueError(
            "`groups` must name at least 2 groups; got 1, which says nothing about the spread"
        )
    q = q if keep.all() else q[keep]
    u = decompose(q, "squared", events=family)
    mean = np.clip(to_numpy(q.marginal(family).mean[0]).astype(float), 0, 1)
    return Votes(
        u,
        mean,
        counts[keep] @ inside,
        total[keep],
        None if labels is None else labels[keep],
        inside,
        kept,
        len(values),
        keep,
    )


def _counts(votes: Any, n: int, k: int) -> np.ndarray:
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


def _by_annotator(
    votes: Any, class_names: Sequence[str], n: int, annotators: Sequence[str]
) -> np.ndarray:
    """Positions of the classes that were chosen, (N, A); −1 for none."""
    names = tuple(map(str, annotators)) if not isinstance(annotators, str) else ()
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"`annotators` must be at least 2 different names; got {annotators!r}")
    labels = plain_labels(votes, "votes")
    if labels.shape != (n, len(names)):
        raise ValueError(
            f"`votes` must have one class per case and annotator, shape ({n}, {len(names)}); got "
            f"shape {labels.shape}"
        )
    if labels.dtype.kind == "U":
        none = (labels == "") | (labels == "-1")
        order = {name: i for i, name in enumerate(class_names)}
        found = np.array([order.get(word, -2) for word in labels.ravel().tolist()]).reshape(
            labels.shape
        )
        unknown = labels[(found == -2) & ~none]
        if unknown.size:
            raise ValueError(
                f"`votes` names the unknown class {str(unknown[0])!r}; an empty name is no vote"
            )
        labels = np.where(none, -1, found)
    if labels.dtype.kind not in "iu":
        raise TypeError(
            f"`votes` must be class positions or names, −1 or empty for none; got {labels.dtype}"
        )
    given = labels != -1
    place = np.full(labels.shape, -1, np.int64)
    place[given] = positions(labels[given].astype(np.int64), "votes", class_names)
    return place
