"""Out-of-distribution detection (the paper's Table 1): AUROC of three measures, epistemic as in its
caption and total as in its text.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Ensemble
from labelwise.evaluation import compare_detection
from labelwise.io import Predictions

from .prediction_files import effect_of_rounding
from .results_folder import Options, available, over_runs, predictions, record, save_figure
from .scores import MEASURES, Scores, aurocs, differences, scores
from .settings import DATA, Setting, TestImages

__all__ = ["run"]


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``ood.json`` and ``ood.png``; returns the numbers."""
    if not DATA[setting.data]:
        choices = ", ".join(
            f"{name} ({', '.join(others)})" for name, others in DATA.items() if others
        )
        raise ValueError(
            f"there is no out-of-distribution experiment for {setting.data}; there are {choices}"
        )
    inside = TestImages(setting.data)
    outside, absent = available(
        setting, [TestImages(name) for name in DATA[setting.data]], runs, options
    )
    found: list[dict[str, Any]] = []
    first: dict[TestImages, Scores] = {}
    for r in range(runs):
        stored = predictions(setting, r, [inside, *outside], options)
        of: dict[TestImages, Scores] = {
            images: scores(Ensemble(p.probs)) for images, p in stored.items()
        }
        first = first or of
        each = {images.data: aurocs(of[inside], of[images]) for images in outside}
        found.append(
            {
                "accuracy": (
                    Ensemble(stored[inside].probs).mean().argmax(-1)
                    == np.asarray(stored[inside].y_true)
                ).mean(),
                "auroc": {
                    (name, *key): value
                    for name, values in each.items()
                    for key, value in values.items()
                },
                "auroc difference": {
                    (name, *key): value
                    for name, values in each.items()
                    for key, value in differences(values).items()
                },
            }
        )
    numbers = over_runs(found)
    # Within the first run, over the test instances: another kind of variation than that between
    # trainings.
    numbers["auroc difference, instances of run 0"] = {
        (images.data, f"{a} − {b}"): compare_detection(
            *(
                first[where][measure, "epistemic"]
                for measure in (a, b)
                for where in (inside, images)
            )
        ).auroc
        for images in outside
        for a, b in combinations(MEASURES, 2)
    }
    numbers["auroc by members"] = _by_members(setting, inside, outside, options)
    numbers["not run"] = absent
    if outside:
        numbers["effect of rounding"] = effect_of_rounding(
            setting, [inside, *outside], options, _rounded
        )
    path = record(setting, "ood", numbers, options, runs=runs)
    if outside:
        draw(first, inside, outside, path.with_suffix(".png"))
    return numbers


def _by_members(
    setting: Setting, inside: TestImages, outside: list[TestImages], options: Options
) -> dict[tuple[str, str, str], float]:
    """(set, measure, size) -> AUROC of EU in run 0, averaged over all subsets of so many
    members.
    """
    stored = predictions(setting, 0, [inside, *outside], options)
    found: dict[tuple[str, str, str], float] = {}
    for size in range(2, setting.members + 1):
        each = []
        for group in combinations(range(setting.members), size):
            of = {
                images: scores(Ensemble(np.asarray(p.probs)[list(group)]))
                for images, p in stored.items()
            }
            each.append(
                {
                    (images.data, m): value
                    for images in outside
                    for (m, _), value in aurocs(of[inside], of[images], ["epistemic"]).items()
                }
            )
        found |= {
            (*key, str(size)): float(np.mean([values[key] for values in each])) for key in each[0]
        }
    return found


def _rounded(inside: Predictions, *outside: Predictions) -> dict[Any, float]:
    """All AUROCs, for the effect of rounding."""
    of = [scores(Ensemble(p.probs)) for p in (inside, *outside)]
    return {
        (i, *key): value
        for i, each in enumerate(of[1:])
        for key, value in aurocs(of[0], each).items()
    }


def draw(
    found: dict[TestImages, Scores], inside: TestImages, outside: list[TestImages], path: Path
) -> None:
    """ROC curves of the epistemic uncertainty in the first run, a panel for each set."""
    from labelwise.plots import plot_roc

    from ..plotting import pyplot, tidy

    figure, axes = pyplot().subplots(
        1, len(outside), figsize=(4.2 * len(outside), 4), layout="constrained", squeeze=False
    )
    for ax, images in zip(axes[0], outside, strict=True):
        tidy(ax)
        plot_roc(
            {m: (found[inside][m, "epistemic"], found[images][m, "epistemic"]) for m in MEASURES},
            ax=ax,
        )
        ax.set_title(f"{inside.data} against {images.data}", fontsize=10)
    save_figure(figure, path)
