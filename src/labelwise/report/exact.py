"""Summaries of all cases, by the library's functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._resampling import Estimate, mean_over_groups, share_estimate
from .._tables import counted
from ..calibration import check_calibration
from ..calibration.check import confidence_sentence, mean_overconfidence
from ..decomposition import PARTS, decompose
from ..distributions import Distribution
from ..evaluation import (
    brier_score,
    check_ensemble,
    detection_scores,
    log_loss,
    rejection_curve,
)
from ..evaluation.classes import epistemic_share
from ..io import Predictions
from ..losses import as_loss
from ..sets._evaluation import evaluate_sets
from ..sets._predictor import SetPredictor
from ..sets._result import PredictionSets
from .collect import Collected

MAX_PAIRS = 20_000
MAX_CLASSES = 2000
MIN_CHECKED, MAX_CHECKED = 30, 5000
"""Cases for the calibration check, evenly spaced."""
MAX_CHECKED_CLASSES = 100  # of more, hardly any has enough of these cases
MAX_MEMBER_NUMBERS = 1 << 22  # members × cases × classes whose scores are computed
N_BOOTSTRAP, MAX_BOOTSTRAP_CASES = 200, 10_000
"""Of the intervals of areas, for log loss; with more cases they are narrow, and take long."""


def summarize(
    found: Collected,
    others: Mapping[str, Predictions],
    fitted: SetPredictor | None,
    sets: PredictionSets | None,
) -> dict[str, Any]:
    """The ``exact`` part of the page's data."""
    cases, n = found.cases, found.n
    means: dict[str, Any] = {}
    for loss in found.losses:
        means[loss] = {part: float(found.scores[f"{part}.{loss}"][:n].mean()) for part in PARTS}
    share = epistemic_share(means["log"]["epistemic"], means["log"]["total"])
    exact: dict[str, Any] = {
        "accuracy": None,
        "expected_accuracy": float(found.top[:n].mean()),
        "exact_match": None,
        "mean": means,
        "epistemic_share": float(share),
        "classes": _classes(found),
        "pairs": _pairs(found),
        "members": _members(found),
        "calibration": None,
        "rejection": None,
        "check": _check(cases),
        "sources": _sources(found),
        "detection": _detection(found, others),
        "sets": _sets(found, fitted, sets),
    }
    if cases.y_true is not None:
        exact["accuracy"] = _accuracy(found.value, cases)
        exact["calibration"] = _calibration(found)
        exact["rejection"] = _rejection(found)
        if cases.multilabel:
            exact["exact_match"] = float(np.mean(found.truth[:n] == 0))
    return exact


def interval(estimate: Estimate, value: Any = None) -> dict[str, Any]:
    """An estimate as plain data."""
    if value is None:
        value = float(estimate.value)
    return {"value": value, "low": float(estimate.low), "high": float(estimate.high)}


def _groups(cases: Predictions) -> np.ndarray | None:
    """The groups, if there are at least two."""
    if cases.groups is None:
        return None
    groups = np.asarray(cases.groups[:])
    if np.all(groups == groups[:1]):
        return None
    return groups


def _accuracy(value: np.ndarray, cases: Predictions) -> dict[str, Any]:
    groups = _groups(cases)
    if cases.multilabel:
        estimate = mean_over_groups(value, groups, 0.95, bounds=(0.0, 1.0))
    else:
        estimate = share_estimate(value.astype(bool), groups, 0.95)
    return {**interval(estimate), "how": estimate.method}


def _classes(found: Collected) -> dict[str, Any]:
    """For each label or event the numbers of true, predicted and right cases, and its mean
    uncertainty.
    """
    cases, n = found.cases, found.n
    true, predicted, right = _label_counts(found)
    aleatoric, epistemic = found.class_sums / n
    columns: dict[str, Any] = {
        "true": None,
        "predicted": predicted,
        "right": None,
        "aleatoric": aleatoric,
        "epistemic": epistemic,
    }
    most = predicted
    if cases.y_true is not None:
        columns |= {"true": true, "right": right}
        most = true + predicted
    if found.n_labels <= MAX_CLASSES:
        return columns
    index = np.sort(np.argsort(-most, kind="stable")[:MAX_CLASSES])
    shown = {name: x if x is None else x[index] for name, x in columns.items()}
    return {**shown, "index": index}


