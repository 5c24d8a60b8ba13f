"""Active learning: which instances to label next, by the members' disagreement about each class,
weighted by costs and class prevalence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import as_double, to_numpy
from .._engine.blocks import add_rows
from .._errors import InputError
from .._format import number, percent
from .._frames import Library, instance_frame
from .._tables import Tabular
from .._validation.arguments import check_choice, check_positive
from .._validation.labels import class_position
from ..decomposition import decompose
from ..distributions import Distribution
from ..io import Predictions
from ..io.blocks import in_blocks_of
from ..losses import Loss, LossName
from .costs import Costs, Task, check_is_costs

BATCHES = ("top", "balanced")


@dataclass(frozen=True, eq=False, repr=False)
class Acquisition(Tabular):
    """Which cases to label next, best first."""

    indices: np.ndarray
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

    def to_frame(self, *, ids: Any = None, library: Library = "pandas") -> Any:
        """A row for each chosen case, best first, as a data frame of pandas or polars; ``ids`` name
        all cases of the pool.
        """
        columns = self._columns()
        del columns["case"]
        where, known = self.indices, self.instance_ids
        return instance_frame(columns, self.score.shape, library, ids=ids, known=known, where=where)

    def _title(self) -> str:
        return f"Acquisition: {len(self.indices):,} of {len(self.score):,} cases, best first"

    def _columns(self) -> dict[str, Any]:
        return {"case": self.indices, "score": self.score[self.indices], "label": self.label}

    def explain(self, j: int = 0) -> str:
        """Explain the ``j``-th choice in one sentence."""
        i, label = int(self.indices[j]), self.label[j]
        need = self.need[i]
        if not need.any():
            return f"case {i}: score 0, the members agree about it"
        score = f"{number(self.score[i])} (the pool's mean is {number(self.score.mean())})"
        share = need[self.class_names.index(label)] / need.sum()
        part = "score"
        if share < 1:
            part = f"{percent(share, 0)} of its score of"
        return f"case {i}, for {label}: {part} {score}"


def acquire(
    q: Distribution | Predictions,
    costs: Costs | None = None,
    *,
    budget: int,
    label: str | int | None = None,
    batch: str = "top",
    candidates: Any = None,
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
    q : distribution or Predictions
        The predictions for the pool, N cases on one axis; those in files are read in blocks.
        Memory: the need of each class, (N, K) in double precision.
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
    candidates : array (N,) of bool, optional
        The cases that may be chosen; scores and prevalences are those of the whole pool.
    loss : str or Loss
        Loss of the epistemic uncertainty.

    Examples
    --------
    >>> nevus = np.array([[0.9, 0.5, 0.9], [0.9, 0.5, 0.3]])
    >>> q = lw.Ensemble(np.stack([nevus, 1 - nevus], axis=-1), class_names=["nevus", "melanoma"])
    >>> acquire(q, budget=1).indices  # the members disagree about it; case 1 is a coin toss to both
    array([2])
    >>> acquire(q, budget=1, label="melanoma").explain()
    "case 2, for melanoma: score 0.887 (the pool's mean is 0.296)"
    """
    check_choice(batch, "batch", BATCHES)
    if not isinstance(q, Predictions) and len(q.batch_shape) != 1:
        raise ValueError(
            f"`q` must be a pool of cases, one axis of instances; got instances of shape "
            f"{q.batch_shape}"
        )
    pool = q if isinstance(q, Predictions) else Predictions(q=q)
    n, class_names = len(pool), pool.names
    allowed: Any = slice(None)
    among = "the pool's"
    if candidates is not None:
        allowed, among = to_numpy(candidates), "the candidates'"
        if allowed.dtype != bool or allowed.shape != (n,):
            raise ValueError(f"`candidates` must say True or False of each of the {n} cases")
    places = np.arange(n)[allowed]
    if check_positive(budget, "budget") > len(places):
        raise ValueError(f"the budget must be at most {among} {len(places)} cases; got {budget!r}")
    if pool.n_members == 1:
        raise ValueError(
            "one member says nothing about epistemic uncertainty; label-wise acquisition needs at "
            "least 2"
        )
    weight = np.ones(pool.n_classes)
    if costs is not None:
        check_is_costs(costs)
        weight = _cost_of_missing_each_class(costs, q)
    if label is not None:
        if batch == "balanced":
            raise InputError(
                "a balanced batch takes turns between classes, and `label` asks for one",
                fix="batch",
            )
        wanted = class_position(label, class_names)
        weight = np.where(np.arange(len(weight)) == wanted, weight, 0.0)
    need = _acquisition_need_of_pool(pool, weight, loss)
    score = need.sum(axis=1)
    if batch == "balanced":
        chosen, chosen_for = _acquire_in_turns(need[allowed], budget)
        indices = places[chosen]
    else:
        indices = places[np.argsort(-score[allowed], kind="stable")[:budget]]
        chosen_for = need[indices].argmax(axis=1)
        if label is not None:  # also where the members agree about it
            chosen_for = np.full(budget, wanted)
    labels = tuple(class_names[k] for k in chosen_for)
    return Acquisition(indices, score, labels, need, class_names, q.ids)


def _acquisition_need_of_pool(
    pool: Predictions, weight: np.ndarray, loss: LossName | Loss
) -> np.ndarray:
    """EU_k / π_k · w_k of each case, (N, K), in one pass."""
    total = np.zeros(pool.n_classes)

    def epistemic_of(block: Distribution) -> tuple[np.ndarray]:
        nonlocal total
        total = add_rows(total, to_numpy(block.mean()))
        u = decompose(block, loss)
        disagreement = u.epistemic if u.regret is None else u.regret
        return (as_double(disagreement),)

    (need,) = in_blocks_of(epistemic_of, pool)
    prevalence = np.maximum(total / len(pool), 1 / len(pool))
    return np.multiply(need, weight / prevalence, out=need)


def _cost_of_missing_each_class(costs: Costs, q: Distribution | Predictions) -> np.ndarray:
    """What it costs to miss each class; with a matrix, the mean over the other classes."""
    task: Task = "per_label" if costs.matrix is None else "multiclass"
    table = costs.problem(task, q.n_classes, q.class_names)[0].table
    if task == "per_label":
        return table[:, 1, 0]
    return (table.sum(axis=1) - np.diagonal(table)) / (len(table) - 1)


def _acquire_in_turns(need: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes take turns, largest total need first; each takes the remaining case it needs most,
    until it needs none of them.
    """
    turns = {}
    for k in np.argsort(-need.sum(axis=0), kind="stable").tolist():
        cases = np.argsort(-need[:, k], kind="stable")[:budget]  # others take fewer than these
        turns[k] = iter(cases[need[cases, k] > 0].tolist())
    chosen: dict[int, int] = {}  # the class that each case is chosen for
    while turns and len(chosen) < budget:
        for k, cases in list(turns.items()):
            case = next((case for case in cases if case not in chosen), None)
            if case is None:
                del turns[k]
            else:
                chosen[case] = k
    indices, chosen_for = np.array([*chosen.items()], int).reshape(-1, 2)[:budget].T
    # the members agree about the rest
    rest = np.setdiff1d(np.arange(len(need)), indices)[: budget - len(indices)]
    return np.append(indices, rest), np.append(chosen_for, need[rest].argmax(axis=1))
