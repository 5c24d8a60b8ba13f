"""Why CIFAR-10.2 seemed so easy to tell from CIFAR-10: the published preprocessing, applied to CIFAR-10's own test images.

The published code feeds pixels of 0 … 255 where the network was trained on 0 … 1, and exchanges height and width. Here the *same* test images
go through all four combinations: an AUROC other than ½ is caused by the preprocessing alone. Pixels of 0 … 255 saturate the network:
each member is certain of a class, and epistemic uncertainty then only says whether these classes differ.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from ..distributions import Ensemble
from .results_folder import Options, available, over_runs, predictions, record, save_figure
from .scores import MEASURES, aurocs, scores
from .settings import Setting, TestImages

__all__ = ["run"]


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``artifact.json`` and ``artifact.png``; returns the numbers. CIFAR-10.2 itself is included if it is there."""
    inside = TestImages(setting.data)
    others, absent = available(setting, _four_ways("cifar10.2"), runs, options) if setting.data == "cifar10" else ([], {})
    found = []
    for r in range(runs):
        stored = predictions(setting, r, [*_four_ways(setting.data), *others], options)
        reference, y = scores(Ensemble(stored[inside].probs)), np.asarray(stored[inside].y_true)
        of: dict[str, dict[tuple[str, ...], float]] = {"auroc": {}, "accuracy": {}, "confidence": {}, "agreement": {}}
        for images, each in stored.items():
            q = Ensemble(each.probs)
            way = "scaled" if images.scaled else "not scaled", "transposed" if images.transposed else "upright"
            choices = np.argmax(q.probs, axis=-1)
            of["confidence"][images.data, *way] = float(q.probs.max(-1).mean())
            of["agreement"][images.data, *way] = float((choices == choices[0]).all(axis=0).mean())
            for (measure, _), auroc in aurocs(reference, scores(q), ["epistemic"]).items():
                of["auroc"][images.data, *way, measure] = auroc
            if images.data == setting.data:
                of["accuracy"][way] = float((q.mean().argmax(-1) == y).mean())
        found.append(of)
    numbers = {**over_runs(found), "not run": dict(list(absent.items())[:1])}
    draw(numbers["auroc"], setting.data, record(setting, "artifact", numbers, options, runs=runs).with_suffix(".png"))
    return numbers


def _four_ways(data: str) -> list[TestImages]:
    """The images of a data set, scaled or not, transposed or not."""
    return [TestImages(data, scaled, transposed) for scaled, transposed in itertools.product((True, False), (False, True))]


def draw(cells: dict[tuple[str, str, str, str], dict[str, Any]], data: str, path: Path) -> None:
    """The 2 × 2 for each measure, the AUROC in each cell."""
    from ..plots._style import pyplot

    figure, axes = pyplot().subplots(1, len(MEASURES), figsize=(8.4, 2.9), layout="constrained")
    rows, columns = ("scaled", "not scaled"), ("upright", "transposed")
    for ax, measure in zip(axes, MEASURES, strict=True):
        values = np.array([[cells[data, row, column, measure]["mean"] for column in columns] for row in rows])
        ax.imshow(values, cmap="Blues", vmin=0, vmax=1.4)
        for i, j in itertools.product(range(2), range(2)):
            ax.text(j, i, f"{values[i, j]:.3f}", ha="center", va="center", fontsize=11)
        ax.set_xticks(range(2), columns)
        ax.set_yticks(range(2), rows if measure == MEASURES[0] else ["", ""])
        ax.set_title(measure, fontsize=10)
        ax.tick_params(length=0)
    figure.suptitle(f"AUROC of {data} against its own test images", fontsize=10)
    save_figure(figure, path)
