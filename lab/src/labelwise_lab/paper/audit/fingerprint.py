"""Checks of the comparison with the paper's Table 1: from the stored predictions, and from the
ranks of other trainings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .formulas import MEASURES, Check, all_scores, auroc, opened, read_probs

__all__ = ["fingerprint"]

PAPER = {
    "mnist | variance": 0.882,
    "mnist | variance, float32": 0.882,
    "mnist | label-wise entropy": 0.894,
    "mnist | entropy": 0.895,
    "kmnist | variance": 0.959,
    "kmnist | variance, float32": 0.959,
    "kmnist | label-wise entropy": 0.967,
    "kmnist | entropy": 0.969,
}
PAPER_SD = {"mnist | entropy": 0.017, "kmnist | entropy": 0.004}
"""Table 1: means, and the deviation of the entropy, over five runs (n in the denominator), rounded
to three digits.
"""


def fingerprint(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    """Ensembles of every size, other trainings, and their differences and distances from the
    paper's.
    """
    sets, trained = ("fashion-mnist", "mnist", "kmnist"), folder.parent / "fashion-mnist-paper"
    runs = [
        {name: read_probs(trained / f"run-{r}" / f"{name}.npz") for name in sets}
        for r in range(about["runs"])
    ]
    members = {name: np.concatenate([run[name] for run in runs]) for name in sets}
    yield from _by_members(members, numbers, about["shuffles"])
    own = [_levels(run) for run in runs]
    trainings = {"fashion-mnist-paper": own}
    for path in sorted(
        folder.glob("*/run-*.npz"), key=lambda path: int(path.stem.removeprefix("run-"))
    ):
        trainings.setdefault(path.parent.name, []).append(_levels_by_rank(path, sets))
    for training, each in trainings.items():
        for key in each[0]:
            yield (
                f"{training}, {key}",
                numbers["trainings"][training][key],
                float(np.mean([of[key] for of in each])),
            )
    for training, gaps in numbers["ours − paper's"].items():
        fresh = trainings[training][0 if training == "fashion-mnist-paper" else 1 :]
        for key in (key for key in gaps if key != "seeds"):
            for end, value in zip(
                ("mean", "low", "high"), _gap(key, fresh, len(gaps) - 1), strict=True
            ):
                yield f"{training}, ours − paper's {key}, {end}", gaps[key][end], value
    for training, cells in numbers["candidate − protocol paper"].items():
        for key, cell in cells.items():
            fresh_values, own_values = (
                [_quantity(key, run) for run in of] for of in (trainings[training][1:], own)
            )
            again = _welch(fresh_values, own_values, len(cells))
            yield from (
                (f"{training} − protocol paper {key}, {end}", cell[end], x)
                for end, x in zip(("mean", "low", "high"), again, strict=True)
            )
    for training, stored in numbers["distance"].items():
        for key, z in stored.items():
            yield f"{training}, distance of {key}", z, _distance(key, trainings[training], own)


def _by_members(
    members: dict[str, np.ndarray], numbers: dict[str, Any], shuffles: int
) -> Iterator[Check]:
    """Ensembles of every size, drawn without overlap from all members: means, deviations and
    distances from the paper's.
    """
    total = len(members["mnist"])
    between: dict[str, float] = {}
    for size in dict.fromkeys(int(key.split(" | ")[2]) for key in numbers["by members"]):
        rng, found = np.random.default_rng(0), []
        for _ in range(shuffles if size < total else 1):
            order = rng.permutation(total)
            groups = [np.sort(order[i : i + size]) for i in range(0, total - size + 1, size)]
            found.append(
                [_levels({name: p[group] for name, p in members.items()}) for group in groups]
            )
        for key in found[0][0]:
            values = np.array([[of[key] for of in groups] for groups in found])
            cell = numbers["by members"][f"{key} | {size}"]
            yield f"{size} members, {key}", cell["mean"], float(values.mean())
        for key in (
            key.rpartition(" | ")[0]
            for key in numbers["distance by members"]
            if key.endswith(f" | {size}")
        ):
            values = np.array([[_quantity(key, of) for of in groups] for groups in found])
            if values.shape[1] > 1:
                between[key] = float(values.var(axis=1, ddof=1).mean())
                yield (
                    f"{size} members, sd of {key}",
                    numbers["by members"][f"{key} | {size}"]["sd"],
                    between[key] ** 0.5,
                )
            stored = numbers["distance by members"][f"{key} | {size}"]
            yield (
                f"{size} members, distance of {key}",
                stored,
                _in_standard_errors(key, float(values.mean()), between[key], size / total),
            )


def _levels_by_rank(path: Path, sets: Sequence[str]) -> dict[str, float]:
    """AUROCs from the stored ranks of all sets together."""
    with opened(path) as file:
        of = {
            score: dict(zip(sets, np.split(file[score].astype(int), len(sets)), strict=True))
            for score in file.files
        }
    return {
        f"{name} | {score}": auroc(x[sets[0]], x[name])
        for name in sets[1:]
        for score, x in of.items()
    }


def _quantity(key: str, run: dict[str, float]) -> float:
    """An AUROC, or its difference from that of the entropy."""
    data, quantity = key.split(" | ")
    score, difference, _ = quantity.partition(" − ")
    return run[f"{data} | {score}"] - (run[f"{data} | entropy"] if difference else 0)


def _gap(key: str, runs: list[dict[str, float]], family: int) -> tuple[float, float, float]:
    """Ours − paper's with an interval by Welch and Bonferroni; a difference between measures is
    taken to vary in the paper's runs like in ours.
    """
    from scipy.stats import t

    values, n = [_quantity(key, run) for run in runs], len(runs)
    ours, level = float(np.var(values, ddof=1)), key in PAPER_SD
    theirs = PAPER_SD[key] ** 2 * 5 / 4 if level else ours
    freedom = (
        (ours / n + theirs / 5) ** 2 / ((ours / n) ** 2 / (n - 1) + (theirs / 5) ** 2 / 4)
        if level
        else n - 1
    )
    reach = float(t.ppf(1 - 0.025 / family, freedom)) * np.sqrt(
        ours / n + theirs / 5 + (1 if level else 2) * 0.001**2 / 12
    )
    gap = float(np.mean(values)) - _quantity(key, PAPER)
    return gap, gap - reach, gap + reach


def _welch(a: list[float], b: list[float], family: int) -> tuple[float, float, float]:
    """The difference of two means with Welch's interval, Bonferroni over the family."""
    from scipy.stats import ttest_ind

    found = ttest_ind(a, b, equal_var=False).confidence_interval(1 - 0.05 / family)
    return float(np.mean(a) - np.mean(b)), float(found.low), float(found.high)


