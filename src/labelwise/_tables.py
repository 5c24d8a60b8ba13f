"""Tables for people: a short text or HTML summary of a result, and data frames of pandas or
polars.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._arrays import to_numpy
from ._errors import InputError
from ._format import number
from ._frames import ids_at, is_positions
from ._lazy import imported
from ._validation.arguments import check_choice

LIBRARIES = ("pandas", "polars")
Library = Literal["pandas", "polars"]
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
        lines = [list(map(_cell, row)) for row in (self.header, *self.rows) if row]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [_printable(self.title)]
        for first, *others in lines:
            cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
            texts.append(f"  {'  '.join(cells)}".rstrip())
        if self.note:
            texts.append(f"  {self.note}")
        return "\n".join(texts)

    def html(self) -> str:
        """As HTML with everything escaped."""
        parts = [f"<p>{html.escape(_printable(self.title))}</p>"]
        if self.rows:
            head = _html_cells(self.header, "th")
            body = "".join(f"<tr>{_html_cells(row, 'td')}</tr>" for row in self.rows)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if self.note:
            parts.append(f"<p>{html.escape(self.note)}</p>")
        return f"<div>{''.join(parts)}</div>"


def _html_cells(row: Sequence[Any], tag: str) -> str:
    return "".join(f"<{tag}>{html.escape(_cell(x))}</{tag}>" for x in row)


class Shown:
    """Gives a result a short ``repr`` and its HTML for notebooks, both from `_summary`."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()


def _cell(x: Any) -> str:
    if isinstance(x, float | np.floating):
        return shortened(number(float(x), 4), LONGEST)
    return shortened(_printable(str(x)), LONGEST)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def counted(n: int, one: str, many: str | None = None) -> str:
    """``3 labels``, ``1 label``."""
    if n == 1:
        return f"{n:,} {one}"
    return f"{n:,} {many or one + 's'}"


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


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few names."""
    shown = list(map(_cell, names[:most]))
    if len(names) > most:
        shown.append("…")
    return ", ".join(shown)


def plain(value: Any, digits: int = 17) -> Any:
    """``value`` as JSON can hold it: lists for arrays, numbers of at most so many digits, ``None``
    for NaN and infinity.

    >>> plain({"x": np.array([0.25, np.nan]), "n": np.int64(3)})
    {'x': [0.25, None], 'n': 3}
    """
    if isinstance(value, dict):
        return {str(key): plain(part, digits) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), digits)
    if isinstance(value, list | tuple):
        return [plain(part, digits) for part in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{digits}g}") if np.isfinite(value) else None
    if isinstance(value, np.integer | np.bool_):
        return value.item()
    return value


def xarray() -> Any:
    """The library."""
    return imported("xarray", "this table needs xarray", "tables")


def frame(columns: Mapping[str, Any], library: str = "pandas", index: Any = None) -> Any:
    """Columns of equal length as a data frame of ``library``; NaN is a missing value. Only pandas
    has an ``index``.
    """
    check_choice(library, "library", LIBRARIES)
    module = imported(library, f"this table needs {library}", "tables")
    series: dict[str, Any] = {}
    for name, values in columns.items():
        x = np.asarray(values)
        series[name] = x.tolist() if x.dtype.kind in "OUST" else x
    if library == "pandas":
        return module.DataFrame(series, index=index)
    return module.DataFrame(series, nan_to_null=True)


def instance_frame(
    columns: Mapping[str, Any],
    shape: tuple[int, ...],
    library: str,
    *,
    ids: Any = None,
    known: Any = None,
    where: np.ndarray | None = None,
    repeat: int = 1,
    rank: bool = False,
) -> Any:
    """A data frame with ``repeat`` rows for each instance, or for those at ``where``, that says
    what the instances are called.

    That is ``ids``, in column ``id``. Else it is the index that the predictions came with
    (``known``), which is the index of a frame of pandas, and column ``id`` in polars. Else it is
    their positions. With ``rank`` the rows are numbered from 1 before that.
    """
    numbered: dict[str, Any] = {}
    if rank and where is not None:
        numbered["rank"] = np.arange(1, len(where) + 1)
    if ids is None and known is not None and not is_positions(known):
        if where is not None:
            known = ids_at(known, where)
        if library == "pandas":
            index = known
            if repeat > 1:
                # an index of pandas may have several levels
                index = (
                    index.repeat(repeat) if hasattr(index, "repeat") else np.repeat(index, repeat)
                )
            return frame(numbered | dict(columns), library, index)
        names = {"id": np.fromiter(known, dtype=object, count=len(known))}
    else:
        names = index_columns(shape, ids, where)
    for name, x in names.items():
        numbered[name] = np.repeat(x, repeat)
    return frame(numbered | dict(columns), library)


def index_columns(
    shape: tuple[int, ...], ids: Any = None, where: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """What each instance is called: ``ids``, or its place on each axis of ``shape``; of all
    instances, or of those at ``where``.

    ``where`` holds positions in the flattened instances.
    """
    size = int(np.prod(shape, dtype=int))
    if where is None:
        where = np.arange(size)
    if ids is not None:
        given = np.asarray(to_numpy(ids))
        if given.shape not in (shape, (size,)):
            raise InputError(
                f"`ids` must name each of the {size} instances, shape {shape}; got shape "
                f"{given.shape}"
            )
        return {"id": given.reshape(-1)[where]}
    if len(shape) == 1:
        return {"instance": where}
    if not shape:
        return {}
    return {f"axis_{i}": x for i, x in enumerate(np.unravel_index(where, shape))}
