"""Checks of all that follows from the predictions and the class means in the results folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from .fingerprint import fingerprint
from .formulas import (
    MEASURES,
    PAIRS,
    PARTS,
    Check,
    all_scores,
    area,
    auroc,
    compare_drops,
    compare_runs,
    complement,
    delong,
    entropy,
    opened,
    read_labels,
    read_probs,
    run_folders,
)

__all__ = ["CHECKS"]


def _ood(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    others = dict.fromkeys(key.split(" | ")[0] for key in numbers["auroc"])
    found: dict[str, list[float]] = {}
    accuracy = []
    for r, run in run_folders(folder, about):
        probs = read_probs(run / f"{data}.npz", members)
        inside = all_scores(probs)
        accuracy.append(
            float((probs.mean(axis=0).argmax(axis=-1) == read_labels(run / f"{data}.npz")).mean())
        )
        for other in others:
            outside = all_scores(read_probs(run / f"{other}.npz", members))
            each = {key: auroc(inside[key], outside[key]) for key in inside}
            for (measure, part), value in each.items():
                found.setdefault(f"auroc {other} | {measure} | {part}", []).append(value)
            if r == 0:
                for a, b in PAIRS:
                    cell = numbers["auroc difference, instances of run 0"][f"{other} | {a} − {b}"]
                    again = delong(
                        *([of[m, "epistemic"] for m in (a, b)] for of in (inside, outside))
                    )
                    ends = zip(("value", "low", "high"), again, strict=True)
                    yield from (
                        (f"auroc difference {other} | {a} − {b}, instances, {end}", cell[end], x)
                        for end, x in ends
                    )
                outside_probs = read_probs(run / f"{other}.npz", members)
                for size in range(2, members + 1):
                    subsets = [list(group) for group in combinations(range(members), size)]
                    pairs = [
                        [all_scores(p[group]) for p in (probs, outside_probs)] for group in subsets
                    ]
                    for m in MEASURES:
                        stored = numbers["auroc by members"][f"{other} | {m} | {size}"]
                        values = [auroc(a[m, "epistemic"], b[m, "epistemic"]) for a, b in pairs]
                        yield (
                            f"auroc with {size} members {other} | {m}",
                            stored,
                            float(np.mean(values)),
                        )
            for (a, b), part in ((pair, part) for pair in PAIRS for part in PARTS):
                found.setdefault(f"auroc difference {other} | {a} − {b} | {part}", []).append(
                    each[a, part] - each[b, part]
                )
    yield from compare_runs("accuracy", numbers["accuracy"], accuracy)
    for name, values in found.items():
        kind, key = (
            ("auroc difference", name[17:])
            if name.startswith("auroc difference ")
            else ("auroc", name[6:])
        )
        yield from compare_runs(name, numbers[kind][key], values)


def _arc(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    found: dict[str, list[float]] = {key: [] for key in numbers["area"]}
    accuracy = []
    for _, run in run_folders(folder, about):
        probs = read_probs(run / f"{data}.npz", members)
        correct = probs.mean(axis=0).argmax(axis=-1) == read_labels(run / f"{data}.npz")
        accuracy.append(float(correct.mean()))
        for (measure, part), score in all_scores(probs).items():
            found[f"{measure} | {part}"].append(area(score, correct))
    yield from compare_runs("accuracy", numbers["accuracy"], accuracy)
    for key, values in found.items():
        yield from compare_runs(f"area {key}", numbers["area"][key], values)
    for key, cell in numbers["area difference"].items():
        pair, part = key.split(" | ")
        a, b = pair.split(" − ")
        values = [
            x - y for x, y in zip(found[f"{a} | {part}"], found[f"{b} | {part}"], strict=True)
        ]
        yield from compare_runs(f"area difference {key}", cell, values)


def _losses(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    tasks = dict.fromkeys(key.split(" | ")[0] for key in numbers["value"])
    found: dict[str, list[float]] = {}
    tied: dict[str, list[float]] = {}
    for _, run in run_folders(folder, about):
        probs = {
            name: read_probs(run / f"{data if name == 'rejection' else name}.npz", members)
            for name in tasks
        }
        correct = probs["rejection"].mean(axis=0).argmax(axis=-1) == read_labels(
            run / f"{data}.npz"
        )
        for loss in dict.fromkeys(key.split(" | ")[1] for key in numbers["value"]):
            of = {name: _decomposed(loss, p) for name, p in probs.items()}
            for part in PARTS:
                counts = np.unique(of["rejection"][part], return_counts=True)[1]
                tied.setdefault(f"{loss} | {part}", []).append(
                    float(counts[counts > 1].sum() / counts.sum())
                )
            for part, name in ((part, name) for part in PARTS for name in tasks):
                own = of["rejection"][part]
                value = area(own, correct) if name == "rejection" else auroc(own, of[name][part])
                found.setdefault(f"{name} | {loss} | {part}", []).append(value)
    for key, values in found.items():
        yield from compare_runs(key, numbers["value"][key], values)
        task, loss, part = key.split(" | ")
        if loss != "log":
            apart = [x - y for x, y in zip(values, found[f"{task} | log | {part}"], strict=True)]
            yield from compare_runs(f"{key} − log", numbers["difference from log"][key], apart)
    for key in (key for key in tied if key.startswith(("zero-one", "cost"))):
        yield from compare_runs(f"tied {key}", numbers["tied"][key], tied[key])


def _decomposed(loss: str, p: np.ndarray) -> dict[str, np.ndarray]:
    """Sums over the labels; equal scores that rounding would split are made equal again on the
    stated grid of 30 binary digits.
    """
    rest = complement(p)
    total = entropy(loss, p.mean(axis=0), rest.mean(axis=0)).sum(axis=-1)
    aleatoric = entropy(loss, p, rest).mean(axis=0).sum(axis=-1)
    if loss in ("log", "squared"):
        epistemic = all_scores(p)[
            "label-wise entropy" if loss == "log" else "variance", "epistemic"
        ]
    elif loss == "spherical":
        epistemic = _spherical_divergence(p, rest)
    else:
        epistemic = np.where((gap := total - aleatoric) < 1e-11, 0, gap)

    def rounded(x: np.ndarray) -> np.ndarray:
        mantissa, exponent = np.frexp(x)
        return np.asarray(np.ldexp(np.round(mantissa * 2.0**30), exponent - 30))

    return {
        "total": rounded(total),
        "aleatoric": aleatoric if loss in ("log", "squared", "spherical") else rounded(aleatoric),
        "epistemic": epistemic
        if loss in ("log", "squared", "spherical")
        else np.round(epistemic, 10),
    }


def _spherical_divergence(p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Mean of |θ| (1 − cos angle between θ and its mean), which does not cancel: 1 − cos = 2 sin²
    of half the angle.
    """
    angle = np.arctan2(p, rest) - np.arctan2(p.mean(axis=0), rest.mean(axis=0))
    return np.asarray((np.hypot(p, rest) * 2 * np.sin(angle / 2) ** 2).mean(axis=0).sum(axis=-1))


