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

from .results_folder import Options, available, over_runs, predictions, record, save_figure
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
    others, absent = (
        available(setting, four_ways("cifar10.2"), runs, options)
        if setting.data == "cifar10"
        else ([], {})
    )
    found = []
    for r in range(runs):
        stored = predictions(setting, r, [*four_ways(setting.data), *others], options)
        reference, y = scores(Ensemble(stored[inside].probs)), np.asarray(stored[inside].y_true)
        of: dict[str, dict[tuple[str, ...], float]] = {
            "auroc": {},
            "accuracy": {},
            "confidence": {},
            "agreement": {},
        }
        for images, each in stored.items():
            q = Ensemble(each.probs)
            way = _way(images)
            choices = np.argmax(q.probs, axis=-1)
            of["confidence"][images.data, *way] = float(q.probs.max(-1).mean())
            of["agreement"][images.data, *way] = float((choices == choices[0]).all(axis=0).mean())
            for (measure, _), auroc in aurocs(reference, scores(q), ["epistemic"]).items():
                of["auroc"][images.data, *way, measure] = auroc
            if images.data == setting.data:
                of["accuracy"][way] = float((q.mean().argmax(-1) == y).mean())
        found.append(of)
    numbers = {
        **over_runs(found),
        "subsets": subsets(setting, runs, options),
        "not run": dict(list(absent.items())[:1]),
    }
    draw(
        numbers,
        setting,
        record(setting, "artifact", numbers, options, runs=runs).with_suffix(".png"),
    )
    return numbers


def subsets(
    setting: Setting, runs: int, options: Options
) -> dict[tuple[str, str, str], list[float]]:
    """(pixels, orientation, size) -> AUROC of the label-wise entropy for every subset of two or
    more members of each run.

    Of saturated members all depends on whether they are certain of different classes: one ensemble
    alone says little.
    """
    ways = four_ways(setting.data)[1:]
    found: dict[tuple[str, str, str], list[float]] = {}
    for r in range(runs):
        stored = predictions(setting, r, [TestImages(setting.data), *ways], options)
        probs = {images: np.asarray(p.probs) for images, p in stored.items()}
        for size in range(2, setting.members + 1):
            for group in itertools.combinations(range(setting.members), size):
                reference, *eu = (
                    decompose(Ensemble(p[list(group)])).sum().epistemic for p in probs.values()
                )
                for images, value in zip(ways, eu, strict=True):
                    found.setdefault((*_way(images), str(size)), []).append(
                        float(detection_scores(reference, value).auroc)
                    )
    return found


def _way(images: TestImages) -> tuple[str, str]:
    return (
        "scaled" if images.scaled else "not scaled",
        "transposed" if images.transposed else "upright",
    )


def draw(numbers: dict[str, Any], setting: Setting, path: Path) -> None:
    """For each way of mishandling, the AUROC of every subset of the members, by size; and of all
    members, by measure.
    """
    from ..plotting import line, pyplot, tidy

    ways = [_way(images) for images in four_ways(setting.data)[1:]]
    figure, axes = pyplot().subplots(
        1, len(ways), figsize=(10, 3.2), layout="constrained", sharey=True
    )
    for ax, way in zip(axes, ways, strict=True):
        tidy(ax)
        for size in range(2, setting.members + 1):
            values = numbers["subsets"][(*way, str(size))]
            shift = (
                np.random.default_rng(size).uniform(-0.22, 0.22, len(values))
                if len(values) > 1
                else [0.0]
            )
            ax.plot(
                size + np.asarray(shift),
                values,
                "o",
                color=line(0)["color"],
                alpha=0.55,
                markersize=5,
            )
        ax.axhline(0.5, color="#444444", linewidth=0.8, linestyle=":")
        ax.set_xticks(range(2, setting.members + 1))
        ax.set_title(f"{way[0]}, {way[1]}", fontsize=10)
        ax.set_xlabel("members of the subset")
    axes[0].set_ylabel("AUROC (EU, label-wise entropy)")
    axes[0].set_ylim(-0.05, 1.05)
    save_figure(figure, path)
