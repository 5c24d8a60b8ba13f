"""Checks of the comparison with the paper's Table 1: from the stored predictions, and from the
ranks of other trainings.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t, ttest_ind

from .formulas import MEASURES, Check, all_scores, auroc, compare_ends, opened, read_probs, select

__all__ = ["fingerprint"]

Levels = dict[tuple[str, str], float]
"""(set, measure) -> AUROC of epistemic uncertainty."""
SETS = ("fashion-mnist", "mnist", "kmnist")
FLOAT32 = "variance, float32"
PAPER: Levels = {
    ("mnist", "variance"): 0.882,
    ("mnist", FLOAT32): 0.882,
    ("mnist", "label-wise entropy"): 0.894,
    ("mnist", "entropy"): 0.895,
    ("kmnist", "variance"): 0.959,
    ("kmnist", FLOAT32): 0.959,
    ("kmnist", "label-wise entropy"): 0.967,
    ("kmnist", "entropy"): 0.969,
}
PAPER_SD = {"mnist": 0.017, "kmnist": 0.004}
"""Table 1: means, and the deviation of the entropy, over five runs (n in the denominator), rounded
to three digits.
"""
DISTANCE_TOLERANCE = 0.05  # in standard errors, which are printed with one digit


def fingerprint(folder: Path, numbers: dict[str, Any], about: dict[str, Any]) -> Iterator[Check]:
    """Ensembles of every size, other trainings, and their differences and distances from the
    paper's.
    """
    trained = folder.parent / "fashion-mnist-paper"
    runs = [
        {name: read_probs(trained / f"run-{r}" / f"{name}.npz") for name in SETS}
        for r in range(about["runs"])
    ]
    members = {name: np.concatenate([run[name] for run in runs]) for name in SETS}
    yield from _by_members(members, numbers["by members"], about["shuffles"])
    own = [_levels(run) for run in runs]
    trainings = {"fashion-mnist-paper": own}
    for path in sorted(
        folder.glob("*/run-*.npz"), key=lambda path: int(path.stem.removeprefix("run-"))
    ):
        trainings.setdefault(path.parent.name, []).append(_levels_by_rank(path))
    for cell in numbers["trainings"]:
        values = [_value(cell, run) for run in trainings[cell["training"]]]
        name, value = f"{cell['training']}, {_in_words(cell)}", float(np.mean(values))
        if cell["minus"] is None:
            yield Check(name, cell["value"], value)
        if cell["distance"] is not None:
            between = float(np.var([_value(cell, run) for run in own], ddof=1))
            distance = _distance(cell, value, between, 1 / len(values))
            yield Check(f"{name}, distance", cell["distance"], distance, DISTANCE_TOLERANCE)
    for cell in numbers["ours − paper's"]:
        # A candidate is judged without the run that made it one.
        first = 0 if cell["training"] == "fashion-mnist-paper" else 1
        values = [_value(cell, run) for run in trainings[cell["training"]][first:]]
        family = len(select(numbers["ours − paper's"], training=cell["training"]))
        gap, reach = _gap(cell, values, family)
        name = f"{cell['training']}, ours − paper's {_in_words(cell)}"
        yield Check(f"{name}, mean", cell["mean"], gap)
        yield from compare_ends(name, cell, gap, reach)
    for cell in numbers["candidate − protocol paper"]:
        ours = [_value(cell, run) for run in trainings[cell["training"]][1:]]
        theirs = [_value(cell, run) for run in own]
        family = len(select(numbers["candidate − protocol paper"], training=cell["training"]))
        ends = ttest_ind(ours, theirs, equal_var=False).confidence_interval(1 - 0.05 / family)
        name = f"{cell['training']} − protocol paper, {_in_words(cell)}"
        yield Check(f"{name}, mean", cell["mean"], float(np.mean(ours) - np.mean(theirs)))
        yield Check(f"{name}, low", cell["low"], float(ends.low))
        yield Check(f"{name}, high", cell["high"], float(ends.high))


def _by_members(
    members: dict[str, np.ndarray], cells: list[dict[str, Any]], shuffles: int
) -> Iterator[Check]:
    """Ensembles of every size, drawn without overlap from all members: means, deviations and
    distances from the paper's.
    """
    total = len(members["mnist"])
    between: dict[str, float] = {}
    for size in dict.fromkeys(cell["members"] for cell in cells):
        rng, found = np.random.default_rng(0), []
        for _ in range(shuffles if size < total else 1):
            order = rng.permutation(total)
            groups = [np.sort(order[i : i + size]) for i in range(0, total - size + 1, size)]
            found.append(
                [_levels({name: p[group] for name, p in members.items()}) for group in groups]
            )
        for cell in select(cells, members=size):
            values = np.array([[_value(cell, of) for of in groups] for groups in found])
            quantity, value = _in_words(cell), float(values.mean())
            name = f"{size} members, {quantity}"
            if cell["minus"] is None:
                yield Check(name, cell["mean"], value)
            if cell["distance"] is not None:
                if values.shape[1] > 1:
                    between[quantity] = float(values.var(axis=1, ddof=1).mean())
                    yield Check(f"{name}, sd", cell["sd"], between[quantity] ** 0.5)
                distance = _distance(cell, value, between[quantity], size / total)
                yield Check(f"{name}, distance", cell["distance"], distance, DISTANCE_TOLERANCE)


def _in_words(cell: dict[str, Any]) -> str:
    minus = f" − {cell['minus']}" if cell["minus"] else ""
    return f"{cell['set']}, {cell['measure']}{minus}"


def _value(cell: dict[str, Any], of: Levels) -> float:
    """An AUROC, or its difference from another one."""
    value = of[cell["set"], cell["measure"]]
    return value - of[cell["set"], cell["minus"]] if cell["minus"] else value


def _rounding(cell: dict[str, Any]) -> float:
    """Variance of the paper's rounding, of one number or of two."""
    return (2 if cell["minus"] else 1) * 0.001**2 / 12


