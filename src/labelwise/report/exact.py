"""What the page says of all cases, by the library's functions; it counts the rest itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._format import percent
from .._resampling import share_estimate
from .._tables import counted
from ..calibration import check_calibration
from ..calibration.check import confidence_sentence, mean_overconfidence
from ..decomposition import decompose
from ..evaluation import check_ensemble, detection_scores, log_loss
from ..io import Predictions
from ..losses import as_loss
from ..sets._evaluation import SetEvaluation
from .collect import Collected

MIN_CHECKED, MAX_CHECKED = 30, 5000
"""Cases for the calibration check, evenly spaced."""
MAX_CHECKED_CLASSES = 100  # of more, hardly any has enough of these cases
MAX_MEMBER_NUMBERS = 1 << 22  # members × cases × classes whose scores are computed


def summarize(found: Collected, sets: SetEvaluation | None) -> dict[str, Any]:
    """The ``exact`` part of the page's data."""
    cases, n = found.cases, found.n
    exact: dict[str, Any] = {
        "mean": {name: found[name][:n].mean() for name in found.scores},
        "accuracy": None,
        "calibration": None,
        "members": _members(found),
        "check": None,
        "sources": _sources(found),
        "detection": _detection(found),
        "sets": None,
    }
    if (cases.n_members or 0) > 1:
        check = check_ensemble(cases)
        odd = sorted({j for finding in check.findings for j in finding.members})
        exact["check"] = {"ok": check.ok, "sentence": str(check), "members": odd}
    if cases.y_true is not None:
        estimate = share_estimate(~found.wrong[:n], _groups(cases), 0.95)
        exact["accuracy"] = vars(estimate)
        exact["calibration"] = _calibration(found)
    if sets is not None:
        of_all = sets["all classes"]
        coverage, low, high = map(percent, (of_all.coverage, of_all.low, of_all.high))
        share = f"The truth is in {coverage} of the sets (95 % interval {low} to {high})."
        exact["sets"] = f"{share} {sets.guarantee}"
    return exact


def _groups(cases: Predictions) -> np.ndarray | None:
    """The groups, if there are at least two."""
    if cases.groups is None:
        return None
    groups = np.asarray(cases.groups[:])
    if np.all(groups == groups[:1]):
        return None
    return groups


def _some(cases: Predictions, most: int) -> tuple[np.ndarray, Predictions]:
    """At most so many of the cases (at least one), evenly spaced."""
    index = np.linspace(0, len(cases) - 1, max(min(len(cases), most), 1)).astype(int)
    return index, cases[index]


def _members(found: Collected) -> list[dict[str, Any]]:
    """How good each member is, and how far from the mean: the mean over some cases of
    Σ D(θ_m ‖ mean), which is what it adds to the epistemic uncertainty.
    """
    cases = found.cases
    if cases.n_members is None:
        return []
    index, part = _some(cases, MAX_MEMBER_NUMBERS // (cases.n_members * cases.n_classes))
    q: Any = part.distribution()
    mean = to_numpy(q.mean(found.events)).astype(float)
    rows = []
    for member in q.members[0]:
        one = type(q)(member[None], member_axis=0, class_names=q.class_names)
        own = to_numpy(one.mean(found.events)).astype(float)
        of_labels = as_loss("log").divergence(own, mean).sum(axis=-1)
        distance = found.label_weight * float(of_labels.mean())
        loss = None
        if part.y_true is not None:
            loss = float(log_loss(one, part.true_class))
        rows.append({"log_loss": loss, "distance": distance, "cases": len(index)})
    return rows


def _calibration(found: Collected) -> str:
    """Observed against expected accuracy over all cases, and what is badly calibrated."""
    cases, n = found.cases, found.n
    groups = _groups(cases)
    value, top = found.value, np.minimum(found["top"][:n], 1.0)
    among = counted(n, "case")
    if cases.multilabel:
        among = f"the labels of {among}"
    gap = mean_overconfidence(value, top, groups)
    sentences = [confidence_sentence(gap, value.mean(), top.mean(), among)]
    if n >= MIN_CHECKED and cases.n_classes <= MAX_CHECKED_CLASSES and not cases.multilabel:
        index, part = _some(cases, MAX_CHECKED)
        if groups is not None:
            groups = groups[index]
        q = part.distribution()
        check = check_calibration(q, part.true_class, groups=groups, rng=0, n_bootstrap=200)
        sentences += check.problems
    return " ".join(sentences)


def _sources(found: Collected) -> str | None:
    """Where the disagreement of members with named factors comes from, or why that is not known."""
    if getattr(found.cases[:1].distribution(), "factors", None) is None:
        return None
    try:
        u = decompose(found.cases.distribution(), events=found.events)
        return u.sources(rng=0).sentence
    except ValueError as error:  # the design is not a complete crossing
        return f"{error}."


def _detection(found: Collected) -> dict[str, Any]:
    """Out-of-distribution detection by each score; where both sides have groups, intervals allow
    for dependence within them.
    """
    result: dict[str, Any] = {}
    for number, name in enumerate(list(found.sets)[1:], start=1):
        cases, groups = found.sets[name], {}
        if found.cases.groups is not None and cases.groups is not None:
            groups = {"groups_in": found.cases.groups[:], "groups_out": cases.groups[:]}
        result[name] = {}
        for key in found.scores:
            outside = found[key][found.dataset == number]
            scores = detection_scores(found[key][: found.n], outside, **groups)
            result[name][key] = vars(scores.auroc)
    return result
