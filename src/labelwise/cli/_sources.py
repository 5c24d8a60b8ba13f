"""Where the disagreement of the members comes from, and which of them are off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import InputError
from .._format import percent
from .._tables import Summary, counted
from ._output import Section

if TYPE_CHECKING:
    from ..io import Predictions
    from ..losses import LossName


def compare_members(loaded: Predictions, loss: LossName) -> Section:
    """What each factor of the members contributes, and each level of a factor with its accuracy.
    Without factors each member is a level.
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
        right = (q.probs.argmax(-1) == loaded.true_class).mean(axis=1)  # (M,)
    levels: list[dict[str, Any]] = []
    for factor in found.factors:
        for level, share in found.level_shares(factor).items():
            accuracy = None
            if right is not None:
                accuracy = right[np.array(q.factors[factor]) == level].mean()
            row = {"level": level, "factor": factor, "share": share, "accuracy": accuracy}
            levels.append(row)
    data = {
        "instances": len(loaded),
        "sources": found.to_records(),
        "levels": levels,
        "sentence": found.sentence,
    }
    cells = []
    for row in levels:
        shares = percent(row["share"], 0), percent(row["accuracy"])
        cells.append((row["level"], row["factor"], *shares))
    table = Summary(
        "Levels, farthest from the others first",
        ("level", "factor", "share of its factor", "accuracy"),
        cells,
    )
    instances = counted(len(loaded), "instance")
    return data, f"{instances} that all members answered.\n{found!r}\n\n{table.text()}"
