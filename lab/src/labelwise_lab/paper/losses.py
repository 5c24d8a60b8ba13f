"""Which loss? The paper leaves it open: six losses, for rejecting errors and for
out-of-distribution detection, compared with log loss.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from labelwise import CostLoss, Ensemble
from labelwise.evaluation import detection_scores, ranking_scores, rejection_curve

from ..text import PARTS
from .records import Record, RunNumbers, distinct, pick
from .results_folder import Options, available, predictions, record, save_figure
from .settings import DATA, Setting, TestImages

__all__ = ["LOSSES", "run"]

LOSSES: dict[str, Any] = {
    "log": "log",
    "squared": "squared",
    "spherical": "spherical",
    "zero-one": "zero_one",
    "cost 1 : 9": CostLoss(false_positive=1, false_negative=9),
    "cost 9 : 1": CostLoss(false_positive=9, false_negative=1),
}
"""A missed label is nine times as bad as a false one, and the other way round."""


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``losses.json`` and ``losses.png``; returns the numbers.

    A task is ``"rejection"`` or an out-of-distribution set.
    """
    inside = TestImages(setting.data)
    outside, absent = available(
        setting, [TestImages(name) for name in DATA[setting.data]], runs, options
    )
    found = RunNumbers()
    for r in range(runs):
        stored = predictions(setting, r, [inside, *outside], options)
        q = {images: Ensemble(p.probs) for images, p in stored.items()}
        correct = q[inside].mean().argmax(-1) == np.asarray(stored[inside].y_true)
        of_log: dict[tuple[str, str], float] = {}
        for name, loss in LOSSES.items():
            # Scores of the zero-one and cost losses tie, and must tie exactly.
            u = {images: ranking_scores(x, loss) for images, x in q.items()}
            for part in PARTS:
                score = {images: np.asarray(getattr(x, part)) for images, x in u.items()}
                found.add("tied", tie_share(score[inside]), loss=name, part=part)
                values = {"rejection": rejection_curve(score[inside], correct=correct).area}
                for images in outside:
                    auroc = detection_scores(score[inside], score[images]).auroc
                    values[images.data] = float(auroc)
                for task, value in values.items():
                    about = {"task": task, "loss": name, "part": part}
                    found.add("value", value, **about)
                    if name == "log":
                        of_log[task, part] = value
                    else:
                        found.add("difference from log", value - of_log[task, part], **about)
    numbers = {**found.over_runs(), "not run": absent}
    path = record(setting, "losses", numbers, options, runs=runs)
    draw(numbers["value"], path.with_suffix(".png"))
    return numbers


def tie_share(scores: np.ndarray) -> float:
    """The share of scores that another instance has too."""
    _, counts = np.unique(scores, return_counts=True)
    return float(counts[counts > 1].sum() / len(scores))


def draw(values: list[Record], path: Path) -> None:
    """For each task and part the mean of each loss, with the interval over runs."""
    from ..plotting import line, panels

    tasks = distinct(values, "task")
    figure, axes = panels(len(tasks), width=3.9, height=3.6, grid="both", sharey=True)
    place = np.arange(len(LOSSES))
    for ax, task in zip(axes, tasks, strict=True):
        for i, part in enumerate(PARTS):
            cells = [pick(values, task=task, loss=name, part=part) for name in LOSSES]
            mean = np.array([cell["mean"] for cell in cells])
            bars = None
            if cells[0]["sd"] is not None:
                bars = np.array([[c["mean"] - c["low"], c["high"] - c["mean"]] for c in cells]).T
            style = {
                "color": line(i)["color"],
                "marker": "os^"[i],
                "markersize": 4,
                "linestyle": "none",
                "capsize": 2,
            }
            ax.errorbar(mean, place + 0.2 * (i - 1), xerr=bars, label=part, **style)
        ax.set_yticks(place, list(LOSSES))
        low, high = ax.get_xlim()
        # Intervals of few runs may reach beyond what is possible.
        ax.set_xlim(max(0, low), min(1.002, high))
        ax.set_xlabel("area under the rejection curve" if task == "rejection" else f"AUROC, {task}")
    axes[0].invert_yaxis()
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    save_figure(figure, path)
