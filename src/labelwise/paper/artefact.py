"""Why CIFAR-10.2 seemed so easy to tell from CIFAR-10: the published preprocessing, applied to CIFAR-10's own test images.

The published code feeds pixels of 0 … 255 where the network was trained on 0 … 1, and exchanges height and width. Here the *same* test images
go through all four combinations: whatever the AUROC is beside ½ is made by the preprocessing alone. Pixels of 0 … 255 saturate the network:
each member is certain of a class, and epistemic uncertainty then only says whether these classes differ.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from ..distributions import Ensemble
from ..evaluation import detection_scores
from .arc import save
from .results_folder import Options, available, over_runs, predictions, record
from .scores import MEASURES, scores
from .settings import Setting, Source


def sources(data: str) -> list[Source]:
    """The four ways to handle the images of a data set."""
    return [Source(data, scaled, transposed) for scaled, transposed in itertools.product((True, False), (False, True))]


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``artefact.json`` and ``artefact.png``; returns the numbers. CIFAR-10.2 itself is included if it is there."""
    inside = Source(setting.data)
    others, absent = available(setting, sources("cifar10.2"), runs, options) if setting.data == "cifar10" else ([], {})
    wanted = [*sources(setting.data), *others]
    cells: dict[tuple[str, str, str, str], list[float]] = {}
    accuracy: dict[tuple[str, str], list[float]] = {}
    confidence: dict[tuple[str, str, str], list[float]] = {}
    agreement: dict[tuple[str, str, str], list[float]] = {}
    for r in range(runs):
        stored = predictions(setting, r, wanted, options)
        plain = scores(Ensemble(stored[inside].probs))
        y = np.asarray(stored[inside].y_true)
        for source in wanted:
            q = Ensemble(stored[source].probs)
            handled = (source.data, *_words(source))
            choices = np.argmax(q.probs, axis=-1)
            confidence.setdefault(handled, []).append(float(q.probs.max(-1).mean()))
            agreement.setdefault(handled, []).append(float((choices == choices[0]).all(axis=0).mean()))
            for measure in MEASURES:
                auroc = detection_scores(plain[measure, "epistemic"], scores(q)[measure, "epistemic"]).auroc
                cells.setdefault((*handled, measure), []).append(float(auroc))
            if source.data == setting.data:
                accuracy.setdefault(_words(source), []).append(float((q.mean().argmax(-1) == y).mean()))
    numbers: dict[str, Any] = {
        "auroc": {key: over_runs(values) for key, values in cells.items()},
        "accuracy": {key: over_runs(values) for key, values in accuracy.items()},
        "confidence": {key: over_runs(values) for key, values in confidence.items()},
        "agreement": {key: over_runs(values) for key, values in agreement.items()},
        "not run": dict(list(absent.items())[:1]),
    }
    path = record(setting, "artefact", numbers, options, runs=runs)
    draw(numbers["auroc"], setting.data, path.with_suffix(".png"))
    return numbers


def _words(source: Source) -> tuple[str, str]:
    return "scaled" if source.scaled else "not scaled", "transposed" if source.transposed else "upright"


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
    save(figure, path)
