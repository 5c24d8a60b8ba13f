"""How the lab writes its pages: tables, numbers with their spread or interval, and sections put
into a template or between two marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["between", "fill", "interval", "number", "spread", "table"]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, with an empty line below."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def number(value: float | None, digits: int) -> str:
    """With a proper minus sign, and none before 0.000.

    >>> number(-0.25, 1), number(-0.0001, 3), number(None, 3)
    ('−0.2', '0.000', '–')
    """
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) != 0 else text.lstrip("-")


def spread(cell: Mapping[str, Any], digits: int = 3) -> str:
    """Mean ± standard deviation between runs; one run has none."""
    mean = number(cell["mean"], digits)
    return mean if cell.get("sd") is None else f"{mean} ± {number(cell['sd'], digits)}"


def interval(cell: Mapping[str, Any], digits: int = 3) -> str:
    """A mean, or an estimate, with its 95 % interval."""
    value = number(cell["mean"] if "mean" in cell else cell["value"], digits)
    if cell.get("low") is None:
        return value
    return f"{value} [{number(cell['low'], digits)}, {number(cell['high'], digits)}]"


def fill(template: str, sections: Mapping[str, Iterable[str]]) -> str:
    """A template with the lines of each section in the place of its name in braces."""
    for name, lines in sections.items():
        text = "\n".join(line for line in lines if line).strip()
        template = template.replace(f"{{{name}}}", text)
    return template


def between(page: str, start: str, end: str, text: str) -> str:
    """``page`` with ``text`` between the marks ``start`` and ``end``, each of which it has once."""
    before, rest = page.split(start)
    _, after = rest.split(end)
    return f"{before}{start}{text}{end}{after}"
