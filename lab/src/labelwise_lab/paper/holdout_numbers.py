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
from .records import Record, estimate, over_runs
from .results_folder import save_figure

__all__ = [
    "SAME_CLASS",
    "draw",
    "effect_in_words",
    "numbers_of",
    "published",
    "smallest_detectable",
    "table_of",
]

# arm -> the arm it is compared with; the class compared is that of the arm
CONTROLS = {
    **dict.fromkeys(("swap", "old-pool", "random-class"), "no-swap"),
    "swap-constant": "no-swap-constant",
}

SAME_CLASS, OTHER_HALF = "same class by both rules", "other half"
"""Effects in some of the runs: those in which the text's rule, the mean over a class's own
instances, selects the same class as the code's; and those in which both halves of the test set
select the same class, judged on the half on which it was not selected.
"""


def numbers_of(runs: Runs) -> dict[str, Any]:
    """All numbers of the experiment: Table 2 as the paper has it and for each arm, and the paired
    effects.
    """
    of = runs.arrays
    numbers: dict[str, Any] = {
        "selected": of["swap label"][runs.rows("swap label")].astype(int),
        "same class on half of the test set": runs.same_label("half"),
        # as the paper's text has it
        "same class by mean over own instances": runs.same_label("own"),
        "accuracy": [
            {"arm": name} | over_runs(of[f"{name} accuracy"][runs.rows(f"{name} accuracy")])
            for name in ("before", *runs.arms)
        ],
        "table": {},
        "effect": [],
        "effect on other classes": [],
    }
    for name in runs.arms:
        rows = runs.rows("before", name)
        labels = of[f"{name} label"][rows].astype(int)
        found = drops(of["before"][rows], of[name][rows], selected=labels)
        numbers["table"][name] = {"runs": len(rows), **table_of(found)}
    for arm, control in CONTROLS.items():
        if arm in runs.arms and control in runs.arms:
            rows = runs.rows(arm, control)
            labels = of[f"{arm} label"][rows].astype(int)
            logs = np.log(of[arm][rows]) - np.log(of[control][rows])
            own = logs[np.arange(len(rows)), labels]
            others = [np.delete(row, k).mean() for row, k in zip(logs, labels, strict=True)]
            about = {"arm": arm, "control": control, "among": None}
            numbers["effect"].append(about | effect(own))
            numbers["effect on other classes"].append(about | effect(np.array(others)))
    for among, rule, suffix in ((SAME_CLASS, "own", ""), (OTHER_HALF, "half", " other half")):
        swap, control = f"swap{suffix}", f"no-swap{suffix}"
        rows = runs.rows(swap, control, f"{rule} label")
        if len(rows):
            rows = rows[of[f"{rule} label"][rows] == of["swap label"][rows]]
        if len(rows):
            labels = of["swap label"][rows].astype(int)
            about = {"arm": "swap", "control": "no-swap", "among": among}
            values = log_ratios(of[swap][rows], of[control][rows], labels)
            numbers["effect"].append(about | effect(values))
    return numbers


def effect_in_words(effect: Record) -> str:
    """What is compared with what.

    >>> effect_in_words({"arm": "swap", "control": "no-swap", "among": "other half"})
    'swap − no-swap, other half'
    """
    words = f"{effect['arm']} − {effect['control']}"
    return words if effect["among"] is None else f"{words}, {effect['among']}"


def effect(values: np.ndarray) -> Record:
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
        "predicted by the other classes": estimate(more.predicted_share),
        "excess": estimate(more.excess),
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
    from ..plotting import line, panels, reach

    n = 3 if {"before ecdf", "swap ecdf", "no-swap ecdf"} <= set(runs.arrays) else 1
    figure, (ax, *others) = panels(
        n, width=3.6 if n > 1 else 6.4, height=3.6, width_ratios=(1.2, 1, 1)[:n]
    )
    ax.grid(visible=False, axis="y")
    for i, cell in enumerate(numbers["effect"]):
        height = i + np.random.default_rng(0).uniform(-0.25, 0.25, len(cell["runs"]))
        ax.plot(cell["runs"], height, ".", color="#999999", markersize=3)
        bars = reach(cell["mean"], cell["low"], cell["high"])
        style = {"fmt": "o", "color": line(0)["color"], "capsize": 3, "markersize": 5}
        ax.errorbar(cell["mean"], i, xerr=bars, **style)
    ax.axvline(0, color="#444444", linewidth=0.8)
    names = [f"{effect_in_words(cell)} ({len(cell['runs'])})" for cell in numbers["effect"]]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel("log EU(arm) − log EU(control)", fontsize=9)
    titles = ("class with the highest EU", "other classes")
    for part, (ax, title) in enumerate(zip(others, titles, strict=False)):
        for i, name in enumerate(("before", "swap", "no-swap")):
            curve = np.nanmean(runs.arrays[f"{name} ecdf"][:, part], axis=0)
            ax.plot(GRID, curve, label=name.replace("-", " "), **line(i))
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("label-wise EU (variance)")
        ax.set_xscale("log")
    if others:
        others[0].set_ylabel("share of test instances")
        others[1].legend(frameon=False, fontsize=9, loc="lower right")
    save_figure(figure, path)
