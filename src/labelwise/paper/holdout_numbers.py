"""Numbers and figures of the hold-out experiment, from our own runs or from the arrays that the authors published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.npz import read_npz
from .holdout_drops import Drops, drops, excess, log_ratios
from .results_folder import over_runs, save_figure

if TYPE_CHECKING:
    from .holdout import Run

__all__ = ["draw", "numbers_of", "published", "table_of"]

# arm -> the arm it is compared with; the class compared is that of the arm
CONTROLS = {**dict.fromkeys(("swap", "old-pool", "random-class", "half"), "no-swap"), "swap-constant": "no-swap-constant"}


def numbers_of(runs: Sequence[Run]) -> dict[str, Any]:
    """All numbers of the experiment: Table 2 as the paper has it and for each arm, and the paired effects."""
    before = np.stack([run.before.mean(axis=0) for run in runs])
    arms = list(runs[0].after)
    after = {name: np.stack([run.after[name].mean(axis=0) for run in runs]) for name in arms}
    label = {name: np.array([run.labels[name] for run in runs]) for name in arms}
    own_means = [[run.before[run.y_true == k, k].mean() for k in range(before.shape[1])] for run in runs]
    numbers: dict[str, Any] = {
        "selected": np.array([run.labels["swap"] for run in runs]),
        "selected, mean over own instances": np.argmax(own_means, axis=1),  # as the paper's text has it
        "accuracy": over_runs([{name: run.accuracy[name] for name in ("before", *arms)} for run in runs]),
        "mean EU before": before,
        "mean EU after": after,
        "label": label,
        "table": {name: table_of(drops(before, after[name], selected=label[name])) for name in arms},
        "effect": {},
        "effect on other classes": {},
    }
    for name, control in CONTROLS.items():
        if name in after and control in after:
            numbers["effect"][f"{name} − {control}"] = over_runs(log_ratios(after[name], after[control], label[name]))
            others = [np.delete(np.log(a) - np.log(c), k).mean() for a, c, k in zip(after[name], after[control], label[name], strict=True)]
            numbers["effect on other classes"][f"{name} − {control}"] = over_runs(others)
    if "half" in after:  # selected on one half of the test set, judged on the other
        start = np.stack([run.before[run.second_half].mean(axis=0) for run in runs])
        end, without = (np.stack([run.after[name][run.second_half].mean(axis=0) for run in runs]) for name in ("half", "no-swap"))
        numbers["effect"]["half − no-swap, other half"] = over_runs(log_ratios(end, without, label["half"]))
        numbers["table"]["half, other half"] = table_of(drops(start, end, selected=label["half"]))
    return numbers


def table_of(d: Drops) -> dict[str, Any]:
    """Table 2 with correct deviations (n in the denominator, as there), and what a line fitted to the other classes predicts."""
    more = excess(d)
    return {
        "drop": {
            kind: {name: {"mean": x.mean(), "sd": x.std(), "runs": x} for name, x in columns.items()} for kind, columns in d.table().items()
        },
        "selected has the largest drop": {kind: d.largest(kind) for kind in ("absolute", "relative")},
        "EU of another class rises": list(d.rises),
        "predicted by the other classes": more.predicted_share,
        "excess": more.excess,
        "extrapolated": more.extrapolated,
    }


def published(path: Path) -> tuple[dict[str, Any], Drops]:
    """The numbers of Table 2 from the authors' stored arrays: ``eus_before`` and ``eus_after``, (runs, test instances, labels)."""
    arrays = read_npz(path, ["eus_before", "eus_after"])
    if set(arrays) != {"eus_before", "eus_after"}:
        raise ValueError(f"{path.name} must hold `eus_before` and `eus_after`; it holds {', '.join(arrays) or 'neither'}")
    d = drops(arrays["eus_before"].astype(float), arrays["eus_after"].astype(float))
    return table_of(d), d


def draw(runs: Sequence[Run], path: Path) -> None:
    """ECDFs over test instances, averaged over runs: the selected class (left) and the others (right), before and after each main arm."""
    from ..plots._style import line, pyplot, tidy

    arms = [name for name in ("swap", "no-swap", "old-pool") if name in runs[0].after]
    series = {"before": [run.before for run in runs]} | {name: [run.after[name] for run in runs] for name in arms}
    selected = [run.labels["swap"] for run in runs]
    values = np.concatenate([x.ravel() for x in series["before"]])
    grid = np.geomspace(max(float(np.quantile(values, 0.05)), 1e-6), float(values.max()), 400)
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    for ax, own in zip(axes, (True, False), strict=True):
        tidy(ax)
        for i, (name, arrays) in enumerate(series.items()):
            columns = [x[:, k] if own else np.delete(x, k, axis=1) for x, k in zip(arrays, selected, strict=True)]
            curve = np.mean([np.searchsorted(np.sort(c.ravel()), grid, side="right") / c.size for c in columns], axis=0)
            ax.plot(grid, curve, label=name.replace("-", " "), **line(i))
        ax.set_title("class with the highest EU" if own else "other classes", fontsize=10)
        ax.set_xlabel("label-wise EU (variance)")
        ax.set_xscale("log")
    axes[0].set_ylabel("share of test instances")
    axes[1].legend(frameon=False, fontsize=9, loc="lower right")
    save_figure(figure, path)