def _distance(key: str, runs: list[dict[str, float]], own: list[dict[str, float]]) -> float:
    """(ours − paper's) in standard errors that are borrowed from our own five-member ensembles."""
    values = [_quantity(key, run) for run in runs]
    return _in_standard_errors(
        key,
        float(np.mean(values)),
        float(np.var([_quantity(key, run) for run in own], ddof=1)),
        1 / len(runs),
    )


def _in_standard_errors(key: str, value: float, between: float, share: float) -> float:
    """(ours − paper's) in standard errors: ``share`` of the variance between ensembles, the paper's
    (for differences ours), and its rounding.
    """
    level = key in PAPER_SD
    variance = (
        between * share
        + (PAPER_SD[key] ** 2 / 4 if level else between / 5)
        + (1 if level else 2) * 0.001**2 / 12
    )
    return float((value - _quantity(key, PAPER)) / np.sqrt(variance))


def _levels(sets: dict[str, np.ndarray]) -> dict[str, float]:
    """AUROC of epistemic uncertainty by three measures, and of the variance in single precision."""
    of: dict[str, dict[str, np.ndarray]] = {}
    for name, p in sets.items():
        scores, single = all_scores(p), p.astype(np.float32)
        of[name] = {measure: scores[measure, "epistemic"] for measure in MEASURES}
        of[name]["variance, float32"] = (
            (single * (single - single.mean(axis=0))).sum(axis=-1).mean(axis=0)
        )
    return {
        f"{name} | {key}": auroc(of["fashion-mnist"][key], of[name][key])
        for name in ("mnist", "kmnist")
        for key in of[name]
    }
