"""The guarantee of fitted sets in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._tables import first_names

if TYPE_CHECKING:
    from ._predictor import SetPredictor


def guarantee(sets: SetPredictor) -> str:
    """One sentence: the probability, of what, for whom, on average over what."""
    whom, caveat = _whom(sets)
    if sets.cover == "group":
        what = f"the sets of all cases of a new group{whom} contain their true classes"
        over = "new groups and calibration groups from the same population"
    elif sets.cover == "case":
        what = f"the set of a random case of a new group{whom} contains its true class"
        over = (
            "groups (each counts the same, however many cases it has) and calibration groups from "
            "the same population"
        )
    else:
        what = f"the set of a new case{whom} contains its true class"
        over = "new cases and calibration cases from the same population"
    return (
        f"With probability at least {100 * sets.coverage:g} %, {what}, on average over "
        f"{over}{caveat}."
    )


def _whom(sets: SetPredictor) -> tuple[str, str]:
    if sets.per == "marginal":
        return "", "; single classes may be covered less"
    if sets.per == "class":
        return " of each class", ""
    pools = []
    for event in sets.events:
        if event.inside.sum() > 1 and not event.inside.all():
            classes = [sets.class_names[k] for k in np.flatnonzero(event.inside)]
            pools.append(f"{event.name!r} ({first_names(classes)})")
    caveat = ""
    if pools:
        listed = pools if len(pools) <= 3 else [*pools[:3], "…"]
        caveat = f"; not for each class in {' or '.join(listed)} by itself"
    return " of each event", caveat