def _gap(cell: dict[str, Any], values: list[float], family: int) -> tuple[float, float]:
    """Ours − paper's and half its interval by Welch and Bonferroni; a difference between measures
    is taken to vary in the paper's runs like in ours.
    """
    n, variance = len(values), float(np.var(values, ddof=1))
    ours, theirs, df = variance / n, variance / 5, float(n - 1)
    if not cell["minus"]:
        theirs = PAPER_SD[cell["set"]] ** 2 * 5 / 4 / 5
        df = (ours + theirs) ** 2 / (ours**2 / (n - 1) + theirs**2 / 4)
    quantile = float(t.ppf(1 - 0.025 / family, df))
    reach = quantile * float(np.sqrt(ours + theirs + _rounding(cell)))
    return float(np.mean(values)) - _value(cell, PAPER), reach


def _distance(cell: dict[str, Any], value: float, between: float, share: float) -> float:
    """(ours − paper's) in standard errors: ``share`` of the variance between ensembles, the paper's
    (for differences ours), and its rounding.
    """
    theirs = between / 5 if cell["minus"] else PAPER_SD[cell["set"]] ** 2 / 4
    variance = between * share + theirs + _rounding(cell)
    return float((value - _value(cell, PAPER)) / np.sqrt(variance))


def _levels_by_rank(path: Path) -> Levels:
    """AUROCs from the stored ranks of all sets together."""
    found = {}
    with opened(path) as file:
        for measure in file.files:
            inside, *outside = np.split(file[measure].astype(int), len(SETS))
            for name, ranks in zip(SETS[1:], outside, strict=True):
                found[name, measure] = auroc(inside, ranks)
    return found


def _levels(sets: dict[str, np.ndarray]) -> Levels:
    """AUROC of epistemic uncertainty by three measures, and of the variance in single precision."""
    of: dict[str, dict[str, np.ndarray]] = {}
    for name, p in sets.items():
        scores, single = all_scores(p), p.astype(np.float32)
        of[name] = {measure: scores[measure, "epistemic"] for measure in MEASURES}
        products = single * (single - single.mean(axis=0))
        of[name][FLOAT32] = products.sum(axis=-1).mean(axis=0)
    return {
        (name, measure): auroc(of[SETS[0]][measure], of[name][measure])
        for name in SETS[1:]
        for measure in of[name]
    }
