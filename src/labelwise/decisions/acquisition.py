"""Active learning: which instances to label next, by the members' disagreement about each class,
weighted by costs and class prevalence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._errors import InputError
from .._format import number, percent
from .._tables import SHOWN, Shown, Summary, instance_frame
from .._validation.arguments import check_choice, check_positive
from .._validation.labels import class_position
from ..decomposition import decompose
from ..distributions import Distribution
from ..losses import Loss, LossName
from .costs import Costs

BATCHES = ("top", "balanced")


@dataclass(frozen=True, eq=False, repr=False)
class Acquisition(Shown):
    """Which cases to label next, best first."""

    index: np.ndarray
    """Positions of the chosen cases, (budget,)."""
    score: np.ndarray
    """The score of every case in the pool, (N,)."""
    label: tuple[str, ...]
    """The class each case was chosen for; unless ``batch="balanced"``, the one with the largest
    part of its score.
    """
    need: np.ndarray
    """Contribution of each class to each case's score, (N, K)."""
    class_names: tuple[str, ...]
    instance_ids: Any = None
    """What all cases of the pool are called, where they came with an index."""

    def to_frame(self, *, ids: Any = None, library: str = "pandas") -> Any:
        """A row for each chosen case, best first, as a data frame of pandas or polars; ``ids`` name
        all cases of the pool.
        """
        return instance_frame(
            {"score": self.score[self.index], "label": np.asarray(self.label)},
            self.score.shape,
            library,
            ids=ids,
            known=self.instance_ids,
            where=self.index,
        )

    def _summary(self) -> Summary:
        title = f"Acquisition: {len(self.index):,} of {len(self.score):,} cases, best first"
        rows = []
        for i, label in zip(self.index[:SHOWN].tolist(), self.label, strict=False):
            rows.append((str(i), float(self.score[i]), label))
        note = ""
        if len(self.index) > SHOWN:
            note = f"… and {len(self.index) - SHOWN:,} more"
        return Summary(title, ("case", "score", "label"), rows, note)

    def explain(self, j: int = 0) -> str:
        """Explain the ``j``-th choice in one sentence."""
        i, label = int(self.index[j]), self.label[j]
        score = f"{number(self.score[i])} (the pool's mean is {number(self.score.mean())})"
        if np.count_nonzero(self.need.any(axis=0)) <= 1:
            return f"case {i}, for {label}: score {score}"
        if not self.need[i].any():
            return f"case {i}: score 0, the members agree about it"
        share = self.need[i, self.class_names.index(label)] / self.need[i].sum()
        return f"case {i}, for {label}: {percent(share, 0)} of its score of {score}"


def acquire(
    q: Distribution,
    costs: Costs | None = None,
    *,
    budget: int,
    label: str | int | None = None,
    batch: str = "top",
    loss: LossName | Loss = "log",
) -> Acquisition:
    r"""Choose ``budget`` cases of a pool to label: those about which the members disagree most.

    A case counts by :math:`\sum_k w_k\, \mathrm{EU}_k / \pi_k`. A rare class has little epistemic
    uncertainty because it is rare; dividing by its prevalence :math:`\pi_k`, the mean predicted
    probability (at least 1/N), puts the classes on one scale. The weight :math:`w_k` is the cost of
    missing the class: ``missed``, or the mean off-diagonal cost of its row of the matrix; 1 without
    costs. The ``regret`` of `Intervals` takes the place of EU.

    That labels of these cases improve the model is not known beforehand. Compare on held-out data
    with a random choice, ``rng.choice(n, budget, replace=False)``, and with the usual scores that
    ignore classes and costs: the ``total`` (entropy) and ``epistemic`` (BALD, mutual information)
    of `joint.decompose`.

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
    batch : {"top", "balanced"}
        ``"top"``: the highest scores. ``"balanced"``: classes take turns, each choosing the case it
        needs most, as long as it needs one.
    loss : str or Loss
        Loss of the epistemic uncertainty.

    Examples
    --------
    >>> nevus = np.array([[0.9, 0.5, 0.9], [0.9, 0.5, 0.3]])
    >>> q = lw.Ensemble(np.stack([nevus, 1 - nevus], axis=-1), class_names=["nevus", "melanoma"])
    >>> acquire(q, budget=1).index  # the members disagree about it; case 1 is a coin toss to both
    array([2])
    >>> acquire(q, budget=1, label="melanoma").explain()
    "case 2, for melanoma: score 0.887 (the pool's mean is 0.296)"
    """
    check_choice(batch, "batch", BATCHES)
    class_names = q.class_names or tuple(map(str, range(q.n_classes)))
    if len(q.batch_shape) != 1:
        raise ValueError(
            f"`q` must be a pool of cases, one axis of instances; got instances of shape "
            f"{q.batch_shape}"
        )
    (n,) = q.batch_shape
    if check_positive(budget, "budget") > n:
        raise ValueError(f"the budget must be at most the pool's {n} cases; got {budget!r}")

    if q.finite and q.n_members == 1:
        raise ValueError(
            "one member says nothing about epistemic uncertainty; label-wise acquisition needs at "
            "least 2"
        )
    prevalence = np.maximum(to_numpy(q.mean()).astype(float).mean(axis=0), 1 / n)
    u = decompose(q, loss)
    disagreement = u.epistemic if u.regret is None else u.regret
    need = to_numpy(disagreement).astype(float) / prevalence
    if costs is not None:
        need = need * _cost_of_missing_each_class(costs, q)
    if label is not None:
        if batch == "balanced":
            raise InputError(
                "a balanced batch takes turns between classes, and `label` asks for one",
                fix="batch",
            )
        wanted = class_position(label, class_names, "label")
        need = np.where(np.arange(q.n_classes) == wanted, need, 0.0)
    score = need.sum(axis=1)
    if batch == "balanced":
        index, chosen_for = _let_classes_take_turns(need, budget)
    else:
        index = np.argsort(-score, kind="stable")[:budget]
        chosen_for = need[index].argmax(axis=1)
        if label is not None:  # also where the members agree about it
            chosen_for = np.full(budget, wanted)
    labels = tuple(class_names[k] for k in chosen_for)
    return Acquisition(index, score, labels, need, class_names, q.ids)


def _cost_of_missing_each_class(costs: Costs, q: Distribution) -> np.ndarray:
    """What it costs to miss each class; with a matrix, the mean over the other classes."""
    if costs.matrix is None:
        return costs.problem("per_label", q.n_classes, q.class_names)[0].table[:, 1, 0]
    table = costs.problem("multiclass", q.n_classes, q.class_names)[0].table
    return np.asarray((table.sum(axis=1) - np.diagonal(table)) / (len(table) - 1))


def _let_classes_take_turns(need: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes take turns, largest total need first; each takes the remaining case it needs most,
    until it needs none of them.
    """
    turns = np.argsort(-need.sum(axis=0), kind="stable").tolist()
    remaining = need.T.copy()
    chosen: list[int] = []
    chosen_for: list[int] = []
    while len(chosen) < budget and remaining.any():
        for k in turns:
            case = int(remaining[k].argmax())
            if remaining[k, case] > 0:
                remaining[:, case] = 0
                chosen.append(case)
                chosen_for.append(k)
    rest = np.setdiff1d(np.arange(len(need)), chosen)  # the members agree about these
    index = np.append(chosen, rest)[:budget].astype(int)
    return index, np.append(chosen_for, need[rest].argmax(axis=1))[:budget].astype(int)
