"""Dot-plots of the results page: the paper's numbers and ours, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..text import PARTS
from .intervals import simultaneous
from .provenance import TITLES, Results, in_words
from .published_tables import TABLE_1
from .records import Record, select
from .results_folder import save_figure
from .scores import MEASURES
from .tables import measure_in_words

__all__ = ["draw"]


def draw(folder: Results, pictures: Path) -> list[Path]:
    """Write the pictures whose results are there; returns their paths."""
    made = []
    for name, maker in (("results-table1.png", _table_1), ("results-arc.png", _areas)):
        figure = maker(folder)
        if figure is not None:
            pictures.mkdir(parents=True, exist_ok=True)
            save_figure(figure, pictures / name)
            made.append(pictures / name)
    return made


def _table_1(folder: Results) -> Any:
    """A panel for each pair of sets: mean ± deviation of each measure, and our single runs as
    dots.
    """
    from ..plotting import line, panels

    shown = {}
    for data, pairs in TABLE_1.items():
        for other, printed in pairs.items():
            series: dict[str, list[Record]] = {
                "paper": [{"mean": mean, "sd": sd, "runs": []} for mean, sd in printed.values()]
            }
            for name, stored in folder.find("ood", data):
                cells = select(stored["numbers"]["auroc"], set=other, part="epistemic")
                if cells:
                    series[in_words(name, stored, with_data=False)] = cells
            if len(series) > 1:
                shown[f"{TITLES[data]} → {TITLES[other]}"] = series
    if not shown:
        return None
    figure, axes = panels(len(shown), width=3.5, height=3.3, grid="x")
    for ax, (title, series) in zip(axes, shown.items(), strict=True):
        for i, (label, cells) in enumerate(series.items()):
            height = np.arange(len(MEASURES)) + 0.24 * (i - (len(series) - 1) / 2)
            color = "#444444" if i == 0 else line(i - 1)["color"]
            ax.errorbar(
                [cell["mean"] for cell in cells],
                height,
                xerr=np.array([cell["sd"] for cell in cells], dtype=float),  # NaN: none drawn
                label=label,
                linestyle="none",
                color=color,
                marker="D" if i == 0 else "o",
                markersize=5,
                capsize=3,
            )
            for at, cell in zip(height, cells, strict=True):
                at_each = [at + 0.08] * len(cell["runs"])
                ax.plot(cell["runs"], at_each, ".", color=color, markersize=3, alpha=0.6)
        ax.set_yticks(range(len(MEASURES)), MEASURES if ax is axes[0] else [""] * len(MEASURES))
        ax.invert_yaxis()
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("AUROC (EU), mean ± sd, runs", fontsize=9)
        ax.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return figure


def _areas(folder: Results) -> Any:
    """Differences of the area between the measures, with simultaneous intervals; settings with
    several runs only.
    """
    from ..plotting import line, panels, reach

    found = [(name, stored) for name, stored in folder.find("arc") if stored["about"]["runs"] > 1]
    if not found:
        return None
    figure, axes = panels(len(found), width=6.4, height=3.2, grid="x")
    for ax, (name, stored) in zip(axes, found, strict=True):
        cells = stored["numbers"]["area difference"]
        for i, part in enumerate(PARTS):
            for j, cell in enumerate(select(cells, part=part)):
                at = simultaneous(cell, len(cells))
                mean, low, high = (1000 * at[key] for key in ("mean", "low", "high"))
                ax.errorbar(
                    mean,
                    j + 0.2 * (i - 1),
                    xerr=reach(mean, low, high),
                    linestyle="none",
                    label=part if j == 0 else None,
                    color=line(i, part)["color"],
                    marker="os^"[i],
                    markersize=5,
                    capsize=3,
                )
        pairs = [measure_in_words(cell) for cell in select(cells, part="total")]
        ax.axvline(0, color="#444444", linewidth=0.8)
        ax.set_yticks(range(len(pairs)), pairs)
        ax.invert_yaxis()
        ax.set_title(in_words(name, stored), fontsize=10)
        ax.set_xlabel("difference of the area × 1000, simultaneous 95 % intervals", fontsize=9)
        ax.legend(frameon=False, fontsize=8)
    return figure