def _artifact(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    files = {
        "scaled | upright": "",
        "scaled | transposed": "-transposed",
        "not scaled | upright": "-unscaled",
    }
    files["not scaled | transposed"] = "-unscaled-transposed"
    subsets: dict[str, list[float]] = {}
    for r, run in run_folders(folder, about):
        probs = {
            way: read_probs(run / f"{data}{suffix}.npz", members) for way, suffix in files.items()
        }
        reference = all_scores(probs["scaled | upright"])
        for way, p in probs.items():
            of = all_scores(p)
            for measure in MEASURES:
                stored = numbers["auroc"][f"{data} | {way} | {measure}"]["runs"][r]
                yield (
                    f"{way} | {measure}, run {r}",
                    stored,
                    auroc(reference[measure, "epistemic"], of[measure, "epistemic"]),
                )
            votes = p.argmax(axis=-1)
            yield (
                f"{way}, confidence, run {r}",
                numbers["confidence"][f"{data} | {way}"]["runs"][r],
                float(p.max(axis=-1).mean()),
            )
            yield (
                f"{way}, agreement, run {r}",
                numbers["agreement"][f"{data} | {way}"]["runs"][r],
                float((votes == votes[0]).all(axis=0).mean()),
            )
        for size in range(2, members + 1):
            for group in combinations(range(members), size):
                base = all_scores(probs["scaled | upright"][list(group)])[
                    "label-wise entropy", "epistemic"
                ]
                for way in list(files)[1:]:
                    eu = all_scores(probs[way][list(group)])["label-wise entropy", "epistemic"]
                    subsets.setdefault(f"{way} | {size}", []).append(auroc(base, eu))
    for key, values in numbers["subsets"].items():
        yield from (
            (f"subset {i} of {key}", a, b)
            for i, (a, b) in enumerate(zip(values, subsets[key], strict=True))
        )


def _gallery(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    of = all_scores(
        read_probs(
            folder / "run-0" / f"{about['setting']['data']}.npz", about["setting"]["members"]
        )
    )
    for shown, part in ((shown, part) for shown in PARTS for part in PARTS):
        for x in numbers[shown]:
            yield (
                f"{part} of {x['position']}",
                x[part],
                float(of["label-wise entropy", part][x["position"]]),
            )
    for part in PARTS:
        largest = np.sort(of["label-wise entropy", part])[: -len(numbers[part]) - 1 : -1]
        yield from (
            (f"highest {part} {i}", x[part], float(y))
            for i, (x, y) in enumerate(zip(numbers[part], largest, strict=True))
        )


def _holdout(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    with opened(folder / "runs.npz") as file:
        of = {key: file[key][: about["runs"]].astype(float) for key in file.files}
    controls = {"swap-constant": "no-swap-constant"}
    for arm, table in numbers["table"].items():
        rows = np.flatnonzero(np.isfinite(of[arm]).all(axis=1))
        before, after, label = (
            of["before"][rows],
            of[arm][rows],
            of[f"{arm} label"][rows].astype(int),
        )
        yield from compare_drops(f"{arm}, ", table, before, after, label)
        yield from _counts(arm, table, before, after, label)
        control = controls.get(arm, "no-swap")
        if f"{arm} − {control}" in numbers["effect"]:
            both = np.flatnonzero(
                np.isfinite(of[arm]).all(axis=1) & np.isfinite(of[control]).all(axis=1)
            )
            values = [
                float(np.log(of[arm][r, k] / of[control][r, k]))
                for r in both
                for k in [int(of[f"{arm} label"][r])]
            ]
            cell = numbers["effect"][f"{arm} − {control}"]
            yield from compare_runs(f"{arm} − {control}", cell, values)
            yield from _detectable(f"{arm} − {control}", cell, values)
            logs = np.log(of[arm][both] / of[control][both])
            others = [
                float(np.delete(x, int(k)).mean())
                for x, k in zip(logs, of[f"{arm} label"][both], strict=True)
            ]
            yield from compare_runs(
                f"{arm} − {control}, other classes",
                numbers["effect on other classes"][f"{arm} − {control}"],
                others,
            )
    half = "swap − no-swap, other half"
    if half in numbers["effect"]:
        same = np.flatnonzero(of["half label"] == of["swap label"])
        ratio = of["swap other half"] / of["no-swap other half"]
        values = [
            float(np.log(ratio[r, int(of["half label"][r])]))
            for r in same
            if np.isfinite(ratio[r]).all()
        ]
        yield from compare_runs(half, numbers["effect"][half], values)
        yield from _detectable(half, numbers["effect"][half], values)
    rule = "swap − no-swap, same class by both rules"
    if rule in numbers["effect"]:
        same = np.flatnonzero(of["own label"] == of["swap label"])
        values = [
            float(np.log(of["swap"][r, k] / of["no-swap"][r, k]))
            for r in same
            for k in [int(of["swap label"][r])]
        ]
        yield from compare_runs(rule, numbers["effect"][rule], values)
        yield from _detectable(rule, numbers["effect"][rule], values)
    for name, other in (("on half of the test set", "half"), ("by mean over own instances", "own")):
        label = of.get(f"{other} label", np.full(len(of["before"]), np.nan))
        equal = (label == of["swap label"])[np.isfinite(label) & np.isfinite(of["swap label"])]
        for what, stored, value in zip(
            ("same", "known"), numbers[f"same class {name}"], (equal.sum(), len(equal)), strict=True
        ):
            yield f"class selected {name}, {what}", stored, float(value)


def _counts(
    arm: str, table: dict[str, Any], before: np.ndarray, after: np.ndarray, label: np.ndarray
) -> Iterator[Check]:
    """In how many runs the selected class falls most, how often another one rises, and each run's
    drop of the selected class.
    """
    rows = np.arange(len(label))
    for kind, drop in (("absolute", before - after), ("relative", (before - after) / before)):
        others = np.where(np.arange(drop.shape[1]) == label[:, None], -np.inf, drop)
        yield (
            f"{arm}, largest {kind} drop",
            table["selected has the largest drop"][kind],
            float((drop[rows, label] > others.max(axis=1)).sum()),
        )
        each = zip(table["drop"][kind]["selected"]["runs"], drop[rows, label], strict=True)
        yield from (
            (f"{arm}, {kind} drop, run {r}", stored, float(value))
            for r, (stored, value) in enumerate(each)
        )
    rises = (before < after).sum() - (before < after)[rows, label].sum()
    yield f"{arm}, EU of another class rises", table["EU of another class rises"][0], float(rises)
    yield (
        f"{arm}, other classes",
        table["EU of another class rises"][1],
        float(before.size - len(label)),
    )


def _detectable(name: str, cell: dict[str, Any], values: list[float]) -> Iterator[Check]:
    """The effect that so many runs find with a power of 80 %: quantiles of Student's t, added."""
    from scipy.stats import t

    n = len(values)
    if n > 1:
        yield (
            f"{name}, detectable",
            cell["detectable"],
            float((t.ppf(0.975, n - 1) + t.ppf(0.8, n - 1)) * np.std(values, ddof=1) / np.sqrt(n)),
        )


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
