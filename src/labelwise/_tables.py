"""Tables for people: a short text or HTML summary of a result, and the words in it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import prod
from typing import Any, ClassVar, NoReturn

import numpy as np

from ._arrays import Shape
from ._errors import listed
from ._format import MISSING, number
from ._frames import Library, frame
from ._resampling import Estimate

SHOWN = 10  # rows of a summary at most
LONGEST = 40  # longer names are cut in a summary


@dataclass(frozen=True)
class Summary:
    """A title and, below it, a small table."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    note: str = ""

    def text(self) -> str:
        """As plain text; control characters in names are replaced."""
        lines = [_printable_text(self.title)]
        cells = [[_cell_text(x) for x in row] for row in (self.header, *self.rows) if row]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for first, *others in cells:
            padded = [first.ljust(widths[0])]
            for text, width in zip(others, widths[1:], strict=True):
                padded.append(text.rjust(width))
            lines.append("  " + "  ".join(padded).rstrip())
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)

    def html(self) -> str:
        """As HTML with everything escaped."""
        parts = [f"<p>{html.escape(_printable_text(self.title))}</p>"]
        if self.rows:
            head = _html_table_row("th", self.header)
            body = "".join(_html_table_row("td", row) for row in self.rows)
            parts.append(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")
        if self.note:
            parts.append(f"<p>{html.escape(self.note)}</p>")
        return f"<div>{''.join(parts)}</div>"


class Shown:
    """Gives a result a short ``repr`` and its HTML for notebooks, both from `_summary`."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


class Tabular(Shown):
    """A result that is a table: `to_frame`, its ``repr`` and its HTML show the same columns."""

    _longest: ClassVar[int] = SHOWN
    """A longer table is shown in part."""

    def _title(self) -> str:
        raise NotImplementedError

    def _columns(self) -> dict[str, Any]:
        """Columns of equal length; unless a result says otherwise, one row of its numbers."""
        columns: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, Estimate):
                columns |= value.columns(field.name)
            elif isinstance(value, str | float | int):
                columns[field.name] = [value]
        return columns

    def to_frame(self, *, library: Library = "pandas") -> Any:
        """The table as a data frame of pandas or polars."""
        return frame(self._columns(), library)

    def to_records(self) -> list[dict[str, Any]]:
        """The table as plain data, a dictionary for each row."""
        columns = {name: np.asarray(values).tolist() for name, values in self._columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _summary(self) -> Summary:
        names, records, note = list(self._columns()), self.to_records(), ""
        n = len(records)
        if n > self._longest:
            records = [records[i] for i in np.linspace(0, n - 1, SHOWN).astype(int)]
            note = f"{SHOWN} of {n:,} rows; all are in .to_frame()"
        bounded = [name for name in names if f"{name}_low" in names]
        for record in records:
            for name in bounded:  # a number and its bounds in one cell
                ends = record[name], record.pop(f"{name}_low"), record.pop(f"{name}_high")
                record[name] = "{} [{}, {}]".format(*map(_cell_text, ends))
        header = list(records[0]) if records else names
        return Summary(self._title(), header, [tuple(x.values()) for x in records], note)


class Sentences(Tabular):
    """A result that prints as sentences, from its ``__str__``."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return Summary(str(self)).html()


class Check(Sentences):
    """A result that says by ``ok`` whether nothing was found, in sentences."""

    def __bool__(self) -> NoReturn:
        """Refuse: ``if check_calibration(...)`` does not tell whether "found something" or "all is
        well" is meant.
        """
        raise TypeError(
            "the result of a check is neither true nor false: use .ok of this "
            f"{type(self).__name__}"
        )


def _cell_text(x: Any) -> str:
    if x is None:
        return MISSING
    text = _printable_text(str(x))
    if isinstance(x, float | np.floating):
        text = number(float(x), 4)
    return shortened(text, LONGEST)


def _html_table_row(tag: str, row: Sequence[Any]) -> str:
    cells = "".join(f"<{tag}>{html.escape(_cell_text(x))}</{tag}>" for x in row)
    return f"<tr>{cells}</tr>"


def _printable_text(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def counted(n: int, one: str, many: str | None = None) -> str:
    """``3 labels``, ``1 label``."""
    if n == 1:
        return f"1 {one}"
    return f"{n:,} {many or one + 's'}"


def instances_in_words(shape: Shape) -> str:
    """``3 instances``, or the length of each axis: ``64 × 1,024 instances``."""
    if len(shape) < 2:
        return counted(prod(shape), "instance")
    return " × ".join(map("{:,}".format, shape)) + " instances"


def shortened(text: str, longest: int) -> str:
    """``text``, cut with an ellipsis if it is longer."""
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"


def enumerated(words: Sequence[str]) -> str:
    """``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def first_names(names: Sequence[Any], limit: int = 5) -> str:
    """The first few names."""
    return listed(names, limit, _cell_text)


def json_ready(value: Any, digits: int = 17) -> Any:
    """``value`` as JSON can hold it: the fields of a result, lists for arrays, numbers of at most
    so many digits, ``None`` for NaN and infinity.

    >>> json_ready({"x": np.array([0.25, np.nan]), "n": np.int64(3)})
    {'x': [0.25, None], 'n': 3}
    """
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {str(key): json_ready(part, digits) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist(), digits)
    if isinstance(value, list | tuple):
        return [json_ready(part, digits) for part in value]
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            return None
        return float(f"{value:.{digits}g}")
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value
