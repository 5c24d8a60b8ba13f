"""Summaries of the report, exact over all instances, in one pass over blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, product
from math import nan
from typing import Any

import numpy as np

from .._arrays import to_numpy
from .._tables import counted
from ..calibration import check_calibration
from ..calibration.check import confidence_sentence, mean_overconfidence
from ..decomposition import PARTS, Components, Uncertainty, decompose
from ..distributions import Distribution
from ..evaluation import detection_scores, rank_agreement, rejection_curve
from ..evaluation.classes import epistemic_share
from ..evaluation.detection import as_numbers
from ..events import Events
from ..io import Predictions
from ..losses import LossName
from .explanations import LOSSES
from .sample import Sample

GRID = np.arange(200) / 200
"""Rejected shares of the curves."""
HAIR = 1e-12
"""Added to the shares, so that 0.82 · 150 is 123 rather than 122.99999999999999 rounded down."""
CONFUSIONS = 12
JUDGED = 5000
"""Maximum number of instances for the calibration check."""
FEWEST = 30
"""Minimum number of instances for the calibration check."""
Progress = Callable[[int, int], None]


def decompose_all(q: Distribution, events: Events | None) -> dict[LossName, Uncertainty]:
    """Label-wise uncertainty under each loss."""
    return {name: decompose(q, name, events=events) for name in LOSSES}


def added(u: Uncertainty) -> Components:
    """One number per instance: the sum over labels, or the mean over overlapping events."""
    if u.structure in ("overlapping", "pairs"):
        equal = np.full(len(u.class_names), 1 / len(u.class_names))
        return u.sum(weights=equal)  # type: ignore[arg-type]
    return u.sum()


class Tally:
    """Sums and scores for one loss."""

    def __init__(self, n: int) -> None:
        self.scores = {part: np.empty(n) for part in PARTS}
        self.sums: dict[str, np.ndarray] = {}
        """For each weighting: sums of weights and of weighted uncertainties, (4, L)."""
        self.maximum = 0.0
        self.maximum_of_sum: float | None = None

    def add(self, part: slice, u: Uncertainty, weights: dict[str, np.ndarray]) -> None:
        """Add one block with its weightings, each (n, L)."""
        components = added(u)
        for name in PARTS:
            self.scores[name][part] = to_numpy(getattr(components, name))
        self.maximum, self.maximum_of_sum = float(np.max(u.maximum)), components.maximum
        values = np.stack([to_numpy(getattr(u, name)).astype(float) for name in PARTS])
        for rule, w in weights.items():
            sums = np.vstack([w.sum(axis=0), np.einsum("nk,pnk->pk", w, values)])
            self.sums[rule] = self.sums.get(rule, 0.0) + sums

    def means(self) -> dict[str, dict[str, np.ndarray]]:
        """For each weighting the mean of each label, its epistemic share (NaN without instances),
        and the number of instances.
        """
        found = {}
        for rule, (cases, *sums) in self.sums.items():
            divisor = np.where(cases > 0, cases, np.nan)
            means = {part: x / divisor for part, x in zip(PARTS, sums, strict=True)}
            means["epistemic_share"] = epistemic_share(means["epistemic"], means["total"])
            found[rule] = {**means, "cases": cases}
        return found


class Outcomes:
    """Predictions and, given true labels, their quality; filled block by block."""

    def __init__(self, cases: Predictions) -> None:
        n, k = len(cases), cases.n_classes
        self.cases = cases
        self.predicted = np.empty(n, np.int32)
        """The most probable class (N,); for multi-label data the number of predicted labels."""
        self.top = np.empty(n)
        """Its probability; for multi-label data the mean probability that a label is right."""
        self.value: np.ndarray | None = None
        """Right or wrong; for multi-label data the share of right labels."""
        self.table: np.ndarray = np.zeros(k, np.int64)
        """Multiclass: counts [truth, predicted] (K, K), or of predictions (K,). Multi-label: (4, K)
        tp, fp, fn, tn, or (K,).
        """
        if cases.y_true is not None and cases.multilabel:
            self.value, self.table = np.empty(n), np.zeros((4, k), np.int64)
        elif cases.y_true is not None:
            self.value, self.table = np.empty(n, bool), np.zeros((k, k), np.int64)

    def add(self, part: slice, mean: np.ndarray) -> None:
        """Add the predictions of one block and their quality."""
        if self.cases.multilabel:
            called = mean > 0.5
            self.predicted[part] = called.sum(axis=-1)
            self.top[part] = np.maximum(mean, 1 - mean).mean(axis=-1)
        else:
            likely = np.argmax(mean, axis=-1)
            called = likely[:, None] == np.arange(mean.shape[1])
            self.predicted[part], self.top[part] = likely, np.max(mean, axis=-1)
        if self.value is None:
            self.table += called.sum(axis=0)
            return
        y = self.cases.true_class[part]
        if self.cases.multilabel:
            self.value[part] = (called == y).mean(axis=-1)
            outcomes = (called & y, called & ~y, ~called & y, ~called & ~y)
            self.table += np.stack(outcomes).sum(axis=1)
        else:
            self.value[part] = likely == y
            np.add.at(self.table, (y, likely), 1)


def summarize(
    cases: Predictions, events: Events | None, sample: Sample, progress: Progress | None = None
) -> dict[str, Any]:
    """All summaries as plain data; ``sample`` collects its instances in the same pass."""
    tallies = {name: Tally(len(cases)) for name in LOSSES}
    out = Outcomes(cases)
    judged: list[tuple[np.ndarray, np.ndarray]] = []  # positions and mean probabilities
    for part, block in cases.blocks():
        q = block.distribution()
        mean = to_numpy(q.mean()).astype(float)
        us = decompose_all(q, events)
        out.add(part, mean)
        likely = mean
        if events is not None:
            likely = to_numpy(q.mean(events)).astype(float)
        weights = {"everywhere": np.ones_like(likely), "likely": likely}
        if cases.y_true is not None:
            weights["own"] = _happened(cases, events, part).astype(float)
            here = sample.index[:JUDGED]
            here = here[(here >= part.start) & (here < part.stop)]
            judged.append((here, mean[here - part.start]))
        for name, u in us.items():
            tallies[name].add(part, u, weights)
        sample.add(part, q, mean, us)
        if progress is not None:
            progress(part.stop, len(cases))
    return {
        **_predictions(cases, out),
        "calibration": _calibration(judged, cases, out),
        "losses": [_loss(name, tally, out) for name, tally in tallies.items()],
        "rejection": _references(out),
        "agreement": _agreement(tallies, sample.index),
        "scores": tallies,
    }


def _happened(cases: Predictions, events: Events | None, part: slice) -> np.ndarray:
    """Whether each label or event is true, (n, L)."""
    y = cases.true_class[part]
    if cases.multilabel:
        return np.asarray(y)
    if events is None:
        return np.asarray(y[:, None] == np.arange(cases.n_classes))
    sets = events.resolve(cases.n_classes, cases.names)
    return np.stack([np.isin(y, inside) for inside, _ in sets], axis=-1)


def _predictions(cases: Predictions, out: Outcomes) -> dict[str, Any]:
    """Accuracy, and for each class the numbers of true, predicted and correct instances."""
    found: dict[str, Any] = {
        "accuracy": None,
        "expected_accuracy": float(out.top.mean()),
        "confusions": [],
    }
    table = out.table
    if out.value is None:
        return {**found, "classes": {"predicted": table.tolist()}}
    found["accuracy"] = float(out.value.mean())
    if cases.multilabel:
        tp, fp, fn, _ = table
        found["exact_match"] = float(np.mean(out.value == 1))
    else:
        tp = np.diagonal(table)
        fp, fn = table.sum(axis=0) - tp, table.sum(axis=1) - tp
        wrong = table - np.diag(tp)
        worst = np.argsort(-wrong, axis=None, kind="stable")[:CONFUSIONS]
        for truth, guess in np.transpose(np.unravel_index(worst, wrong.shape)).tolist():
            if wrong[truth, guess]:
                found["confusions"].append([truth, guess, int(wrong[truth, guess])])
    found["classes"] = {
        "predicted": (tp + fp).tolist(),
        "true": (tp + fn).tolist(),
        "right": tp.tolist(),
    }
    return found


def _calibration(
    judged: list[tuple[np.ndarray, np.ndarray]], cases: Predictions, out: Outcomes
) -> dict[str, Any] | None:
    """Expected against observed accuracy over all cases; and whether the probabilities of a sample
    are too bad to base decisions on.
    """
    if out.value is None:
        return None
    accuracy = out.value.astype(float)
    overconfidence = mean_overconfidence(accuracy, out.top, cases.groups)
    among = counted(len(cases), "case")
    if cases.multilabel:
        among = f"the labels of {among}"
    sentences = [
        confidence_sentence(overconfidence, float(accuracy.mean()), float(out.top.mean()), among)
    ]
    index = np.concatenate([positions for positions, _ in judged])
    groups, n_groups = None, len(index)
    if cases.groups is not None:
        groups = np.asarray(cases.groups)[index]
        n_groups = len(np.unique(groups))
    bad, ece = False, None
    if len(index) >= FEWEST and n_groups > 1 and not cases.multilabel:
        mean = np.concatenate([probs for _, probs in judged])
        y = cases.true_class[index]
        check = check_calibration(mean, y, groups=groups, rng=0, n_bootstrap=200)
        sentences += check.problems
        bad, ece = not check.ok, check.ece
    return {
        "sentence": " ".join(sentences),
        "bad": bad,
        "overconfidence": overconfidence.value,
        "low": overconfidence.low,
        "high": overconfidence.high,
        "ece": ece,
    }


def _curve(score: np.ndarray, out: Outcomes) -> Any:
    grid = (GRID + HAIR).tolist()
    if out.value is not None and not out.cases.multilabel:
        return rejection_curve(score, correct=out.value, grid=grid)
    utility = out.top
    if out.value is not None:
        utility = out.value
    return rejection_curve(score, utility=utility, grid=grid)


def _loss(name: LossName, tally: Tally, out: Outcomes) -> dict[str, Any]:
    """All numbers for one loss."""
    words, unit = LOSSES[name]
    rejection = {}
    for part, score in tally.scores.items():
        curve = _curve(score, out)
        rejection[part] = {
            "value": curve.value,
            "area": curve.area,
            "normalized": curve.normalized_area,
            "augrc": curve.augrc,
        }
    return {
        "key": name,
        "name": words,
        "unit": unit,
        "maximum": tally.maximum,
        "maximum_of_sum": tally.maximum_of_sum,
        "mean": {part: float(score.mean()) for part, score in tally.scores.items()},
        "labels": tally.means(),
        "rejection": rejection,
    }


def _references(out: Outcomes) -> dict[str, Any]:
    """Reference curves."""
    top = _curve(-out.top, out)
    return {
        "grid": GRID,
        "n_rejected": top.n_rejected,
        "kind": top.kind,
        "random": top.random,
        "oracle": top.oracle,
        "top": top.value,
        "top_normalized": top.normalized_area,
    }


def _agreement(
    tallies: Mapping[LossName, Tally], index: np.ndarray
) -> dict[str, list[list[float]]]:
    """Rank correlation between the losses, for each part."""
    found = {}
    for part in PARTS:
        columns = [tally.scores[part][index] for tally in tallies.values()]
        table = np.full((len(columns), len(columns)), nan)
        np.fill_diagonal(table, 1.0)
        if len(index) > 1:
            for i, j in combinations(range(len(columns)), 2):
                table[i, j] = table[j, i] = float(rank_agreement(columns[i], columns[j]).value)
        found[part] = table.tolist()
    return found


def detection(
    tallies: Mapping[str, Tally],
    others: Mapping[str, Predictions],
    events: Events | None,
    groups: Any = None,
) -> list[dict[str, Any]]:
    """Out-of-distribution detection by each score; where both sides have ``groups``, intervals
    allow for dependence within them.
    """
    found = []
    for title, cases in others.items():
        outside = {name: Tally(len(cases)) for name in LOSSES}
        for rows, block in cases.blocks():
            for name, u in decompose_all(block.distribution(), events).items():
                outside[name].add(rows, u, {})
        both: tuple[Any, Any] = None, None
        if groups is not None and cases.groups is not None:
            both = np.asarray(groups), np.asarray(cases.groups)
        losses: dict[str, dict[str, Any]] = {name: {} for name in LOSSES}
        for name, part in product(LOSSES, PARTS):
            inside, of_others = tallies[name].scores[part], outside[name].scores[part]
            losses[name][part] = _compare_scores(inside, of_others, *both)
        found.append({"name": title, "n": len(cases), "losses": losses})
    return found


def _compare_scores(
    inside: np.ndarray, outside: np.ndarray, groups_in: Any, groups_out: Any
) -> dict[str, Any]:
    """How well a score detects the instances outside, and its histograms on both sides."""
    scores = detection_scores(
        inside, outside, n_bootstrap=0, groups_in=groups_in, groups_out=groups_out
    )
    top = max(float(inside.max()), float(outside.max())) or 1.0
    # Most scores are close to 0: bins also at the quantiles.
    levels = np.arange(1, 20) / 20
    quantiles = (np.quantile(inside, levels), np.quantile(outside, levels))
    edges = np.unique(np.concatenate([np.linspace(0, top, 41), *quantiles]))
    return {
        **as_numbers(scores),
        "edges": edges,
        "inside": np.histogram(inside, edges)[0] / len(inside),
        "outside": np.histogram(outside, edges)[0] / len(outside),
    }
