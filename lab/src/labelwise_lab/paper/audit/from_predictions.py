"""Checks of all that follows from the predictions and the class means in the results folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from .fingerprint import fingerprint
from .formulas import (
    AREA_TOLERANCE,
    MEASURES,
    PAIRS,
    PARTS,
    Check,
    Recomputed,
    all_scores,
    area,
    auroc,
    compare_drops,
    compare_ends,
    compare_runs,
    complement,
    delong,
    entropy,
    opened,
    own_runs,
    read_probs,
    select,
)

__all__ = ["CHECKS"]


def _ood(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    members = about["setting"]["members"]
    found = Recomputed()
    for run, probs, correct in own_runs(folder, about):
        inside = all_scores(probs)
        found.add("accuracy", correct.mean())
        for other in dict.fromkeys(cell["set"] for cell in numbers["auroc"]):
            other_probs = read_probs(run / f"{other}.npz", members)
            outside = all_scores(other_probs)
            each = {key: auroc(inside[key], outside[key]) for key in inside}
            for (measure, part), value in each.items():
                found.add("auroc", value, set=other, measure=measure, part=part)
            for (a, b), part in product(PAIRS, PARTS):
                apart = each[a, part] - each[b, part]
                which = {"set": other, "measure": a, "minus": b, "part": part}
                found.add("auroc difference", apart, **which)
            if run.name == "run-0":
                over_instances = numbers["auroc difference, instances of run 0"]
                yield from _over_instances(select(over_instances, set=other), inside, outside)
                by_members = select(numbers["auroc by members"], set=other)
                yield from _by_members(by_members, probs, other_probs)
    yield from found.checks(numbers)


Scores = dict[tuple[str, str], np.ndarray]


def _over_instances(
    cells: list[dict[str, Any]], inside: Scores, outside: Scores
) -> Iterator[Check]:
    """Differences between measures over the instances of one run."""
    for cell in cells:
        pair = (cell["measure"], cell["minus"])
        value, reach = delong(
            [inside[m, "epistemic"] for m in pair], [outside[m, "epistemic"] for m in pair]
        )
        name = f"auroc difference {cell['set']}, {' − '.join(pair)}, instances"
        yield Check(f"{name}, value", cell["value"], value)
        yield from compare_ends(name, cell, value, reach)


def _by_members(
    cells: list[dict[str, Any]], inside: np.ndarray, outside: np.ndarray
) -> Iterator[Check]:
    """AUROCs averaged over all subsets of so many members."""
    for size in range(2, len(inside) + 1):
        values: dict[str, list[float]] = {measure: [] for measure in MEASURES}
        for group in combinations(range(len(inside)), size):
            a, b = (all_scores(p[list(group)]) for p in (inside, outside))
            for m in MEASURES:
                values[m].append(auroc(a[m, "epistemic"], b[m, "epistemic"]))
        for cell in select(cells, members=size):
            name = f"auroc with {size} members, {cell['set']}, {cell['measure']}"
            yield Check(name, cell["value"], float(np.mean(values[cell["measure"]])))


def _arc(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    accuracy, found = Recomputed(), Recomputed()
    for _, probs, correct in own_runs(folder, about):
        accuracy.add("accuracy", correct.mean())
        areas = {key: area(score, correct) for key, score in all_scores(probs).items()}
        for (measure, part), value in areas.items():
            found.add("area", value, measure=measure, part=part)
        for (a, b), part in product(PAIRS, PARTS):
            apart = areas[a, part] - areas[b, part]
            found.add("area difference", apart, measure=a, minus=b, part=part)
    yield from accuracy.checks(numbers)
    yield from found.checks(numbers, AREA_TOLERANCE)


def _losses(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    tasks = dict.fromkeys(cell["task"] for cell in numbers["value"])
    found = Recomputed()
    for run, probs, correct in own_runs(folder, about):
        sets = {
            name: read_probs(run / f"{name}.npz", len(probs))
            for name in tasks
            if name != "rejection"
        }
        of_log: dict[tuple[str, str], float] = {}
        for loss in dict.fromkeys(cell["loss"] for cell in numbers["value"]):
            own = _decomposed(loss, probs)
            others = {name: _decomposed(loss, p) for name, p in sets.items()}
            for part in PARTS:
                values = {"rejection": area(own[part], correct)}
                values |= {name: auroc(own[part], of[part]) for name, of in others.items()}
                for task, value in values.items():
                    which = {"task": task, "loss": loss, "part": part}
                    found.add("value", value, **which)
                    if loss == "log":
                        of_log[task, part] = value
                    else:
                        found.add("difference from log", value - of_log[task, part], **which)
                if loss.startswith(("zero-one", "cost")):
                    counts = np.unique(own[part], return_counts=True)[1]
                    tied = counts[counts > 1].sum() / counts.sum()
                    found.add("tied", tied, loss=loss, part=part)
    yield from found.checks(numbers)


def _decomposed(loss: str, p: np.ndarray) -> dict[str, np.ndarray]:
    """Sums over the labels; equal scores that rounding would split are made equal again on the
    stated grid of 30 binary digits.
    """
    rest = complement(p)
    total = entropy(loss, p.mean(axis=0), rest.mean(axis=0)).sum(axis=-1)
    aleatoric = entropy(loss, p, rest).mean(axis=0).sum(axis=-1)
    if loss in ("log", "squared"):
        measure = {"log": "label-wise entropy", "squared": "variance"}[loss]
        epistemic = all_scores(p)[measure, "epistemic"]
    elif loss == "spherical":
        epistemic = _spherical_divergence(p, rest)
    else:
        gap = total - aleatoric
        epistemic = np.round(np.where(gap < 1e-11, 0, gap), 10)
        aleatoric = _rounded(aleatoric)
    return {"total": _rounded(total), "aleatoric": aleatoric, "epistemic": epistemic}


def _rounded(x: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**30), exponent - 30))


def _spherical_divergence(p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Mean of |θ| (1 − cos angle between θ and its mean), which does not cancel: 1 − cos = 2 sin²
    of half the angle.
    """
    angle = np.arctan2(p, rest) - np.arctan2(p.mean(axis=0), rest.mean(axis=0))
    return np.asarray((np.hypot(p, rest) * 2 * np.sin(angle / 2) ** 2).mean(axis=0).sum(axis=-1))


