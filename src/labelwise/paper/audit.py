"""Recompute the stored results from the stored predictions with plain NumPy and scikit-learn: nothing else of this package is imported.

Formulas are written out again, in float64, and as directly as possible; what differs from the stored numbers is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

__all__ = ["TOLERANCE", "audit"]

TOLERANCE = 5e-5
"""Half of the last printed digit of an AUROC's difference; the package ranks in single precision, which moves a run by up to 2e-5."""
PARTS = ("total", "aleatoric", "epistemic")
PAIRS = tuple(combinations(("variance", "label-wise entropy", "entropy"), 2))
Check = tuple[str, float, float]
"""Name of the number, as stored, as recomputed."""


def audit(results: Path, say: Callable[[str], None] = lambda text: None) -> tuple[int, list[Check]]:
    """How many numbers were recomputed, and those that differ by more than `TOLERANCE`."""
    checks = {"ood": _ood, "arc": _arc, "losses": _losses, "artifact": _artifact, "gallery": _gallery, "holdout": _holdout}
    checks["fingerprint"] = _fingerprint
    count = 0
    different: list[Check] = []
    for path in sorted(results.glob("*/*.json")):
        check = checks.get(path.stem)
        predictions = any(path.parent.glob("run-*/*.npz")) or (path.parent / "runs.npz").is_file() or path.stem == "fingerprint"
        if check is None or not predictions:
            why = "its input (votes or the authors' arrays) is not stored here" if check is None else "its predictions are not stored"
            say(f"{path.parent.name}/{path.name}: not recomputed, {why}")
            continue
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = [(f"{path.parent.name}/{path.stem}: {name}", a, b) for name, a, b in check(path.parent, stored["numbers"], stored["about"])]
        wrong = [each for each in found if not abs(each[1] - each[2]) <= TOLERANCE]
        say(f"{path.parent.name}/{path.name}: {len(found)} numbers, {len(wrong)} differ")
        count, different = count + len(found), different + wrong
    return count, different


