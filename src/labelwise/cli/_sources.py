"""Where the disagreement of the members comes from, and which of them are off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import InputError
from .._format import percent
from .._tables import counted
from ._output import echo, echo_table

if TYPE_CHECKING:
    from ..io import Predictions
    from ..losses import LossName


def compare_members(loaded: Predictions, loss: LossName) -> dict[str, Any]:
    """What each factor of the members contributes, and each level of a factor with its accuracy,
    as plain data. Without factors each member is a level.
    """
    import numpy as np

    from ..decomposition import decompose

    if loaded.n_members in (None, 1):
        raise InputError("--sources compares members; these predictions have only one")
    if loaded.weights is not None and loaded.weights.ndim == 2:
        loaded = loaded[(np.asarray(loaded.weights) > 0).all(axis=0)]
        if not len(loaded):
            raise InputError("--sources needs cases that all members answered; there are none")
    if loaded.factors is None and loaded.q is None:
        members = loaded.member_names or tuple(map(str, range(loaded.n_members or 0)))
        loaded = replace(loaded, factors={"member": members})
    q: Any = loaded.distribution()
    found = decompose(q, loss).sources(rng=0)
    right = None
    if loaded.y_true is not None and not loaded.multilabel:
        right = (np.asarray(q.probs).argmax(-1) == loaded.true_class).mean(axis=1)  # (M,)
    levels = []
    for factor in found.factors:
        for level, share in found.level_shares(factor).items():
            accuracy = None
            if right is not None:
                accuracy = float(right[np.array(q.factors[factor]) == level].mean())
            row = {"factor": factor, "level": level, "share": share, "accuracy": accuracy}
            levels.append(row)
    return {
        "instances": len(loaded),
        "names": found.names,
        "means": found.means.sum(axis=1),
        "p_values": found.p_values,
        "levels": levels,
        "sentence": found.sentence,
    }


def show_members(result: dict[str, Any]) -> None:
    """`compare_members` as tables and sentences."""
    whole = sum(result["means"]) or 1.0
    rows = []
    for i, name in enumerate(result["names"]):
        p = None
        if i < len(result["p_values"]):
            p = float(result["p_values"][i])
        rows.append((name, percent(result["means"][i] / whole, 0), p))
    instances = counted(result["instances"], "instance")
    title = f"Sources of epistemic uncertainty, {instances} that all members answered"
    echo_table(title, ("source", "share", "p"), rows)
    levels = []
    for row in result["levels"]:
        accuracy = None if row["accuracy"] is None else percent(row["accuracy"])
        levels.append((row["level"], row["factor"], percent(row["share"], 0), accuracy))
    columns = ("level", "factor", "share of its factor", "accuracy")
    echo_table("Levels, farthest from the others first", columns, levels)
    echo(result["sentence"])
