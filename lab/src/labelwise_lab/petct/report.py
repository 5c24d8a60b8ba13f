"""The report: figures, tables and recommended actions."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise._format import fixed, number
from labelwise._format import percent as as_percent
from labelwise.decisions import Costs, Decisions, decide
from labelwise.decisions.costs import Task
from labelwise.evaluation import rejection_curve
from labelwise.losses import LossName
from labelwise.plots import plot_rejection

from ..files import csv_text, replacing, write_file
from ..plotting import pyplot, tidy
from ..text import PARTS, enumerated
from ..validation import to_numpy
from .figures import plot_slices
from .results import Results, load_results, summarize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIAGNOSIS_COLUMNS = ("diagnosis", "studies", "found", "slices", "recall", *PARTS)


def disputed_labels(plan: Decisions, i: int) -> str:
    """For which labels the members lead to different actions, for one study of a plan with
    ``task="per_label"``.

    Where all members lead to the same action, the value of knowledge (epistemic uncertainty in
    units of cost) is 0. The other labels are named with theirs, the largest first.

    >>> q = lw.Ensemble(np.array([[[0.6, 0.3, 0.1]], [[0.2, 0.7, 0.1]]]), class_names=["lung cancer", "lymphoma", "melanoma"])
    >>> costs = lw.decisions.Costs(default=1)
    >>> disputed_labels(lw.decisions.decide(q, costs, task="per_label"), 0)
    'the members lead to different actions for lymphoma (epistemic 0.2) and lung cancer (0.1), and to the same for melanoma'
    """  # noqa: E501
    value = to_numpy(plan.value_of_knowledge)[i].astype(float)
    order = np.argsort(-value, kind="stable")
    disputed = [k for k in order if value[k] > 1e-9]
    agreed = [plan.class_names[k] for k in range(len(plan.class_names)) if k not in disputed]
    if not disputed:
        return f"the members lead to the same action for {enumerated(agreed)}"
    amounts = [
        f"{'epistemic ' if n == 0 else ''}{number(value[k], 2)}" for n, k in enumerate(disputed)
    ]
    named = [
        f"{plan.class_names[k]} ({amount})" for k, amount in zip(disputed, amounts, strict=True)
    ]
    same = f", and to the same for {enumerated(agreed)}" if agreed else ""
    return f"the members lead to different actions for {enumerated(named)}{same}"


def most_uncertain(results: Results, measure: str, n: int) -> np.ndarray:
    """Indices of the ``n`` most uncertain slices; the first of every study comes before further
    ones.
    """
    score = np.asarray(getattr(results.u.sum(), measure))
    order = np.argsort(-score, kind="stable")
    seen: dict[str, int] = {}
    for i in order:
        seen.setdefault(results.part.studies[i], int(i))
    first = list(seen.values())
    rest = [int(i) for i in order if int(i) not in set(first)]
    return np.array((first + rest)[:n])


def find_slices(results: Results, wanted: str) -> np.ndarray:
    """Index of a slice ("patient/study#plane"), or of the most suspicious slice of a study or of
    each study of a patient.
    """
    part = results.part
    if wanted in part.ids:
        return np.flatnonzero(part.ids == wanted)
    of = (part.patients == wanted) | (part.studies == wanted)
    if not of.any():
        raise ValueError(
            f"there is no test patient, study or slice {wanted!r}; patients are, for instance, "
            f"{', '.join(sorted(set(part.patients))[:3])}"
        )
    score = (
        part.lesion_voxels + np.asarray(results.u.sum().total) / 1e6
    )  # largest lesion; without lesions, highest uncertainty
    return np.array(
        [
            np.flatnonzero(part.studies == name)[np.argmax(score[part.studies == name])]
            for name in np.unique(part.studies[of])
        ]
    )


def write_report(
    folder: str | Path,
    trained: str | Path,
    out: str | Path,
    *,
    loss: LossName = "log",
    costs: Costs | None = None,
    cases: tuple[str, ...] = (),
    show: int = 6,
    rng: int = 0,
) -> dict[str, Any]:
    """Write figures, tables and ``index.html`` to ``out``; return the numbers, which are also in
    ``summary.json``.

    Parameters
    ----------
    folder, trained
        Written by `prepare` and `train`.
    out : path
    loss : str
        Loss of the uncertainty measures.
    costs : Costs, optional
        Recommend actions: per label, with what the members disagree about (``missed`` and
        ``false_alarm``), or a diagnosis (a matrix).
    cases : tuple of str
        Patients, "patient/study" or "patient/study#plane" to draw.
    show : int
        Number of most uncertain slices per page.
    rng : int
        Random seed for the bootstrap intervals.
    """
    results = load_results(folder, trained, loss)
    chosen = [(case, find_slices(results, case)) for case in cases]
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    numbers = summarize(results, rng=rng)
    figures: list[tuple[str, str]] = []
    for i, (case, indices) in enumerate(chosen):
        figures.append((f"case-{i + 1}.png", case))
        _save(
            plot_slices(
                results.prepared, results.part, results.u, indices, y_pred=results.prediction
            ),
            out / figures[-1][0],
        )
    for m in PARTS:
        figures.append((f"highest-{m}.png", f"Highest {m} uncertainty"))
        indices = most_uncertain(results, m, show)
        page = plot_slices(
            results.prepared, results.part, results.u, indices, y_pred=results.prediction, columns=2
        )
        _save(page, out / figures[-1][0])
    figures.append(("rejection.png", "Accuracy after rejecting the most uncertain slices"))
    _save(_rejection(results, rng), out / figures[-1][0])
    if costs is not None:
        numbers["actions"] = _actions(results, costs, out / "decisions.csv")
    write_file(out / "summary.json", json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
    write_file(out / "index.html", _page(numbers, figures))
    return numbers


def _rejection(results: Results, rng: int) -> Figure:
    correct, total = results.prediction == results.part.y, results.u.sum()
    several = len(np.unique(results.part.patients)) > 1
    groups: Any = (
        {"groups": results.part.patients, "rng": rng, "n_bootstrap": 500} if several else {}
    )
    figure: Figure = pyplot().figure(figsize=(5.0, 3.6), layout="constrained")
    ax = figure.add_subplot()
    tidy(ax)
    plot_rejection(
        {m: rejection_curve(getattr(total, m), correct=correct, **groups) for m in PARTS}, ax=ax
    )
    return figure


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=160)
    pyplot().close(figure)


def _actions(results: Results, costs: Costs, path: Path) -> list[dict[str, Any]]:
    """Recommended action and disputed labels for each study; also written as a table."""
    task: Task = "per_label" if costs.fits("per_label") else "multiclass"
    plan = decide(results.studies.distribution(), costs, task=task)
    rows = [
        {
            "study": str(name),
            "diagnosis": results.part.diagnoses[str(name)],
            "decision": plan.explain(i),
            "disputed": disputed_labels(plan, i) if task == "per_label" else "",
        }
        for i, name in enumerate(np.asarray(results.studies.ids))
    ]
    text = csv_text(
        ("study", "diagnosis", "decision", "disputed"),
        [list(row.values()) for row in rows],
    )
    write_file(path, text)
    return rows


def _page(numbers: dict[str, Any], figures: list[tuple[str, str]]) -> str:
    """The HTML page: without scripts, all names escaped."""
    e = html.escape
    style = (
        "body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 "
        "1em}img{max-width:100%}td,th{padding:.2em "
        ".8em;text-align:right}td:first-child,th:first-child{text-align:left}"
    )
    lines = [
        (
            "<!doctype html><html lang=en><meta "
            f"charset=utf-8><title>PET/CT</title><style>{style}</style><h1>PET/CT</h1>"
        )
    ]
    lines += [f"<p>{e(line)}</p>" for line in sentences(numbers)]
    lines.append(
        "<h2>Diagnoses</h2><table><tr>"
        + "".join(f"<th>{name}</th>" for name in DIAGNOSIS_COLUMNS)
        + "</tr>"
    )
    lines += [
        "<tr>" + "".join(f"<td>{e(cell)}</td>" for cell in row) + "</tr>"
        for row in diagnosis_rows(numbers)
    ]
    lines.append("</table>")
    if "actions" in numbers:
        lines.append("<h2>What to do</h2><ul>")
        lines += [
            (
                f"<li><b>{e(a['study'])}</b> ({e(a['diagnosis'])}): "
                f"{e(a['decision'])}{'. ' + e(a['disputed']) if a['disputed'] else ''}</li>"
            )
            for a in numbers["actions"]
        ]
        lines.append("</ul>")
    lines += [
        f"<h2>{e(title)}</h2><img src={e(name)!r} alt={e(title)!r}>" for name, title in figures
    ]
    return "\n".join(lines) + "</html>\n"


def sentences(numbers: dict[str, Any]) -> list[str]:
    """The most important numbers in sentences."""
    lines = [
        f"{numbers['slices']:,} slices of {numbers['patients']} test patients: accuracy "
        f"{_format(numbers['accuracy'])}; predicting the "
        f"majority class: {as_percent(numbers['majority_class_accuracy'])}, a gain of "
        f"{_format(numbers['gain_over_majority_class'])}.",
        f"{numbers['studies']} studies: accuracy {_format(numbers['study_accuracy'])}.",
    ]
    if "held_back" in numbers:
        held = numbers["held_back"]
        for unit, what in (("studies", "studies"), ("slices", "slices with lesions")):
            if unit in held:
                found = "; ".join(
                    f"{m} {_format(held[unit]['auroc'][m], percent=False)}" for m in PARTS
                )
                lines.append(
                    f"Held back: {', '.join(held['diagnoses'])}, {held['patients']} patients; "
                    f"{held[unit]['held_back']} {what} against "
                    f"{held[unit]['known']} of known diseases, AUROC by uncertainty: {found}."
                )
    lines.append("Intervals: 95 %, bootstrap over patients.")
    return lines


def _format(estimate: dict[str, float | None] | None, *, percent: bool = True) -> str:
    if estimate is None:
        return "unknown"

    def text(x: float | None) -> str:
        return as_percent(x) if percent else fixed(x, 3)

    interval = [text(x) for x in (estimate["low"], estimate["high"]) if x is not None]
    return text(estimate["value"]) + (f" [{', '.join(interval)}]" if interval else "")


def diagnosis_rows(numbers: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the table of diagnoses, as text; see ``DIAGNOSIS_COLUMNS``."""
    return [
        (
            row["diagnosis"],
            str(row["studies"]),
            str(row["studies_found"]),
            str(row["slices"]),
            _format(row["recall"]),
            *(fixed(row[m], 3) for m in PARTS),
        )
        for row in numbers["diagnoses"]
    ]
