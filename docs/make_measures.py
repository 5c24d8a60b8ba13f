"""Writes the tables of docs/reference/measures.md: python docs/make_measures.py

Names and numbers come from `labelwise.evaluation.compare_measures` on the bundled predictions, the
verdicts from `labelwise.axioms.check`; the formulas are here, and recomputed in
tests/evaluation/test_measures.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import labelwise as lw
from labelwise.typing import AxiomTable, Components, MeasureComparison

PAGE = Path(__file__).parent / "reference" / "measures.md"
LABEL_LOSSES = ("log", "squared", "spherical", "zero_one")
JOINT_LOSSES = ("log", "spherical", "zero_one")
PARTS = {"total": "TU", "aleatoric": "AU", "epistemic": "EU"}
LABEL_FORMULAS = {
    "total": r"G(\bar\theta_k)",
    "aleatoric": r"\mathbb{E}\,G(\Theta_k)",
    "epistemic": r"\mathbb{E}\,D(\Theta_k \Vert \bar\theta_k)",
}
JOINT_FORMULAS = {
    "total": r"G(\bar\theta)",
    "aleatoric": r"\mathbb{E}\,G(\Theta)",
    "epistemic": r"\mathbb{E}\,D(\Theta \Vert \bar\theta)",
}
EXTREMES = {
    "total": r"\max_{l_k \le t \le u_k} G(t)",
    "aleatoric": r"\min_{l_k \le t \le u_k} G(t)",
    "epistemic": r"\max G - \min G",
    "regret": r"\min_f \max_{l_k \le t \le u_k} D(t \Vert f)",
}
LABEL_REFERENCES = {
    "log": "Sale 2024",
    "squared": "Sale 2024",
    "spherical": "here",
    "zero_one": "here",
}
JOINT_REFERENCES = {
    "log": "Depeweg 2018; EU: Houlsby 2011",
    "spherical": "Hofman 2024, Kotelevskii 2025",
    "zero_one": "Hofman 2024, Kotelevskii 2025",
}


@dataclass
class Row:
    """A measure: of each label, or of all classes at once."""

    formula: str
    call: str
    reference: str
    part: str
    """As what it counts for the axioms."""
    measure: Any
    """What `lw.axioms.check` checks."""


def members(q: lw.Distribution) -> lw.Distribution:
    """The uniform distribution, which one of the axioms is about, by draws."""
    if q.finite:
        return q
    return lw.Ensemble(q.sample(4000, rng=0), member_axis=0)


def alone(measure: Callable[[Any], Any]) -> Callable[[Any], Components]:
    """A measure that is no part of a decomposition, in place of all three."""

    def parts(q: lw.Distribution) -> Components:
        score = measure(members(q))
        return Components(score, score, score)

    return parts


def of_joint(loss: Any) -> Callable[[Any], Components]:
    """All classes at once."""
    return lambda q: lw.joint.decompose(q, loss)


def of_extremes(q: lw.Distribution) -> Components:
    """Between the smallest and the largest probability of a member."""
    return lw.decompose(lw.Intervals.from_members(members(q))).sum()


def of_members(q: lw.Distribution) -> Components:
    """A random member as the forecast."""
    return lw.decompose(q, forecast="member").sum()


def rows() -> dict[str, Row]:
    """By the names in the table of `compare_measures`."""
    found: dict[str, Row] = {}
    for loss in LABEL_LOSSES:
        for part, short in PARTS.items():
            call = f'lw.decompose(q, "{loss}").{part}'
            formula = LABEL_FORMULAS[part]
            found[f"{part}, {loss}"] = Row(formula, call, LABEL_REFERENCES[loss], short, loss)
    call = 'lw.decompose(q, forecast="member")'
    found["reverse, log"] = Row(
        r"\mathbb{E}\,D(\bar\theta_k \Vert \Theta_k)",
        f"{call}.regret",
        "here; joint: Malinin 2021",
        "EU",
        alone(lambda q: of_members(q).regret),
    )
    found["pairwise, log"] = Row(
        r"\mathbb{E}\,D(\Theta_k \Vert \Theta_k')",
        f"{call}.epistemic",
        "here; joint: Malinin 2021",
        "EU",
        alone(lambda q: of_members(q).epistemic),
    )
    found["median deviation"] = Row(
        r"\mathbb{E}\,\lvert\Theta_k - \mathrm{med}\,\Theta_k\rvert",
        "lw.median_deviation(q)",
        "here",
        "EU",
        alone(lambda q: lw.median_deviation(q).sum(-1)),
    )
    for part, formula in EXTREMES.items():
        call = f"lw.decompose(lw.Intervals.from_members(q)).{part}"
        measure: Any = of_extremes
        if part == "regret":
            measure = alone(lambda q: of_extremes(q).regret)
        reference = "here; intervals: Campos 1994"
        short = PARTS.get(part, "EU")
        found[f"{part} of extremes, log"] = Row(formula, call, reference, short, measure)
    found["second-order share"] = Row(
        r"\mathrm{Var}\,\Theta_k \,/\, (2\bar\theta_k \ln 2)",
        "lw.joint.mutual_information_by_class(q, second_order=True)",
        "arXiv 2602.21160",
        "EU",
        alone(lambda q: lw.joint.mutual_information_by_class(q, second_order=True).sum(-1)),
    )
    for loss in JOINT_LOSSES:
        for part, short in PARTS.items():
            found[f"joint {part}, {loss}"] = Row(
                JOINT_FORMULAS[part],
                f'lw.joint.decompose(q, "{loss}").{part}',
                JOINT_REFERENCES[loss],
                short,
                of_joint(loss),
            )
    found["joint reverse, log"] = Row(
        r"\mathbb{E}\,D(\bar\theta \Vert \Theta)",
        "lw.joint.reverse_mutual_information(q)",
        "Malinin 2021",
        "EU",
        alone(lw.joint.reverse_mutual_information),
    )
    found["joint pairwise, log"] = Row(
        r"\mathbb{E}\,D(\Theta \Vert \Theta')",
        "lw.joint.expected_pairwise_kl(q)",
        "Malinin 2021, Schweighofer 2024",
        "EU",
        alone(lw.joint.expected_pairwise_kl),
    )
    return found


def verdicts(row: Row, tables: dict[int, AxiomTable | None]) -> tuple[str, str]:
    """The axioms that it keeps, and those that it breaks."""
    key = id(row.measure)
    if key not in tables:
        try:
            tables[key] = lw.axioms.check(row.measure)
        except ValueError:  # the check refuses infinite values
            tables[key] = None
    table = tables[key]
    if table is None:
        return "–", "(infinite on the boundary)"
    kept, broken = [], []
    for result in table:
        if result.measure == row.part:
            weak = " (weak)" if result.verdict == "weak" else ""
            (broken if result.verdict == "fails" else kept).append(result.axiom + weak)
    return ", ".join(kept), ", ".join(broken) or "none"


def definitions(found: dict[str, Row]) -> str:
    """A row for each measure: what it is, and its axioms."""
    lines = [
        "| measure | formula | reference | keeps | breaks |",
        "|---|---|---|---|---|",
    ]
    tables: dict[int, AxiomTable | None] = {}
    kept_alive = []  # so that no two measures have the same id
    for name, row in found.items():
        kept_alive.append(row.measure)
        keeps, breaks = verdicts(row, tables)
        cells = (name, f"${row.formula}$", row.reference, keeps, breaks)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def calls(found: dict[str, Row]) -> str:
    """A line of code for each measure."""
    lines = [f"{row.call}  # {name}" for name, row in found.items()]
    return "\n".join(["```python", *lines, "```"])


def numbers(comparisons: dict[str, MeasureComparison], found: dict[str, Row]) -> str:
    """A column for each criterion of each set of predictions; bold what no measure beats."""
    heads, columns = [], []
    for name, comparison in comparisons.items():
        for criterion, result in comparison.criteria.items():
            heads.append(f"{name}: {criterion}")
            cells = {}
            for i, measure in enumerate(comparison.measures):
                value, low, high = (
                    x[i] for x in (result.value.value, result.value.low, result.value.high)
                )
                digits = 4 if criterion == "rejection" else 3
                text = f"{value:.{digits}f}"
                if result.beaten_by[i] == 0:
                    text = f"**{text}**"
                cells[measure] = f"{text} [{low:.{digits}f},&nbsp;{high:.{digits}f}]"
            columns.append(cells)
    lines = [f"| measure | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for measure in found:
        cells = " | ".join(column.get(measure, "–") for column in columns)
        lines.append(f"| {measure} | {cells} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """The generated parts of the page."""
    fashion, ecg = lw.demo.load_fashion_ensemble(), lw.demo.load_ecg_ensemble()
    compare = lw.evaluation.compare_measures
    comparisons = {
        "FashionMNIST": compare(fashion.ensemble, fashion.y_true, ood=fashion.ood),
        "ECG": compare(ecg.ensemble, ecg.y_true, votes=ecg.votes),
    }
    found = rows()
    if tuple(found) != comparisons["FashionMNIST"].measures:
        raise ValueError("the rows are not those of compare_measures")
    return {
        "definitions": definitions(found),
        "calls": calls(found),
        "numbers": numbers(comparisons, found),
    }


def page(text: str, parts: dict[str, str]) -> str:
    """The page with these parts between their marks."""
    for name, part in parts.items():
        mark = f"<!-- {name}: generated by docs/make_measures.py -->"
        pattern = re.escape(mark) + r".*?<!-- end -->"
        text = re.sub(pattern, lambda _, s=f"{mark}\n\n{part}\n\n<!-- end -->": s, text, flags=re.S)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
