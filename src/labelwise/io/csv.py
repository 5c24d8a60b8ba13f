"""CSV files that a spreadsheet only shows: no text in them becomes a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

# A spreadsheet runs a cell that begins like this; full-width signs count there too. Others drop a leading tab or line end first.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, line_end: str = "\r\n") -> str:
    """The text of a CSV file, its cells made harmless by `cell`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair has no place in a file


def cell(value: Any) -> Any:
    """``value``, with an apostrophe before text that a spreadsheet would take for a formula. Numbers stay, also those written as text.

    >>> cell("=HYPERLINK(A1)"), cell("-12"), cell(-0.5), cell("melanoma")
    ("'=HYPERLINK(A1)", '-12', -0.5, 'melanoma')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _is_number(value):
        return value
    return "'" + value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
