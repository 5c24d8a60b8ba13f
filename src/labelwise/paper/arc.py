"""Accuracy–rejection curves (the paper's Fig. 3 and Appendix C.2): total, aleatoric and epistemic uncertainty by three measures."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from ..decomposition import PARTS
from ..distributions import Ensemble
from ..evaluation import MeanCurve, RejectionCurve, mean_curve, rejection_curve
from .results_folder import Options, over_runs, predictions, record
from .scores import MEASURES, scores
from .settings import Setting, Source

GRID = 50
"""Points of a drawn curve, as in the published code; areas are those of the full curve."""

Curves = dict[tuple[str, str], MeanCurve | RejectionCurve]


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``arc.json`` and ``arc.png``; returns the numbers."""
    source = Source(setting.data)
    accuracy, members = [], []
    curves, full = ({(measure, part): list[RejectionCurve]() for measure in MEASURES for part in PARTS} for _ in range(2))
    for r in range(runs):
        stored = predictions(setting, r, [source], options)[source]
        q, y = Ensemble(stored.probs), np.asarray(stored.y_true)
        correct = q.mean().argmax(-1) == y
        accuracy.append(correct.mean())
        members.append((q.probs.argmax(-1) == y).mean())
        for key, score in scores(q).items():
            full[key].append(rejection_curve(score, correct=correct))
            # one run alone gets a bootstrap band over instances; several get the spread between runs
            curves[key].append(rejection_curve(score, correct=correct, grid=GRID, n_bootstrap=300 if runs == 1 else 0, rng=0))
    shown: Curves = {key: found[0] if runs == 1 else mean_curve(found) for key, found in curves.items()}
    numbers = {
        "accuracy": over_runs(accuracy),
        "accuracy of a member": over_runs(members),
        "area": {key: over_runs([curve.area for curve in found]) for key, found in full.items()},
        "share of the possible gain": {key: over_runs([curve.normalized_area for curve in found]) for key, found in full.items()},
        "monotonicity": {key: over_runs([curve.monotonicity for curve in found]) for key, found in curves.items()},
        "area difference": {
            (f"{a} − {b}", part): over_runs([x.area - y.area for x, y in zip(full[a, part], full[b, part], strict=True)])
            for a, b in itertools.combinations(MEASURES, 2)
            for part in PARTS
        },
        "rejected": shown[MEASURES[0], PARTS[0]].rejected,
        "curves": {key: {"accuracy": curve.value, "sd": getattr(curve, "sd", None)} for key, curve in shown.items()},
    }
    path = record(setting, "arc", numbers, options, runs=runs)
    draw(shown, path.with_suffix(".png"))
    return numbers


def draw(curves: Curves, path: Path) -> None:
    """Three panels, a line for each measure; the band is the 95 % interval over runs, or over instances for a single run."""
    from ..plots import plot_rejection
    from ..plots._style import pyplot, tidy

    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
    for ax, part in zip(axes, PARTS, strict=True):
        tidy(ax)
        plot_rejection({measure: curves[measure, part] for measure in MEASURES}, ax=ax)
        ax.set_title(f"{part} uncertainty", fontsize=10)
        if part != PARTS[0]:
            ax.set_ylabel("")
            ax.get_legend().remove()
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a figure, without the date and version that would make each file differ."""
    from ..io.atomic import replacing
    from ..plots._style import pyplot

    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})
    pyplot().close(figure)