def _artifact(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data = about["setting"]["data"]
    files = {
        ("scaled", "upright"): "",
        ("scaled", "transposed"): "-transposed",
        ("not scaled", "upright"): "-unscaled",
        ("not scaled", "transposed"): "-unscaled-transposed",
    }
    subsets: dict[tuple[str, str, int], list[float]] = {}
    for r, (run, probs, _) in enumerate(own_runs(folder, about)):
        members, reference = len(probs), all_scores(probs)
        handled = {
            way: read_probs(run / f"{data}{suffix}.npz", members) for way, suffix in files.items()
        }
        for way, p in handled.items():
            scores, votes = all_scores(p), p.argmax(axis=-1)
            agree = (votes == votes[0]).all(axis=0)
            values = {"confidence": p.max(axis=-1).mean(), "agreement": agree.mean()}
            which = {"set": data, "pixels": way[0], "orientation": way[1]}
            for quantity, value in values.items():
                (cell,) = select(numbers[quantity], **which)
                yield Check(f"{', '.join(way)}, {quantity}, run {r}", cell["runs"][r], float(value))
            for cell in select(numbers["auroc"], **which):
                measure = cell["measure"]
                again = auroc(reference[measure, "epistemic"], scores[measure, "epistemic"])
                yield Check(f"{', '.join(way)}, {measure}, run {r}", cell["runs"][r], again)
        for size in range(2, members + 1):
            for group in combinations(range(members), size):
                eu = {
                    way: all_scores(p[list(group)])["label-wise entropy", "epistemic"]
                    for way, p in handled.items()
                }
                for way, of_way in eu.items():
                    again = auroc(eu["scaled", "upright"], of_way)
                    subsets.setdefault((*way, size), []).append(again)
    for cell in numbers["subsets"]:
        key = (cell["pixels"], cell["orientation"], cell["members"])
        for i, (stored, again) in enumerate(zip(cell["auroc"], subsets[key], strict=True)):
            yield Check(f"subset {i} of {', '.join(map(str, key))}", stored, again)


def _gallery(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    setting = about["setting"]
    probs = read_probs(folder / "run-0" / f"{setting['data']}.npz", setting["members"])
    scores = all_scores(probs)
    of = {part: scores["label-wise entropy", part] for part in PARTS}
    for shown in PARTS:
        largest = np.sort(of[shown])[::-1]
        for i, instance in enumerate(numbers[shown]):
            yield Check(f"highest {shown} {i}", instance[shown], float(largest[i]))
            for part in PARTS:
                value = of[part][instance["position"]]
                yield Check(f"{part} of {instance['position']}", instance[part], float(value))


def _holdout(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    with opened(folder / "runs.npz") as file:
        of = {key: file[key][: about["runs"]].astype(float) for key in file.files}
    for arm, table in numbers["table"].items():
        rows = np.isfinite(of[arm]).all(axis=1)
        before, after = of["before"][rows], of[arm][rows]
        label = of[f"{arm} label"][rows].astype(int)
        yield from compare_drops(f"{arm}, ", table, before, after, label)
        yield from _drops_of_runs(arm, table, before, after, label)
    for cell in numbers["effect"]:
        which = {key: cell[key] for key in ("arm", "control", "among")}
        name = f"{cell['arm']} − {cell['control']}"
        if cell["among"] is not None:
            name += f", {cell['among']}"
        own, others = _effect(of, **which)
        yield from compare_runs(name, cell, own)
        if len(own) > 1:
            yield Check(f"{name}, detectable", cell["detectable"], _detectable(own))
        for other_cell in select(numbers["effect on other classes"], **which):
            yield from compare_runs(f"{name}, other classes", other_cell, others)
    for name, other in (("on half of the test set", "half"), ("by mean over own instances", "own")):
        label = of.get(f"{other} label", np.full(len(of["before"]), np.nan))
        known = np.isfinite(label) & np.isfinite(of["swap label"])
        same = known & (label == of["swap label"])
        for what, stored, found in zip(
            ("same", "known"), numbers[f"same class {name}"], (same, known), strict=True
        ):
            yield Check(f"class selected {name}, {what}", stored, float(found.sum()))


def _effect(
    of: dict[str, np.ndarray], arm: str, control: str, among: str | None
) -> tuple[list[float], list[float]]:
    """log EU(arm) − log EU(control) in each run that has both: of the arm's class, and on average
    over the others.
    """
    half = " other half" if among == "other half" else ""
    logs = np.log(of[f"{arm}{half}"] / of[f"{control}{half}"])
    rows = np.isfinite(logs).all(axis=1)
    if among is not None:  # runs in which another rule selects the same class
        rule = "half" if half else "own"
        rows &= of[f"{rule} label"] == of[f"{arm} label"]
    own, others = [], []
    for row, label in zip(logs[rows], of[f"{arm} label"][rows].astype(int), strict=True):
        own.append(float(row[label]))
        others.append(float(np.delete(row, label).mean()))
    return own, others


def _detectable(values: list[float]) -> float:
    """The effect that so many runs find with a power of 80 %: quantiles of Student's t, added."""
    from scipy.stats import t

    n = len(values)
    quantiles = t.ppf(0.975, n - 1) + t.ppf(0.8, n - 1)
    return float(quantiles * np.std(values, ddof=1) / np.sqrt(n))


def _drops_of_runs(
    arm: str, table: dict[str, Any], before: np.ndarray, after: np.ndarray, label: np.ndarray
) -> Iterator[Check]:
    """In how many runs the selected class falls most, and each run's drop of the selected class."""
    rows = np.arange(len(label))
    for kind, drop in (("absolute", before - after), ("relative", (before - after) / before)):
        own = drop[rows, label]
        others = np.where(np.arange(drop.shape[1]) == label[:, None], -np.inf, drop)
        largest = float((own > others.max(axis=1)).sum())
        yield Check(
            f"{arm}, largest {kind} drop", table["selected has the largest drop"][kind], largest
        )
        stored = table["drop"][kind]["selected"]["runs"]
        for r, (drop_of_run, value) in enumerate(zip(stored, own, strict=True)):
            yield Check(f"{arm}, {kind} drop, run {r}", drop_of_run, float(value))


CHECKS: dict[str, Callable[[Path, dict[str, Any], dict[str, Any]], Iterator[Check]]] = {
    "ood": _ood,
    "arc": _arc,
    "losses": _losses,
    "artifact": _artifact,
    "gallery": _gallery,
    "holdout": _holdout,
    "fingerprint": fingerprint,
}
"""Experiment -> its check, from the folder, the stored numbers and their provenance."""
