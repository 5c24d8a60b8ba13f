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
from .records import Record, RunNumbers, estimate
from .results_folder import Options, available, predictions, record, save_figure
from .scores import MEASURES, Scores, aurocs, differences, scores
from .settings import DATA, Setting, TestImages

__all__ = ["run"]


def run(setting: Setting, runs: int, options: Options, first_run: int = 0) -> dict[str, Any]:
    """Train what is missing; write ``ood.json`` and ``ood.png``; returns the numbers.

    Runs before ``first_run`` are used if they are stored. Where one is not, as for the fresh runs
    of a candidate (`fingerprint`), the others are trained and nothing is written about them.
    """
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
    wanted = [inside, *outside]
    here = [all(options.path(setting, r, x).exists() for x in wanted) for r in range(first_run)]
    if not all(here):
        for r in range(first_run, runs):
            predictions(setting, r, wanted, options)
        return {}
    found = RunNumbers()
    first: dict[TestImages, Scores] = {}
    for r in range(runs):
        stored = predictions(setting, r, wanted, options)
        of: dict[TestImages, Scores] = {
            images: scores(Ensemble(p.probs)) for images, p in stored.items()
        }
        first = first or of
        predicted = Ensemble(stored[inside].probs).mean().argmax(-1)
        found.add("accuracy", np.mean(predicted == np.asarray(stored[inside].y_true)))
        for images in outside:
            values = aurocs(of[inside], of[images])
            for (measure, part), value in values.items():
                found.add("auroc", value, set=images.data, measure=measure, part=part)
            for difference in differences(values):
                found.add("auroc difference", set=images.data, **difference)
    numbers = {
        "auroc": [],
        "auroc difference": [],
        **found.over_runs(),
        "auroc difference, instances of run 0": _over_instances(first, inside, outside),
        "auroc by members": _by_members(setting, inside, outside, options),
        "not run": absent,
    }
    if outside:
        numbers["effect of rounding"] = effect_of_rounding(
            setting, [inside, *outside], options, _aurocs
        )
    path = record(setting, "ood", numbers, options, runs=runs)
    if outside:
        draw(first, inside, outside, path.with_suffix(".png"))
    return numbers


def _over_instances(
    first: dict[TestImages, Scores], inside: TestImages, outside: list[TestImages]
) -> list[Record]:
    """Differences between the measures within the first run, over the test instances: another kind
    of variation than that between trainings.
    """
    found = []
    for images in outside:
        for a, b in combinations(MEASURES, 2):
            compared = compare_detection(
                first[inside][a, "epistemic"],
                first[images][a, "epistemic"],
                first[inside][b, "epistemic"],
                first[images][b, "epistemic"],
            )
            about = {"set": images.data, "measure": a, "minus": b}
            found.append(about | estimate(compared))
    return found


def _by_members(
    setting: Setting, inside: TestImages, outside: list[TestImages], options: Options
) -> list[Record]:
    """AUROC of EU in run 0, averaged over all subsets of so many members."""
    stored = predictions(setting, 0, [inside, *outside], options)
    found: list[Record] = []
    for size in range(2, setting.members + 1):
        values: dict[tuple[str, str], list[float]] = {}
        for group in combinations(range(setting.members), size):
            of = {
                images: scores(Ensemble(np.asarray(p.probs)[list(group)]))
                for images, p in stored.items()
            }
            for images in outside:
                for (measure, _), auroc in aurocs(of[inside], of[images], ["epistemic"]).items():
                    values.setdefault((images.data, measure), []).append(auroc)
        found += [
            {"set": name, "measure": measure, "members": size, "value": float(np.mean(each))}
            for (name, measure), each in values.items()
        ]
    return found


def _aurocs(inside: Predictions, *outside: Predictions) -> list[float]:
    """All AUROCs, for the effect of rounding."""
    reference = scores(Ensemble(inside.probs))
    return [
        auroc for p in outside for auroc in aurocs(reference, scores(Ensemble(p.probs))).values()
    ]


def draw(
    found: dict[TestImages, Scores], inside: TestImages, outside: list[TestImages], path: Path
) -> None:
    """ROC curves of the epistemic uncertainty in the first run, a panel for each set."""
    from sklearn.metrics import roc_curve

    from ..plotting import line, panels

    figure, axes = panels(len(outside), width=4.2, height=4)
    for ax, images in zip(axes, outside, strict=True):
        values = aurocs(found[inside], found[images])
        for i, measure in enumerate(MEASURES):
            low, high = found[inside][measure, "epistemic"], found[images][measure, "epistemic"]
            truth = np.repeat([0, 1], [len(low), len(high)])
            false, true, _ = roc_curve(truth, np.concatenate([low, high]))
            label = f"{measure} ({values[measure, 'epistemic']:.3f})"
            ax.plot(false, true, label=label, **line(i))
        ax.plot([0, 1], [0, 1], color="#999999", linewidth=1)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.set_aspect("equal")
        ax.legend(title="AUROC", frameon=False, fontsize=9)
        ax.set_title(f"{inside.data} against {images.data}", fontsize=10)
    save_figure(figure, path)
