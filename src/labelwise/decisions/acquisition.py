"""Active learning: which instances to label next, by the members' disagreement about each class,
weighted by costs and class prevalence.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._errors import InputError
from .._format import number, percent
from .._frames import values_by_class
from .._tables import SHOWN, Shown, Summary, instance_frame
from .._validation.arguments import as_rng, check_choice, check_positive
from .._validation.labels import class_position
from ..decomposition import decompose
from ..distributions import Distribution
from ..joint import decompose as decompose_jointly
from ..losses import Loss, LossName
from .costs import Costs

STRATEGIES = ("label_wise", "entropy", "bald", "random")
BATCHES = ("top", "balanced")


@dataclass(frozen=True, eq=False, repr=False)
class Acquisition(Shown):
    """Which cases to label next, best first."""

    index: np.ndarray
    """Positions of the chosen cases, (budget,)."""
    score: np.ndarray
    """The score of every case in the pool, (N,)."""
    label: tuple[str, ...] | None
    """For ``"label_wise"``: the class each case was chosen for; unless ``batch="balanced"``, the
    one with the largest part of its score.
    """
    label_index: np.ndarray | None
    """Positions of these classes, (budget,)."""
    need: np.ndarray | None
    """For ``"label_wise"``: contribution of each class to each case's score, (N, K)."""
    strategy: str
    class_names: tuple[str, ...]
    instance_ids: Any = None
    """What all cases of the pool are called, where they came with an index."""

    def to_frame(self, *, ids: Any = None, library: str = "pandas") -> Any:
        """A row for each chosen case, best first, as a data frame of pandas or polars; ``ids`` name
        all cases of the pool.
        """
        columns: dict[str, Any] = {"score": self.score[self.index]}
        if self.label is not None:
            columns["label"] = np.asarray(self.label)
        return instance_frame(
            columns,
            self.score.shape,
            library,
            ids=ids,
            known=self.instance_ids,
            where=self.index,
            rank=True,
        )

    def _summary(self) -> Summary:
        title = (
            f"Acquisition ({self.strategy}): {len(self.index):,} of {len(self.score):,} cases, "
            "best first"
        )
        rows = []
        for j, i in enumerate(self.index[:SHOWN].tolist()):
            label = "" if self.label is None else self.label[j]
            rows.append((str(i), float(self.score[i]), label))
        more = len(self.index) - SHOWN
        note = f"… and {more:,} more" if more > 0 else ""
        return Summary(title, ("case", "score", "label"), rows, note)

    def explain(self, j: int = 0) -> str:
        """Explain the ``j``-th choice in one sentence."""
        i = int(self.index[j])
        if self.label is None or self.label_index is None or self.need is None:
            return f"case {i}: {self.strategy} score {number(self.score[i])}"
        whole = f"{number(self.score[i])} (the pool's mean is {number(self.score.mean())})"
        if np.count_nonzero(self.need.any(axis=0)) <= 1:
            return f"case {i}, for {self.label[j]}: score {whole}"
        if not self.need[i].any():
            return f"case {i}: score 0, the members agree about it"
        share = self.need[i, self.label_index[j]] / self.need[i].sum()
        return f"case {i}, for {self.label[j]}: {percent(share, 0)} of its score of {whole}"


def _class_need(
    q: Distribution, costs: Costs | None, loss: LossName | Loss, prevalence: Any
) -> np.ndarray:
    """How much the members disagree about each class of each case, weighted, (N, K)."""
    if q.finite and q.n_members == 1:
        raise ValueError(
            "one member says nothing about epistemic uncertainty; label-wise acquisition needs at "
            "least 2"
        )
    epistemic = to_numpy(decompose(q, loss).epistemic).astype(float)
    if prevalence is None:
        share = to_numpy(q.mean()).astype(float).mean(axis=0)
    else:
        names = q.class_names or tuple(map(str, range(q.n_classes)))
        share = np.asarray(values_by_class(prevalence, names, "prevalence"), dtype=float)
        if share.shape != (q.n_classes,) or not np.all(np.isfinite(share)) or np.any(share < 0):
            raise ValueError(
                f"`prevalence` must be K = {q.n_classes} shares, not negative; got {prevalence!r}"
            )
    weights = np.ones(q.n_classes) if costs is None else _stakes(costs, q)
    return np.asarray(weights * epistemic / np.maximum(share, 1 / len(epistemic)))


def _stakes(costs: Costs, q: Distribution) -> np.ndarray:
    """Cost of missing each class."""
    if costs.fits("per_label"):
        return costs.problem("per_label", q.n_classes, q.class_names)[0].table[:, 1, 0]
    table = costs.problem("multiclass", q.n_classes, q.class_names)[0].table
    return np.asarray((table.sum(axis=1) - np.diagonal(table)) / (len(table) - 1))


