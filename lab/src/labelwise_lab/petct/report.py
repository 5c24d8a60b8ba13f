"""The report: figures of cases, numbers, and the library's page about the studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.decisions import Costs
from labelwise.report import write_report as write_page
from labelwise.typing import Estimate

from ..files import replacing, write_file
from ..plotting import pyplot
from ..text import PARTS
from .figures import plot_slices
from .manifest import HELD_BACK, open_prepared
from .results import Results, load_results, predicted_class, summarize

PAGE = "studies.html"
_SMALL_TEXT = {"font.size": 8, "axes.titlesize": 8}


def write_report(
    folder: str | Path,
    trained: str | Path,
    out: str | Path,
    *,
    loss: Any = "log",
    costs: Costs | None = None,
    cases: tuple[str, ...] = (),
    show: int = 6,
) -> dict[str, Any]:
    """Write figures, the interactive page ``studies.html`` and ``summary.json`` to ``out``; return
    the numbers of the latter.

    Parameters
    ----------
    folder, trained
        Written by `prepare` and `train`.
    out : path
    loss : str
        Loss of the uncertainty measures.
    costs : Costs, optional
        Of choosing one diagnosis, for the page.
    cases : tuple of str
        Patients, "patient/study" or "patient/study#plane" to draw, of the test patients or of the
        held-back ones.
    show : int
        Number of most uncertain studies to draw.
    """
    prepared, out = open_prepared(folder), Path(out)
    results = load_results(prepared, Path(trained), loss)
    test = results["test"]
    figures = {"most-uncertain": (test, list(test.uncertain_planes.values())[:show])}
    for i, case in enumerate(cases, 1):
        figures[f"case-{i}"] = find_slices(results, case)
    numbers = summarize(results)
    out.mkdir(parents=True, exist_ok=True)
    for name, (shown, indices) in figures.items():
        y_pred = predicted_class(shown.slices)
        with pyplot().rc_context(_SMALL_TEXT), replacing(out / f"{name}.png") as file:
            figure = plot_slices(prepared, shown.part, shown.u, indices, y_pred=y_pred)
            figure.savefig(file, dpi=160, bbox_inches="tight")
            pyplot().close(figure)
    unknown = {name: part.studies for name, part in results.items() if name == HELD_BACK}
    write_page(out / PAGE, test.studies, ood=unknown, costs=costs, title="PET/CT studies")
    write_file(out / "summary.json", json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
    return numbers


def find_slices(results: dict[str, Results], wanted: str) -> tuple[Results, list[int]]:
    """A slice ("patient/study#plane"), or the most uncertain slice of a study or of each study of a
    patient, as indices into the part that has it.
    """
    for found in results.values():
        indices = np.flatnonzero(found.part.ids == wanted).tolist()
        for i in found.uncertain_planes.values():
            if wanted in (found.part.studies[i], found.part.patients[i]):
                indices.append(i)
        if indices:
            return found, indices
    raise ValueError(
        f"there is no test or held-back patient, study or slice {wanted!r}; slices are, for "
        f"instance, {results['test'].part.ids[0]!r}"
    )


def sentences(numbers: dict[str, Any]) -> list[str]:
    """The most important numbers in sentences; intervals are over patients."""
    lines = [f"{numbers['patients']} test patients"]
    for unit in ("slices", "studies"):
        accuracy = Estimate(**numbers[unit]["accuracy"])
        lines.append(f"{numbers[unit]['n']:,} {unit}: accuracy {accuracy}")
    for unit, row in numbers.get("held_back", {}).items():
        lines.append(
            f"{row['held_back']} held-back {unit} against {row['known']} of known diseases, AUROC"
        )
        for m in PARTS:
            lines.append(f"  by {m} uncertainty: {Estimate(**row[m])}")
    return lines
