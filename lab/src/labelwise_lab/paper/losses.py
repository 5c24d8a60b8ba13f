"""Which loss? The paper leaves it open: six losses, for rejecting errors and for
out-of-distribution detection, compared with log loss.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from labelwise import CostLoss, Ensemble, Loss
from labelwise.evaluation import detection_scores, ranking_scores, rejection_curve
from labelwise.evaluation.ranking import tie_share
from labelwise.losses import as_loss

from ..text import PARTS
from .results_folder import Options, available, over_runs, predictions, record, save_figure
from .settings import DATA, Setting, TestImages

__all__ = ["LOSSES", "run"]

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
    inside = TestImages(setting.data)
    outside, absent = available(
        setting, [TestImages(name) for name in DATA[setting.data]], runs, options
    )
    found = []
    for r in range(runs):
        values, ties = compare(predictions(setting, r, [inside, *outside], options), inside)
        relative = {
            key: value - values[key[0], "log", key[2]]
            for key, value in values.items()
            if key[1] != "log"
        }
        found.append({"value": values, "difference from log": relative, "tied": ties})
    numbers = {**over_runs(found), "not run": absent}
    draw(
        numbers["value"], record(setting, "losses", numbers, options, runs=runs).with_suffix(".png")
    )
    return numbers


def compare(
    stored: dict[TestImages, Any], inside: TestImages
) -> tuple[dict[Key, float], dict[tuple[str, str], float]]:
    """Area under the accuracy–rejection curve and AUROCs of one run, for each loss and part; and
    the share of tied test instances.
    """
    q = {images: Ensemble(p.probs) for images, p in stored.items()}
    correct = q[inside].mean().argmax(-1) == np.asarray(stored[inside].y_true)
    numbers: dict[Key, float] = {}
    ties: dict[tuple[str, str], float] = {}
    for name, loss in LOSSES.items():
        u = {
            images: ranking_scores(x, as_loss(loss)) for images, x in q.items()
        }  # zero-one and cost losses tie
        for part in PARTS:
            score = {images: np.asarray(getattr(x, part)) for images, x in u.items()}
            ties[name, part] = tie_share(np.sort(score[inside]))
            numbers["rejection", name, part] = rejection_curve(score[inside], correct=correct).area
            for images in [images for images in score if images != inside]:
                numbers[images.data, name, part] = float(
                    detection_scores(score[inside], score[images]).auroc
                )
    return numbers, ties


def draw(values: dict[Key, dict[str, Any]], path: Path) -> None:
    """For each task and part the mean of each loss, with the interval over runs."""
    from ..plotting import line, pyplot, tidy

    tasks = list(dict.fromkeys(task for task, _, _ in values))
    figure, axes = pyplot().subplots(
        1,
        len(tasks),
        figsize=(3.9 * len(tasks), 3.6),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    place = np.arange(len(LOSSES))
    for ax, task in zip(axes[0], tasks, strict=True):
        tidy(ax)
        ax.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        for i, part in enumerate(PARTS):
            cells = [values[task, name, part] for name in LOSSES]
            mean = np.array([cell["mean"] for cell in cells])
            bars = (
                None
                if cells[0]["sd"] is None
                else np.array([[c["mean"] - c["low"], c["high"] - c["mean"]] for c in cells]).T
            )
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
        ax.set_xlim(
            max(0, low), min(1.002, high)
        )  # intervals of few runs may reach beyond what is possible
        ax.set_xlabel("area under the rejection curve" if task == "rejection" else f"AUROC, {task}")
    axes[0, 0].invert_yaxis()
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    save_figure(figure, path)
