"""Why CIFAR-10.2 seemed so easy to tell from CIFAR-10: the published preprocessing, applied to
CIFAR-10's own test images.

The published code feeds pixels of 0 … 255 where the network was trained on 0 … 1, and exchanges
height and width. Here the *same* test images go through all four combinations: an AUROC other than
½ is caused by the preprocessing alone. Pixels of 0 … 255 saturate the network: each member is
certain of a class, and epistemic uncertainty then only says whether these classes differ.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Ensemble, decompose
from labelwise.evaluation import detection_scores

from .records import Record, RunNumbers, pick
from .results_folder import Options, available, predictions, record, save_figure
from .scores import aurocs, scores
from .settings import Setting, TestImages, four_ways

__all__ = ["run"]


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``artifact.json`` and ``artifact.png``; returns the numbers.
    CIFAR-10.2 itself is included if it is there.
    """
    if setting.members < 2:
        raise ValueError(
            "`members` must be at least 2: a single network has no epistemic uncertainty; got "
            f"{setting.members}"
        )
    inside = TestImages(setting.data)
    others: list[TestImages] = []
    absent: dict[str, str] = {}
    if setting.data == "cifar10":
        others, absent = available(setting, four_ways("cifar10.2"), runs, options)
    found = RunNumbers()
    for r in range(runs):
        stored = predictions(setting, r, [*four_ways(setting.data), *others], options)
        reference, y = scores(Ensemble(stored[inside].probs)), np.asarray(stored[inside].y_true)
        for images, each in stored.items():
            q = Ensemble(each.probs)
            choices = np.argmax(q.probs, axis=-1)
            agree = (choices == choices[0]).all(axis=0)
            about = {"set": images.data} | _way(images)
            for (measure, _), auroc in aurocs(reference, scores(q), ["epistemic"]).items():
                found.add("auroc", auroc, **about, measure=measure)
            found.add("confidence", q.probs.max(-1).mean(), **about)
            found.add("agreement", agree.mean(), **about)
            if images.data == setting.data:
                found.add("accuracy", (q.mean().argmax(-1) == y).mean(), **_way(images))
    numbers = {
        **found.over_runs(),
        "subsets": subsets(setting, runs, options),
        "not run": dict(list(absent.items())[:1]),
    }
    path = record(setting, "artifact", numbers, options, runs=runs)
    draw(numbers["subsets"], setting, path.with_suffix(".png"))
    return numbers


def subsets(setting: Setting, runs: int, options: Options) -> list[Record]:
    """AUROCs of the label-wise entropy for every subset of two or more members of each run.

    Of saturated members all depends on whether they are certain of different classes: one ensemble
    alone says little.
    """
    ways = four_ways(setting.data)[1:]
    found = [
        _way(images) | {"members": size, "auroc": []}
        for size in range(2, setting.members + 1)
        for images in ways
    ]
    for r in range(runs):
        stored = predictions(setting, r, [TestImages(setting.data), *ways], options)
        probs = {images: np.asarray(p.probs) for images, p in stored.items()}
        for size in range(2, setting.members + 1):
            for group in itertools.combinations(range(setting.members), size):
                reference, *eu = (
                    decompose(Ensemble(p[list(group)])).sum().epistemic for p in probs.values()
                )
                for images, value in zip(ways, eu, strict=True):
                    auroc = float(detection_scores(reference, value).auroc)
                    pick(found, **_way(images), members=size)["auroc"].append(auroc)
    return found


def _way(images: TestImages) -> Record:
    return {
        "pixels": "scaled" if images.scaled else "not scaled",
        "orientation": "transposed" if images.transposed else "upright",
    }


def draw(found: list[Record], setting: Setting, path: Path) -> None:
    """For each way of mishandling, the AUROC of every subset of the members, by size; and of all
    members, by measure.
    """
    from ..plotting import line, panels

    ways = [_way(images) for images in four_ways(setting.data)[1:]]
    sizes = range(2, setting.members + 1)
    figure, axes = panels(len(ways), width=10 / 3, height=3.2, sharey=True)
    for ax, way in zip(axes, ways, strict=True):
        for size in sizes:
            values = pick(found, **way, members=size)["auroc"]
            spread = 0.22 if len(values) > 1 else 0.0
            shift = np.random.default_rng(size).uniform(-spread, spread, len(values))
            style = {"color": line(0)["color"], "alpha": 0.55, "markersize": 5}
            ax.plot(size + shift, values, "o", **style)
        ax.axhline(0.5, color="#444444", linewidth=0.8, linestyle=":")
        ax.set_xticks(sizes)
        ax.set_title(f"{way['pixels']}, {way['orientation']}", fontsize=10)
        ax.set_xlabel("members of the subset")
    axes[0].set_ylabel("AUROC (EU, label-wise entropy)")
    axes[0].set_ylim(-0.05, 1.05)
    save_figure(figure, path)
