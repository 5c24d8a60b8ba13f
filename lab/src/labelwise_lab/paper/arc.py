"""Accuracy–rejection curves (the paper's Fig. 3 and Appendix C.2): total, aleatoric and epistemic
uncertainty by three measures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Ensemble
from labelwise.evaluation import MeanCurve, RejectionCurve, mean_curve, rejection_curve
from labelwise.io import Predictions

from ..text import PARTS
from .prediction_files import effect_of_rounding
from .results_folder import Options, over_runs, predictions, record, save_figure
from .scores import MEASURES, accuracy_and_areas, differences, scores
from .settings import Setting, TestImages

__all__ = ["run"]

GRID = 50
"""Points of a drawn curve, as in the published code; areas are those of the full curve."""


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``arc.json`` and ``arc.png``; returns the numbers."""
    images = TestImages(setting.data)
    found: list[dict[str, Any]] = []
    curves: list[dict[tuple[str, str], RejectionCurve]] = []
    for r in range(runs):
        stored = predictions(setting, r, [images], options)[images]
        q, y = Ensemble(stored.probs), np.asarray(stored.y_true)
        correct, of = q.mean().argmax(-1) == y, scores(q)
        full = {key: rejection_curve(score, correct=correct) for key, score in of.items()}
        # A single run gets a bootstrap band over instances; several get the spread between runs.
        band: dict[str, Any] = {"rng": 0, "n_bootstrap": 300} if runs == 1 else {}
        curves.append(
            {
                key: rejection_curve(score, correct=correct, grid=GRID, **band)
                for key, score in of.items()
            }
        )
        areas = {key: curve.area for key, curve in full.items()}
        found.append(
            {
                "accuracy": correct.mean(),
                "accuracy of a member": (q.probs.argmax(-1) == y).mean(),
                "area": areas,
                "share of the possible gain": {
                    key: curve.normalized_area for key, curve in full.items()
                },
                "monotonicity": {key: curve.monotonicity for key, curve in curves[-1].items()},
                "area difference": differences(areas),
            }
        )
    shown = {
        key: curves[0][key] if runs == 1 else mean_curve([each[key] for each in curves])
        for key in curves[0]
    }
    numbers = {
        **over_runs(found),
        "effect of rounding": effect_of_rounding(setting, [images], options, _rounded),
        "rejected": shown[MEASURES[0], PARTS[0]].rejected,
        "curves": {
            key: {"accuracy": curve.value, "sd": getattr(curve, "sd", None)}
            for key, curve in shown.items()
        },
    }
    draw(shown, record(setting, "arc", numbers, options, runs=runs).with_suffix(".png"))
    return numbers


def _rounded(stored: Predictions) -> dict[Any, float]:
    """All areas, for the effect of rounding."""
    q = Ensemble(stored.probs)
    return accuracy_and_areas(q, scores(q), np.asarray(stored.y_true))[1]


def draw(curves: dict[tuple[str, str], MeanCurve | RejectionCurve], path: Path) -> None:
    """Three panels, a line for each measure; the band is the 95 % interval over runs, or over
    instances for a single run.
    """
    from labelwise.plots import plot_rejection

    from ..plotting import pyplot, tidy

    figure, axes = pyplot().subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
    for ax, part in zip(axes, PARTS, strict=True):
        tidy(ax)
        plot_rejection({measure: curves[measure, part] for measure in MEASURES}, ax=ax)
        ax.set_title(f"{part} uncertainty", fontsize=10)
        if part != PARTS[0]:
            ax.set_ylabel("")
            ax.get_legend().remove()
    save_figure(figure, path)