def _label_counts(found: Collected) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True, predicted and right cases of each label or event."""
    cases, n, k = found.cases, found.n, found.cases.n_classes
    if cases.multilabel:
        predicted = _unpacked(found, "predicted_labels")
        true = np.zeros_like(predicted)
        if cases.y_true is not None:
            true = _unpacked(found, "truth_labels")
        return true.sum(axis=0), predicted.sum(axis=0), (true & predicted).sum(axis=0)
    guess, truth = found.predicted[:n], found.truth[:n]
    if found.events is None:
        known = truth[truth >= 0]
        hits = guess[guess == truth]
        return tuple(np.bincount(x, minlength=k) for x in (known, guess, hits))  # type: ignore[return-value]
    counts = []
    for inside, _ in found.events.resolve(k, cases.class_names):
        true_here, predicted_here = np.isin(truth, inside), np.isin(guess, inside)
        both = true_here & predicted_here
        counts.append((true_here.sum(), predicted_here.sum(), both.sum()))
    columns = np.transpose(counts)
    return columns[0], columns[1], columns[2]


def _unpacked(found: Collected, name: str) -> np.ndarray:
    bits = found.bits[name][: found.n]
    return np.unpackbits(bits, axis=-1, count=found.n_labels, bitorder="little").astype(bool)


def _pairs(found: Collected) -> list[list[int]]:
    """[truth, predicted, count], or without labels [predicted, second, count], largest first."""
    if found.cases.multilabel:
        return []
    first, second = found.truth, found.predicted
    if found.cases.y_true is None:
        first, second = found.predicted, found.second
    k = found.cases.n_classes
    codes = first[: found.n].astype(np.int64) * k + second[: found.n]
    cells, counts = np.unique(codes, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MAX_PAIRS]
    pairs: list[list[int]]
    pairs = np.stack([cells[order] // k, cells[order] % k, counts[order]], axis=-1).tolist()
    return pairs


def _members(found: Collected) -> list[dict[str, Any]]:
    """How good each member is, and how far from the mean."""
    cases = found.cases
    if cases.n_members is None:
        return []
    each = MAX_MEMBER_NUMBERS // (cases.n_members * cases.n_classes)
    index = np.linspace(0, found.n - 1, min(found.n, max(each, 1))).astype(int)
    part = cases[index]
    q: Any = part.distribution()
    members = q.members[0]
    mean = to_numpy(q.mean(found.events)).astype(float)
    rows = []
    for j, name in enumerate(member_names(cases)):
        one = type(q)(members[j : j + 1], member_axis=0, class_names=q.class_names)
        row: dict[str, Any] = {
            "name": name,
            "accuracy": None,
            "log_loss": None,
            "brier": None,
            "distance": _distance(one, mean, found),
            "agree": found.n_agree[j] / found.n,
            "cases": len(index),
        }
        if part.y_true is not None:
            row["accuracy"] = found.n_right[j] / found.n
            row["log_loss"] = float(log_loss(one, part.true_class))
            row["brier"] = float(brier_score(one, part.true_class))
        rows.append(row)
    return rows


def _distance(one: Distribution, mean: np.ndarray, found: Collected) -> float:
    """The mean over the cases of Σ D(θ_m ‖ mean): what the member adds to the epistemic
    uncertainty.
    """
    own = to_numpy(one.mean(found.events)).astype(float)
    each = np.asarray(as_loss("log").divergence(own, mean)).mean(axis=-1)
    if not found.averaged:
        each = each * found.n_labels
    return float(each.mean())


def member_names(cases: Predictions) -> tuple[str, ...]:
    """What the members are called: as in their files, or numbers from 1."""
    if cases.member_names is not None:
        return cases.member_names
    return tuple(str(j + 1) for j in range(cases.n_members or 0))


def _calibration(found: Collected) -> dict[str, Any]:
    """Observed minus expected accuracy over all cases, and what is badly calibrated."""
    cases, n = found.cases, found.n
    groups = _groups(cases)
    value, top = found.value, np.minimum(found.top[:n], 1.0)
    gap = mean_overconfidence(value, top, groups)
    among = counted(n, "case")
    if cases.multilabel:
        among = f"the labels of {among}"
    sentences = [confidence_sentence(gap, float(value.mean()), float(top.mean()), among)]
    result: dict[str, Any] = {
        "value": -float(gap.value),
        "low": -float(gap.high),
        "high": -float(gap.low),
        "ece": None,
        "ece_cases": None,
    }
    most = min(n, MAX_CHECKED)
    checked = most >= MIN_CHECKED and cases.n_classes <= MAX_CHECKED_CLASSES
    if checked and not cases.multilabel:
        index = np.linspace(0, n - 1, most).astype(int)
        part = cases[index]
        if groups is not None:
            groups = groups[index]
        mean = to_numpy(part.distribution().mean())
        check = check_calibration(mean, part.true_class, groups=groups, rng=0, n_bootstrap=200)
        sentences += check.problems
        result |= {"ece": check.ece, "ece_cases": most}
    return {**result, "sentence": " ".join(sentences)}


def _rejection(found: Collected) -> dict[str, Any]:
    """Areas under the curves of accuracy against the share rejected, by each score."""
    n, value = found.n, found.value
    options: dict[str, Any] = {}
    if 2 <= n <= MAX_BOOTSTRAP_CASES:
        groups = _groups(found.cases)
        options = {"groups": groups, "n_bootstrap": N_BOOTSTRAP, "rng": 0}
    quality: dict[str, Any] = {"utility": value}
    if not found.cases.multilabel:
        quality = {"correct": value.astype(bool)}

    def area(score: np.ndarray, intervals: bool = True) -> dict[str, Any]:
        curve = rejection_curve(score, **quality, **(options if intervals else {}))
        if curve.band is None:
            return {"area": curve.area, "low": None, "high": None}
        bounds = curve.band.area
        return {"area": curve.area, "low": bounds.low, "high": bounds.high}

    result: dict[str, Any] = {}
    for loss in found.losses:
        scores = {part: found.scores[f"{part}.{loss}"][:n] for part in PARTS}
        result[loss] = {part: area(score, loss == "log") for part, score in scores.items()}
    best = rejection_curve(-value, **quality)
    top = area(-found.top[:n])
    return {**result, "top": top, "random": best.random, "oracle": best.area}


def _check(cases: Predictions) -> dict[str, Any] | None:
    """What is wrong with the members, in a sentence."""
    if (cases.n_members or 0) < 2:
        return None
    check = check_ensemble(cases)
    flagged = sorted({j for finding in check.findings for j in finding.members})
    return {"ok": check.ok, "sentence": str(check), "members": flagged}


def _sources(found: Collected) -> dict[str, Any] | None:
    """Where the disagreement of members with named factors comes from; without numbers where the
    design is not a complete crossing.
    """
    q = found.cases.q
    if getattr(q, "factors", None) is None and found.cases.factors is None:
        return None
    try:
        u = decompose(found.cases.distribution(), "log", events=found.events)
        sources = u.sources(rng=0)
    except ValueError as error:
        return {"sentence": f"{error}.", "names": (), "means": (), "p": ()}
    return {
        "sentence": sources.sentence,
        "names": sources.names,
        "means": sources.means.sum(axis=1),
        "p": sources.p_values,
    }


def _detection(found: Collected, others: Mapping[str, Predictions]) -> list[dict[str, Any]]:
    """Out-of-distribution detection by each score; where both sides have groups, intervals allow
    for dependence within them.
    """
    result = []
    for number, (name, cases) in enumerate(others.items(), start=1):
        outside = found.dataset == number
        groups = {}
        if found.cases.groups is not None and cases.groups is not None:
            groups = {"groups_in": found.cases.groups[:], "groups_out": cases.groups[:]}
        auroc = {}
        for key, score in found.scores.items():
            loss_first = ".".join(reversed(key.split(".")))
            scores = detection_scores(score[: found.n], score[outside], **groups)
            auroc[loss_first] = interval(scores.auroc)
        result.append({"name": name, "n": len(cases), "auroc": auroc})
    return result


def _sets(
    found: Collected, fitted: SetPredictor | None, sets: PredictionSets | None
) -> dict[str, Any] | None:
    """Coverage and size of prediction sets."""
    if fitted is None or sets is None:
        return None
    cases = found.cases
    evaluated = evaluate_sets(fitted, sets, cases.y_true, cases.groups, 0.95)
    everything = evaluated["all classes"]
    return {
        "coverage": everything.coverage,
        "low": everything.low,
        "high": everything.high,
        "target": evaluated.target,
        "sizes": np.trim_zeros(evaluated.size_counts, "b"),
        "rows": [vars(row) for row in evaluated.rows[:MAX_CLASSES]],
        "sentence": evaluated.guarantee,
    }
