"""Numbers and figures of the hold-out experiment, from our own runs or from the arrays that the
authors published.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from ..files import read_npz
from .holdout_drops import Drops, drops, excess, log_ratios
from .holdout_runs import GRID, Runs
from .results_folder import over_runs, save_figure

__all__ = ["SAME_CLASS", "draw", "numbers_of", "published", "smallest_detectable", "table_of"]

# arm -> the arm it is compared with; the class compared is that of the arm
CONTROLS = {
    **dict.fromkeys(("swap", "old-pool", "random-class"), "no-swap"),
    "swap-constant": "no-swap-constant",
}

SAME_CLASS = "swap − no-swap, same class by both rules"
"""The effect in the runs in which the text's rule, the mean over a class's own instances, selects
the same class as the code's.
"""


def numbers_of(runs: Runs) -> dict[str, Any]:
    """All numbers of the experiment: Table 2 as the paper has it and for each arm, and the paired
    effects.
    """
    of = runs.arrays
    numbers: dict[str, Any] = {
        "selected": of["swap label"][runs.rows("swap label")].astype(int),
        "same class on half of the test set": runs.same_label("half"),
        "same class by mean over own instances": runs.same_label(
            "own"
        ),  # as the paper's text has it
        "accuracy": {
            name: over_runs(of[f"{name} accuracy"][runs.rows(f"{name} accuracy")])
            for name in ("before", *runs.arms)
        },
        "table": {},
        "effect": {},
        "effect on other classes": {},
    }
    for name in runs.arms:
        rows = runs.rows("before", name)
        found = drops(
            of["before"][rows], of[name][rows], selected=of[f"{name} label"][rows].astype(int)
        )
        numbers["table"][name] = {"runs": len(rows), **table_of(found)}
    for name, control in CONTROLS.items():
        if name in runs.arms and control in runs.arms:
            rows = runs.rows(name, control)
            after, without, label = (
                of[name][rows],
                of[control][rows],
                of[f"{name} label"][rows].astype(int),
            )
            numbers["effect"][f"{name} − {control}"] = effect(log_ratios(after, without, label))
            others = [
                np.delete(np.log(a) - np.log(c), k).mean()
                for a, c, k in zip(after, without, label, strict=True)
            ]
            numbers["effect on other classes"][f"{name} − {control}"] = effect(np.array(others))
    rows = runs.rows("swap", "no-swap", "own label")
    rows = rows[of["own label"][rows] == of["swap label"][rows]] if len(rows) else rows
    if len(rows):
        label = of["swap label"][rows].astype(int)
        numbers["effect"][SAME_CLASS] = effect(
            log_ratios(of["swap"][rows], of["no-swap"][rows], label)
        )
    # Selected on one half of the test set and judged on the other, in the runs in which both halves
    # select the same class.
    rows = runs.rows("swap other half", "no-swap other half")
    rows = rows[of["half label"][rows] == of["swap label"][rows]] if len(rows) else rows
    if len(rows):
        label = of["half label"][rows].astype(int)
        values = log_ratios(of["swap other half"][rows], of["no-swap other half"][rows], label)
        numbers["effect"]["swap − no-swap, other half"] = effect(values)
    return numbers


def effect(values: np.ndarray) -> dict[str, Any]:
    """Mean over runs with its interval, and the smallest effect that so many runs would have
    shown.
    """
    cell = over_runs(values)
    return cell | {
        "detectable": None if cell["sd"] is None else smallest_detectable(cell["sd"], len(values))
    }


def smallest_detectable(sd: float, n: int, *, power: float = 0.8) -> float:
    """The mean that a two-sided t-test at 5 % finds with this power, from n differences with this
    standard deviation.

    >>> round(smallest_detectable(0.46, 11), 2), round(smallest_detectable(0.46, 100), 2)
    (0.43, 0.13)
    """
    from scipy.stats import t

    return float(t.ppf(0.975, n - 1) + t.ppf(power, n - 1)) * sd / sqrt(n)


def table_of(d: Drops) -> dict[str, Any]:
    """Table 2 with correct deviations (n in the denominator, as there), and what a line fitted to
    the other classes predicts.
    """
    more = excess(d)
    return {
        "drop": {
            kind: {
                name: {"mean": x.mean(), "sd": x.std(), "runs": x} for name, x in columns.items()
            }
            for kind, columns in d.table().items()
        },
        "selected has the largest drop": {
            kind: d.largest(kind) for kind in ("absolute", "relative")
        },
        "EU of another class rises": list(d.rises),
        "predicted by the other classes": more.predicted_share,
        "excess": more.excess,
        "extrapolated": more.extrapolated,
    }


def published(path: Path) -> tuple[dict[str, Any], Drops]:
    """The numbers of Table 2 from the authors' stored arrays: ``eus_before`` and ``eus_after``,
    (runs, test instances, labels).
    """
    arrays = read_npz(path, ["eus_before", "eus_after"])
    if set(arrays) != {"eus_before", "eus_after"}:
        raise ValueError(
            f"{path.name} must hold `eus_before` and `eus_after`; it holds "
            f"{', '.join(arrays) or 'neither'}"
        )
    d = drops(arrays["eus_before"].astype(float), arrays["eus_after"].astype(float))
    return table_of(d), d


def draw(runs: Runs, numbers: dict[str, Any], path: Path) -> None:
    """Left: the effect of the new images in each run, and the mean of each arm. Then ECDFs of the
    selected class and of the others.
    """
    from ..plotting import line, pyplot, tidy

    panels = 3 if {"before ecdf", "swap ecdf", "no-swap ecdf"} <= set(runs.arrays) else 1
    ratios = (1.2, 1, 1)[:panels]
    figure, axes = pyplot().subplots(
        1,
        panels,
        figsize=(3.6 * panels if panels > 1 else 6.4, 3.6),
        layout="constrained",
        width_ratios=ratios,
        squeeze=False,
    )
    ax = axes[0, 0]
    tidy(ax)
    names = list(numbers["effect"])
    for i, name in enumerate(names):
        cell = numbers["effect"][name]
        height = i + np.random.default_rng(0).uniform(-0.25, 0.25, len(cell["runs"]))
        ax.plot(cell["runs"], height, ".", color="#999999", markersize=3)
        reach = (
            None
            if cell["low"] is None
            else [[cell["mean"] - cell["low"]], [cell["high"] - cell["mean"]]]
        )
        ax.errorbar(
            cell["mean"], i, xerr=reach, fmt="o", color=line(0)["color"], capsize=3, markersize=5
        )
    ax.axvline(0, color="#444444", linewidth=0.8)
    ax.set_yticks(
        range(len(names)),
        [f"{name} ({len(numbers['effect'][name]['runs'])})" for name in names],
        fontsize=8,
    )
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("log EU(arm) − log EU(control)", fontsize=9)
    for ax, part, title in zip(
        axes[0, 1:], (0, 1), ("class with the highest EU", "other classes"), strict=False
    ):
        tidy(ax)
        for i, name in enumerate(
            name for name in ("before", "swap", "no-swap") if f"{name} ecdf" in runs.arrays
        ):
            curve = np.nanmean(runs.arrays[f"{name} ecdf"][:, part], axis=0)
            ax.plot(GRID, curve, label=name.replace("-", " "), **line(i))
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("label-wise EU (variance)")
        ax.set_xscale("log")
    if panels > 1:
        axes[0, 1].set_ylabel("share of test instances")
        axes[0, 2].legend(frameon=False, fontsize=9, loc="lower right")
    save_figure(figure, path)
