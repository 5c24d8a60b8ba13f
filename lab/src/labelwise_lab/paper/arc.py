"""Accuracy–rejection curves (the paper's Fig. 3 and Appendix C.2): total, aleatoric and epistemic
uncertainty by three measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelwise import Ensemble
from labelwise.evaluation import rejection_curve
from labelwise.io import Predictions
from labelwise.typing import RejectionCurve

from ..statistics import mean_over_runs
from ..text import PARTS
from .prediction_files import effect_of_rounding
from .records import RunNumbers
from .results_folder import Options, predictions, record, save_figure
from .scores import MEASURES, accuracy_and_areas, differences, scores
from .settings import Setting, TestImages

__all__ = ["run"]

GRID = 50
"""Points of a drawn curve, as in the published code; areas are those of the full curve."""


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """Mean of the curves of several runs, as far as it is drawn, with its t-interval."""

    kind: str
    rejected: np.ndarray
    value: np.ndarray
    sd: np.ndarray
    """Standard deviation between runs (n − 1 in the denominator)."""
    low: np.ndarray
    high: np.ndarray
    random: float
    oracle: np.ndarray

    @property
    def band(self) -> MeanCurve:
        """The interval, where `plot_rejection` looks for it."""
        return self


def mean_curve(curves: list[RejectionCurve]) -> MeanCurve:
    """Mean, standard deviation and 95 % t-interval over runs with the same shares."""
    values = np.stack([curve.value for curve in curves])
    mean = mean_over_runs(values)
    return MeanCurve(
        curves[0].kind,
        curves[0].rejected,
        np.asarray(mean.value),
        values.std(axis=0, ddof=1),
        np.asarray(mean.low),
        np.asarray(mean.high),
        float(np.mean([curve.random for curve in curves])),
        np.mean([curve.oracle for curve in curves], axis=0),
    )


def monotonicity(curve: RejectionCurve) -> float:
    """How consistently rejecting more improves the rest: 1 if it never gets worse, 0 if it never
    improves, around ½ for an uninformative score, NaN if it is flat.

    Σ up / (Σ up + Σ down), where up is the height of a point above the lowest point before it and
    down its depth below the highest one (reversed for risk). Points are weighted by the number of
    kept instances, the inverse of their variance, so the noisy end counts little.
    """
    value = curve.value if curve.higher_is_better else -curve.value
    kept = (curve.n - curve.n_rejected).astype(float)
    up = kept @ (value - np.minimum.accumulate(value))
    down = kept @ (np.maximum.accumulate(value) - value)
    rounding = 1e-14 * kept @ np.abs(value)
    return float(up / (up + down)) if up + down > rounding else math.nan


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``arc.json`` and ``arc.png``; returns the numbers."""
    images = TestImages(setting.data)
    # A single run gets a bootstrap band over instances; several get the spread between runs.
    band: dict[str, Any] = {"rng": 0, "n_bootstrap": 300} if runs == 1 else {}
    found = RunNumbers()
    curves: dict[tuple[str, str], list[RejectionCurve]] = {}
    for r in range(runs):
        stored = predictions(setting, r, [images], options)[images]
        q, y = Ensemble(stored.probs), np.asarray(stored.y_true)
        correct = q.mean().argmax(-1) == y
        found.add("accuracy", correct.mean())
        found.add("accuracy of a member", (q.probs.argmax(-1) == y).mean())
        areas = {}
        for (measure, part), score in scores(q).items():
            full = rejection_curve(score, correct=correct)
            drawn = rejection_curve(score, correct=correct, grid=GRID, **band)
            about = {"measure": measure, "part": part}
            found.add("area", full.area, **about)
            found.add("share of the possible gain", full.normalized_area, **about)
            found.add("monotonicity", monotonicity(drawn), **about)
            areas[measure, part] = full.area
            curves.setdefault((measure, part), []).append(drawn)
        for difference in differences(areas):
            found.add("area difference", **difference)
    shown: dict[tuple[str, str], MeanCurve | RejectionCurve] = {
        key: each[0] if runs == 1 else mean_curve(each) for key, each in curves.items()
    }
    numbers = {
        **found.over_runs(),
        "effect of rounding": effect_of_rounding(setting, [images], options, _areas),
        "rejected": shown[MEASURES[0], PARTS[0]].rejected,
        "curves": [
            {
                "measure": measure,
                "part": part,
                "accuracy": curve.value,
                "sd": getattr(curve, "sd", None),
            }
            for (measure, part), curve in shown.items()
        ],
    }
    draw(shown, record(setting, "arc", numbers, options, runs=runs).with_suffix(".png"))
    return numbers


def _areas(stored: Predictions) -> list[float]:
    """All areas, for the effect of rounding."""
    q = Ensemble(stored.probs)
    return list(accuracy_and_areas(q, scores(q), np.asarray(stored.y_true))[1].values())


def draw(curves: dict[tuple[str, str], MeanCurve | RejectionCurve], path: Path) -> None:
    """Three panels, a line for each measure; the band is the 95 % interval over runs, or over
    instances for a single run.
    """
    from labelwise.plots import plot_rejection

    from ..plotting import panels

    figure, axes = panels(3, width=11 / 3, height=3.4, sharey=True)
    for ax, part in zip(axes, PARTS, strict=True):
        drawn: dict[str, Any] = {measure: curves[measure, part] for measure in MEASURES}
        plot_rejection(drawn, ax=ax)
        ax.set_title(f"{part} uncertainty", fontsize=10)
        if part != PARTS[0]:
            ax.set_ylabel("")
            ax.get_legend().remove()
    save_figure(figure, path)
