"""Out-of-distribution detection (the paper's Table 1): AUROC of three measures, epistemic as in its caption and total as in its text."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from ..decomposition import PARTS
from ..distributions import Ensemble
from ..evaluation import compare_detection, detection_scores
from .arc import save
from .ensemble_sizes import by_members
from .results_folder import Options, available, over_runs, predictions, record
from .scores import MEASURES, Scores, scores
from .settings import DATA, Setting, Source


def run(setting: Setting, runs: int, options: Options) -> dict[str, Any]:
    """Train what is missing; write ``ood.json`` and ``ood.png``; returns the numbers."""
    if not DATA[setting.data]:
        raise ValueError(f"there is no out-of-distribution experiment for {setting.data}; there are " + _choices())
    inside = Source(setting.data)
    outside, absent = available(setting, [Source(name) for name in DATA[setting.data]], runs, options)
    found: list[dict[Source, Scores]] = []
    accuracy = []
    members: dict[Source, list[np.ndarray]] = {source: [] for source in (inside, *outside)}
    for r in range(runs):
        stored = predictions(setting, r, [inside, *outside], options)
        accuracy.append((Ensemble(stored[inside].probs).mean().argmax(-1) == np.asarray(stored[inside].y_true)).mean())
        found.append({source: scores(Ensemble(p.probs)) for source, p in stored.items()})
        for source, p in stored.items():
            members[source].append(np.asarray(p.probs))
    numbers: dict[str, Any] = {
        "accuracy": over_runs(accuracy),
        "auroc": {
            (source.data, measure, part): over_runs([_auroc(run, inside, source, (measure, part)) for run in found])
            for source in outside
            for measure in MEASURES
            for part in PARTS
        },
        "auroc difference": {
            (source.data, f"{a} − {b}", part): over_runs(
                [_auroc(run, inside, source, (a, part)) - _auroc(run, inside, source, (b, part)) for run in found]
            )
            for source in outside
            for a, b in itertools.combinations(MEASURES, 2)
            for part in PARTS
        },
        # within the first run, over the test instances: another source of spread than that between trainings
        "auroc difference, instances of run 0": {
            (source.data, f"{a} − {b}"): compare_detection(
                found[0][inside][a, "epistemic"],
                found[0][source][a, "epistemic"],
                found[0][inside][b, "epistemic"],
                found[0][source][b, "epistemic"],
            ).auroc
            for source in outside
            for a, b in itertools.combinations(MEASURES, 2)
        },
        "not run": absent,
    }
    if runs > 1 and outside:
        numbers["auroc by members"] = by_members({source: np.concatenate(parts) for source, parts in members.items()}, inside, outside)
    path = record(setting, "ood", numbers, options, runs=runs)
    if outside:
        draw(found[0], inside, outside, path.with_suffix(".png"))
    return numbers


def _auroc(run: dict[Source, Scores], inside: Source, outside: Source, key: tuple[str, str]) -> float:
    return float(detection_scores(run[inside][key], run[outside][key]).auroc)


def _choices() -> str:
    return ", ".join(f"{name} ({', '.join(others)})" for name, others in DATA.items() if others)


def draw(found: dict[Source, Scores], inside: Source, outside: list[Source], path: Path) -> None:
    """ROC curves of the epistemic uncertainty in the first run, a panel for each set."""
    from ..plots import plot_roc
    from ..plots._style import pyplot, tidy

    figure, axes = pyplot().subplots(1, len(outside), figsize=(4.2 * len(outside), 4), layout="constrained", squeeze=False)
    for ax, source in zip(axes[0], outside, strict=True):
        tidy(ax)
        plot_roc({m: (found[inside][m, "epistemic"], found[source][m, "epistemic"]) for m in MEASURES}, ax=ax)
        ax.set_title(f"{inside.data} against {source.data}", fontsize=10)
    save(figure, path)