def _probs(path: Path, members: int | None = None) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        p = np.exp(file["log_probs"][:members].astype(np.float32)).astype(np.float64)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def _labels(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        return np.asarray(file["y_true"].astype(int))


def _xlog2(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x log2 y, 0 for x = 0."""
    return np.asarray(x * np.log2(np.where(x > 0, y, 1.0)))


def _complement(p: np.ndarray) -> np.ndarray:
    """The sum of the other classes: 1 − p without its rounding error."""
    before = np.cumsum(p, axis=-1)
    after = np.cumsum(p[..., ::-1], axis=-1)[..., ::-1]
    zero = np.zeros_like(p[..., :1])
    return np.asarray(np.concatenate([zero, before[..., :-1]], axis=-1) + np.concatenate([after[..., 1:], zero], axis=-1))


def _scores(p: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """(measure, part) -> one number per instance, for probabilities (members, instances, classes)."""
    mean, rest = p.mean(axis=0), _complement(p)
    mean_rest = rest.mean(axis=0)
    joint, other = (
        (
            -_xlog2(m, m).sum(axis=-1),
            -_xlog2(x, x).sum(axis=-1).mean(axis=0),
            _xlog2(x, x / np.where(m > 0, m, 1)).sum(axis=-1).mean(axis=0),
        )
        for x, m in ((p, mean), (rest, mean_rest))
    )
    variance = (mean * mean_rest).sum(axis=-1), (p * rest).sum(axis=-1).mean(axis=0), ((p - mean) ** 2).sum(axis=-1).mean(axis=0)
    both = [a + b for a, b in zip(joint, other, strict=True)]
    found = {"variance": variance, "label-wise entropy": both, "entropy": joint}
    return {(measure, part): value for measure, values in found.items() for part, value in zip(PARTS, values, strict=True)}


def _auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    return float(roc_auc_score(np.r_[np.zeros(len(inside)), np.ones(len(outside))], np.r_[inside, outside]))


def _area(score: np.ndarray, correct: np.ndarray) -> float:
    """Accuracy averaged over all numbers of instances that are kept; among equal scores in random order, on average."""
    _, level, counts = np.unique(score, return_inverse=True, return_counts=True)
    each = (np.bincount(level, weights=correct) / counts)[np.sort(level)]
    return float(np.mean(np.cumsum(each) / np.arange(1, len(each) + 1)))


def _runs(folder: Path, about: dict[str, Any]) -> Iterator[tuple[int, Path]]:
    for r in range(about["runs"]):
        yield r, folder / f"run-{r}"


def _over_runs(name: str, cell: dict[str, Any], values: list[float]) -> Iterator[Check]:
    yield from ((f"{name}, run {r}", a, b) for r, (a, b) in enumerate(zip(cell["runs"], values, strict=True)))
    yield f"{name}, mean", cell["mean"], float(np.mean(values))
    if len(values) > 1:
        sd = float(np.std(values, ddof=1))
        yield f"{name}, sd", cell["sd"], sd
        if cell.get("low") is not None:
            from scipy.stats import t

            reach = float(t.ppf(0.975, len(values) - 1)) * sd / np.sqrt(len(values))
            yield f"{name}, low", cell["low"], float(np.mean(values)) - reach
            yield f"{name}, high", cell["high"], float(np.mean(values)) + reach


def _ood(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    others = dict.fromkeys(key.split(" | ")[0] for key in numbers["auroc"])
    found: dict[str, list[float]] = {}
    accuracy = []
    for _, run in _runs(folder, about):
        probs = _probs(run / f"{data}.npz", members)
        inside = _scores(probs)
        accuracy.append(float((probs.mean(axis=0).argmax(axis=-1) == _labels(run / f"{data}.npz")).mean()))
        for other in others:
            outside = _scores(_probs(run / f"{other}.npz", members))
            each = {key: _auroc(inside[key], outside[key]) for key in inside}
            for (measure, part), value in each.items():
                found.setdefault(f"auroc {other} | {measure} | {part}", []).append(value)
            for (a, b), part in ((pair, part) for pair in PAIRS for part in PARTS):
                found.setdefault(f"auroc difference {other} | {a} − {b} | {part}", []).append(each[a, part] - each[b, part])
    yield from _over_runs("accuracy", numbers["accuracy"], accuracy)
    for name, values in found.items():
        kind, key = ("auroc difference", name[17:]) if name.startswith("auroc difference ") else ("auroc", name[6:])
        yield from _over_runs(name, numbers[kind][key], values)


def _arc(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    found: dict[str, list[float]] = {key: [] for key in numbers["area"]}
    accuracy = []
    for _, run in _runs(folder, about):
        probs = _probs(run / f"{data}.npz", members)
        correct = probs.mean(axis=0).argmax(axis=-1) == _labels(run / f"{data}.npz")
        accuracy.append(float(correct.mean()))
        for (measure, part), score in _scores(probs).items():
            found[f"{measure} | {part}"].append(_area(score, correct))
    yield from _over_runs("accuracy", numbers["accuracy"], accuracy)
    for key, values in found.items():
        yield from _over_runs(f"area {key}", numbers["area"][key], values)
    for key, cell in numbers["area difference"].items():
        pair, part = key.split(" | ")
        a, b = pair.split(" − ")
        values = [x - y for x, y in zip(found[f"{a} | {part}"], found[f"{b} | {part}"], strict=True)]
        yield from _over_runs(f"area difference {key}", cell, values)


def _entropy(loss: str, p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The generalized entropy G of one label."""
    if loss == "log":
        return np.asarray(-_xlog2(p, p) - _xlog2(rest, rest))
    if loss == "squared":
        return np.asarray(p * rest)
    if loss == "spherical":
        return np.asarray(1 - np.sqrt(p**2 + rest**2))
    false_positive, false_negative = {"zero-one": (1, 1), "cost 1 : 9": (1, 9), "cost 9 : 1": (9, 1)}[loss]
    return np.asarray(np.minimum(false_negative * p, false_positive * rest))


def _losses(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    tasks = dict.fromkeys(key.split(" | ")[0] for key in numbers["value"])
    found: dict[str, list[float]] = {}
    for _, run in _runs(folder, about):
        probs = {name: _probs(run / f"{data if name == 'rejection' else name}.npz", members) for name in tasks}
        correct = probs["rejection"].mean(axis=0).argmax(axis=-1) == _labels(run / f"{data}.npz")
        for loss in dict.fromkeys(key.split(" | ")[1] for key in numbers["value"]):
            of = {name: _decomposed(loss, p) for name, p in probs.items()}
            for part, name in ((part, name) for part in PARTS for name in tasks):
                own = of["rejection"][part]
                value = _area(own, correct) if name == "rejection" else _auroc(own, of[name][part])
                found.setdefault(f"{name} | {loss} | {part}", []).append(value)
    for key, values in found.items():
        yield from _over_runs(key, numbers["value"][key], values)


def _decomposed(loss: str, p: np.ndarray) -> dict[str, np.ndarray]:
    """Sums over the labels; equal scores that rounding would split are made equal again by nine significant digits."""
    rest = _complement(p)
    total = _entropy(loss, p.mean(axis=0), rest.mean(axis=0)).sum(axis=-1)
    aleatoric = _entropy(loss, p, rest).mean(axis=0).sum(axis=-1)
    if loss in ("log", "squared"):
        epistemic = _scores(p)["label-wise entropy" if loss == "log" else "variance", "epistemic"]
    elif loss == "spherical":
        epistemic = _spherical_divergence(p, rest)
    else:
        epistemic = np.where((gap := total - aleatoric) < 1e-11, 0, gap)
    digits = 10.0 ** (np.ceil(np.log10(np.maximum(total, 1e-300))) - 9)
    return {
        "total": np.round(total / digits) * digits,
        "aleatoric": aleatoric if loss in ("log", "squared", "spherical") else np.round(aleatoric, 10),
        "epistemic": epistemic if loss in ("log", "squared", "spherical") else np.round(epistemic, 10),
    }


def _spherical_divergence(p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Mean of |θ| (1 − cos angle between θ and its mean), which does not cancel: 1 − cos = 2 sin² of half the angle."""
    angle = np.arctan2(p, rest) - np.arctan2(p.mean(axis=0), rest.mean(axis=0))
    return np.asarray((np.hypot(p, rest) * 2 * np.sin(angle / 2) ** 2).mean(axis=0).sum(axis=-1))


def _artifact(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    data, members = about["setting"]["data"], about["setting"]["members"]
    files = {"scaled | upright": "", "scaled | transposed": "-transposed", "not scaled | upright": "-unscaled"}
    files["not scaled | transposed"] = "-unscaled-transposed"
    subsets: dict[str, list[float]] = {}
    for r, run in _runs(folder, about):
        probs = {way: _probs(run / f"{data}{suffix}.npz", members) for way, suffix in files.items()}
        reference = _scores(probs["scaled | upright"])
        for way, p in probs.items():
            of = _scores(p)
            for measure in ("variance", "label-wise entropy", "entropy"):
                stored = numbers["auroc"][f"{data} | {way} | {measure}"]["runs"][r]
                yield f"{way} | {measure}, run {r}", stored, _auroc(reference[measure, "epistemic"], of[measure, "epistemic"])
        for size in range(2, members + 1):
            for group in combinations(range(members), size):
                base = _scores(probs["scaled | upright"][list(group)])["label-wise entropy", "epistemic"]
                for way in list(files)[1:]:
                    eu = _scores(probs[way][list(group)])["label-wise entropy", "epistemic"]
                    subsets.setdefault(f"{way} | {size}", []).append(_auroc(base, eu))
    for key, values in numbers["subsets"].items():
        yield from ((f"subset {i} of {key}", a, b) for i, (a, b) in enumerate(zip(values, subsets[key], strict=True)))


def _gallery(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    of = _scores(_probs(folder / "run-0" / f"{about['setting']['data']}.npz", about["setting"]["members"]))
    for shown, part in ((shown, part) for shown in PARTS for part in PARTS):
        for x in numbers[shown]:
            yield f"{part} of {x['position']}", x[part], float(of["label-wise entropy", part][x["position"]])
    for part in PARTS:
        largest = np.sort(of["label-wise entropy", part])[: -len(numbers[part]) - 1 : -1]
        yield from ((f"highest {part} {i}", x[part], float(y)) for i, (x, y) in enumerate(zip(numbers[part], largest, strict=True)))


def _holdout(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    with np.load(folder / "runs.npz", allow_pickle=False) as file:
        of = {key: file[key][: about["runs"]].astype(float) for key in file.files}
    controls = {"swap-constant": "no-swap-constant"}
    for arm, table in numbers["table"].items():
        rows = np.flatnonzero(np.isfinite(of[arm]).all(axis=1))
        before, after, label = of["before"][rows], of[arm][rows], of[f"{arm} label"][rows].astype(int)
        for kind in ("absolute", "relative"):
            drop = (before - after) / (before if kind == "relative" else 1)
            own = [row[k] for row, k in zip(drop, label, strict=True)]
            others = [np.delete(row, k) for row, k in zip(drop, label, strict=True)]
            columns = {"selected": own, "others": [x.mean() for x in others], "next highest": [x.max() for x in others]}
            for name, values in columns.items():
                yield f"{arm}, {kind}, {name}", table["drop"][kind][name]["mean"], float(np.mean(values))
                yield f"{arm}, {kind}, {name}, sd", table["drop"][kind][name]["sd"], float(np.std(values))
        control = controls.get(arm, "no-swap")
        if f"{arm} − {control}" in numbers["effect"]:
            both = np.flatnonzero(np.isfinite(of[arm]).all(axis=1) & np.isfinite(of[control]).all(axis=1))
            values = [float(np.log(of[arm][r, k] / of[control][r, k])) for r in both for k in [int(of[f"{arm} label"][r])]]
            yield from _over_runs(f"{arm} − {control}", numbers["effect"][f"{arm} − {control}"], values)


def _fingerprint(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    sets, trained = ("fashion-mnist", "mnist", "kmnist"), folder.parent / "fashion-mnist-paper"
    runs = [{name: _probs(trained / f"run-{r}" / f"{name}.npz") for name in sets} for r in range(about["runs"])]
    members = {name: np.concatenate([run[name] for run in runs]) for name in sets}
    total = len(members["mnist"])
    for size in dict.fromkeys(int(key.split(" | ")[2]) for key in numbers["by members"]):
        rng, found = np.random.default_rng(0), []
        for _ in range(about["shuffles"] if size < total else 1):
            order = rng.permutation(total)
            groups = [np.sort(order[i : i + size]) for i in range(0, total - size + 1, size)]
            found += [_levels({name: p[group] for name, p in members.items()}) for group in groups]
        for key in found[0]:
            yield f"{size} members, {key}", numbers["by members"][f"{key} | {size}"]["mean"], float(np.mean([each[key] for each in found]))
    for path in folder.glob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            ranks = {key: file[key] for key in file.files}
        step = ranks["entropy"].shape[1] // 3
        for (i, name), (score, x) in ((a, b) for a in enumerate(sets[1:], 1) for b in ranks.items()):
            value = np.mean([_auroc(row[:step], row[i * step : (i + 1) * step]) for row in x])
            yield f"{path.stem}, {name} | {score}", numbers["trainings"][path.stem][f"{name} | {score}"], float(value)


def _levels(sets: dict[str, np.ndarray]) -> dict[str, float]:
    """AUROC of epistemic uncertainty by three measures, and of the variance in single precision."""
    of: dict[str, dict[str, np.ndarray]] = {}
    for name, p in sets.items():
        scores, single = _scores(p), p.astype(np.float32)
        of[name] = {measure: scores[measure, "epistemic"] for measure in ("variance", "label-wise entropy", "entropy")}
        of[name]["variance, float32"] = (single * (single - single.mean(axis=0))).sum(axis=-1).mean(axis=0)
    return {f"{name} | {key}": _auroc(of["fashion-mnist"][key], of[name][key]) for name in ("mnist", "kmnist") for key in of[name]}
