"""The guarantee of fitted sets in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._tables import first_names

if TYPE_CHECKING:
    from ._predictor import SetPredictor


def guarantee(sets: SetPredictor) -> str:
    """One sentence: the probability, of what, for whom, on average over what."""
    whom, caveat = _whom_it_covers(sets)
    if sets.coverage_unit == "group":
        what = f"the sets of all cases of a new group{whom} contain their true classes"
        over = "new groups and calibration groups from the same population"
    elif sets.coverage_unit == "case":
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


def _whom_it_covers(sets: SetPredictor) -> tuple[str, str]:
    """Who is covered, and who may be covered less."""
    if sets.kind == "marginal":
        return "", "; single classes may be covered less"
    if sets.kind == "class":
        return " of each class", ""
    pools = []
    for event in sets.events:
        if 1 < len(event.classes) < len(sets.class_names):
            pools.append(
                f"{event.name!r} ({first_names([sets.class_names[k] for k in event.classes])})"
            )
    if not pools:
        return " of each event", ""
    if len(pools) > 3:
        pools = [*pools[:3], "…"]
    return " of each event", f"; not for each class in {' or '.join(pools)} by itself"
