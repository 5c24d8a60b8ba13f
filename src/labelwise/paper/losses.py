"""Which loss? The paper leaves it open: six losses, for rejecting errors and for finding strangers, with differences from log loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..decomposition import PARTS, decompose
from ..distributions import Ensemble
from ..evaluation import rejection_curve
from ..evaluation.detection import detection_scores
from ..losses import CostLoss, Loss, as_loss
from .arc import save
from .results_folder import Options, available, over_runs, predictions, record
from .settings import DATA, Setting, Source

LOSSES: dict[str, str | Loss] = {
    "log": "log",
    "squared": "squared",
    "spherical": "spherical",
    "zero-one": "zero_one",
    "cost 1 : 9": CostLoss(false_positive=1, false_negative=9),
    "cost 9 : 1": CostLoss(false_positive=9, false_negative=1),
}
"""A missed label is nine times as bad as a false one, and the other way round."""

Key = tuple[str, str, str]
"""Task (``"rejection"`` or an out-of-distribution set), loss, part."""


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``losses.json`` and ``losses.png``; returns the numbers."""
    inside = Source(setting.data)
    outside, absent = available(setting, [Source(name) for name in DATA[setting.data]], runs, options)
    found: dict[Key, list[float]] = {}
    for r in range(runs):
        stored = predictions(setting, r, [inside, *outside], options)
        for key, value in compare(stored, inside, outside).items():
            found.setdefault(key, []).append(value)
    numbers = {
        "value": {key: over_runs(values) for key, values in found.items()},
        "difference from log": {
            key: over_runs(np.subtract(values, found[key[0], "log", key[2]])) for key, values in found.items() if key[1] != "log"
        },
        "not run": absent,
    }
    path = record(setting, "losses", numbers, options, runs=runs)
    draw(numbers, path.with_suffix(".png"))
    return numbers


def compare(stored: dict[Source, Any], inside: Source, outside: list[Source]) -> dict[Key, float]:
    """Area under the accuracy–rejection curve and AUROCs of one run, for each loss and part."""
    q = {source: Ensemble(p.probs) for source, p in stored.items()}
    correct = q[inside].mean().argmax(-1) == np.asarray(stored[inside].y_true)
    numbers: dict[Key, float] = {}
    for name, loss in LOSSES.items():
        u = {source: decompose(x, as_loss(loss)).sum() for source, x in q.items()}
        for part in PARTS:
            score = np.asarray(getattr(u[inside], part))
            numbers["rejection", name, part] = rejection_curve(score, correct=correct).area
            for source in outside:
                numbers[source.data, name, part] = float(detection_scores(score, np.asarray(getattr(u[source], part))).auroc)
    return numbers


def draw(numbers: dict[str, Any], path: Path) -> None:
    """For each task and part the mean of each loss, with the interval over runs."""
    from ..plots._style import line, pyplot, tidy

    values = numbers["value"]
    tasks = list(dict.fromkeys(task for task, _, _ in values))
    figure, axes = pyplot().subplots(1, len(tasks), figsize=(3.9 * len(tasks), 3.6), layout="constrained", squeeze=False, sharey=True)
    place = np.arange(len(LOSSES))
    for ax, task in zip(axes[0], tasks, strict=True):
        tidy(ax)
        ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        for i, part in enumerate(PARTS):
            cells = [values[task, name, part] for name in LOSSES]
            mean = np.array([cell["mean"] for cell in cells])
            bars = None if cells[0]["sd"] is None else np.array([[c["mean"] - c["low"], c["high"] - c["mean"]] for c in cells]).T
            style = {"color": line(i)["color"], "marker": "os^"[i], "markersize": 4, "linestyle": "none", "capsize": 2}
            ax.errorbar(mean, place + 0.2 * (i - 1), xerr=bars, label=part, **style)
        ax.set_yticks(place, list(LOSSES))
        low, high = ax.get_xlim()
        ax.set_xlim(max(0, low), min(1.002, high))  # intervals of few runs may reach beyond what is possible
        ax.set_xlabel("area under the rejection curve" if task == "rejection" else f"AUROC, {task}")
    axes[0, 0].invert_yaxis()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save(figure, path)