def acquire(
    q: Distribution,
    costs: Costs | None = None,
    *,
    budget: int,
    label: str | int | None = None,
    strategy: str = "label_wise",
    batch: str = "top",
    loss: LossName | Loss = "log",
    prevalence: Any = None,
    rng: Any = None,
) -> Acquisition:
    r"""Choose ``budget`` cases of a pool to label: those about which the members disagree most.

    That labels of these cases improve the model is not known beforehand; compare with ``"random"``
    on held-out data. ``"label_wise"`` scores a case by :math:`\sum_k w_k\, \mathrm{EU}_k / \pi_k`.
    A rare class has little epistemic uncertainty because it is rare; dividing by its prevalence
    :math:`\pi_k` puts the classes on one scale. The weight :math:`w_k` is the cost of missing the
    class: ``missed``, or the mean off-diagonal cost of its row of the matrix; 1 without costs.
    ``"entropy"``, ``"bald"`` (mutual information) and ``"random"`` are the usual baselines, which
    ignore classes and costs.

    Parameters
    ----------
    q : distribution
        The predictions for the pool, N cases on one axis.
    costs : Costs, optional
        Costs of missing each class.
    budget : int
        Number of cases.
    label : str or int, optional
        Choose for this class alone: only its epistemic uncertainty counts, and no costs are needed.
        A whole number is a class name where all names are integers, else a position.
    strategy : {"label_wise", "entropy", "bald", "random"}
    batch : {"top", "balanced"}
        ``"top"``: the highest scores. ``"balanced"``: classes take turns, each choosing the case it
        needs most, as long as it needs one (label-wise only).
    loss : str or Loss
        Loss of the epistemic uncertainty.
    prevalence : array (K,), or mapping or series from class names, optional
        Of each class in the pool; defaults to the mean predicted probability, at least 1/N.
    rng : int, Generator or None
        Random seed or generator for ``"random"``.

    Examples
    --------
    >>> probs = np.array([[[0.9, 0.1], [0.5, 0.5], [0.9, 0.1]], [[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]]])
    >>> q = lw.Ensemble(probs, class_names=["nevus", "melanoma"])
    >>> acquire(q, budget=1).index, acquire(q, budget=1, strategy="entropy").index  # disagreement; a coin toss
    (array([2]), array([1]))
    >>> acquire(q, budget=1, label="melanoma").explain()
    "case 2, for melanoma: score 0.887 (the pool's mean is 0.296)"
    """  # noqa: E501
    check_choice(strategy, "strategy", STRATEGIES)
    check_choice(batch, "batch", BATCHES)
    mean = to_numpy(q.mean()).astype(float)
    if mean.ndim != 2:
        raise ValueError(
            "`q` must be a pool of cases, one axis of instances; got instances of shape "
            f"{mean.shape[:-1]}"
        )
    n = len(mean)
    if check_positive(budget, "budget") > n:
        raise ValueError(f"the budget must be at most the pool's {n} cases; got {budget!r}")
    if batch == "balanced" and strategy != "label_wise":
        raise InputError(
            f"a balanced batch takes turns between classes, which the strategy {strategy!r} ignores",  # noqa: E501
            fix="label_wise",
        )
    class_names = q.class_names or tuple(map(str, range(q.n_classes)))
    chosen = None if label is None else _check_label(label, class_names, strategy, batch)
    need = None
    if strategy == "label_wise":
        need = _class_need(q, costs, loss, prevalence)
        if chosen is not None:
            need = np.where(np.arange(q.n_classes) == chosen, need, 0.0)
        score = need.sum(axis=1)
    else:
        score = _baseline(q, mean, strategy, rng)
    taught: np.ndarray | None = None
    if batch == "balanced" and need is not None:
        index, taught = _take_turns(need, budget)
    else:
        index = np.argsort(-score, kind="stable")[:budget]
        if need is not None:
            taught = need[index].argmax(axis=1) if chosen is None else np.full(budget, chosen)
    labels = None if taught is None else tuple(class_names[k] for k in taught)
    return Acquisition(index, score, labels, taught, need, strategy, class_names, q.ids)


def _check_label(label: Any, class_names: tuple[str, ...], strategy: str, batch: str) -> int:
    """The position of a class, after choices that have no meaning for a single class were
    refused.
    """
    position = class_position(label, class_names, "label")
    if strategy != "label_wise":
        raise InputError(
            f"`label` asks for one class, and the strategy {strategy!r} ignores classes",
            fix="label_wise",
        )
    if batch == "balanced":
        raise InputError(
            "a balanced batch takes turns between classes, and `label` asks for one", fix="batch"
        )
    return position


def _baseline(q: Distribution, mean: np.ndarray, strategy: str, rng: Any) -> np.ndarray:
    if strategy == "random":
        return as_rng(rng).random(len(mean))
    u = decompose_jointly(q, "log") if q.exclusive else decompose(q, "log").sum()
    return to_numpy(u.total if strategy == "entropy" else u.epistemic).astype(float)


def _take_turns(need: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes take turns, largest total need first; each takes the remaining case it needs most,
    until it needs none of them.
    """
    turns = deque(np.argsort(-need.sum(axis=0), kind="stable").tolist())
    queues = np.argsort(-need, axis=0, kind="stable")
    free = np.ones(len(need), dtype=bool)
    position = np.zeros(need.shape[1], dtype=int)
    chosen: list[int] = []
    taught: list[int] = []
    while turns and len(chosen) < budget:
        k = turns.popleft()
        while not free[queues[position[k], k]]:
            position[k] += 1
        case = int(queues[position[k], k])
        if need[case, k] > 0:
            turns.append(k)
            free[case] = False
            chosen.append(case)
            taught.append(k)
    rest = np.flatnonzero(free)[: budget - len(chosen)]  # about these the members agree
    chosen += rest.tolist()
    taught += need[rest].argmax(axis=1).tolist()
    return np.asarray(chosen), np.asarray(taught)
