"""Many cases into a folder of tables, maps, figures and a page; finished cases are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import __version__
from .._tables import Summary
from ..io.atomic import write_file
from ..io.csv import csv_texts
from .cases import Case
from .figures import PARTS, Picture, cut_planes, draw
from .maps import file_name, write_maps
from .structures import Details, Examined, Row, examine

FIGURES = 3  # of a case: its most doubtful structures
COLUMNS = ("structure", "ml", "ml_low", "ml_high", "pairwise_dice", "eu_per_volume", "dice")
START = """<!doctype html><meta charset=utf-8><title>Cases by doubt</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}
td,th{padding:.15rem .8rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}img{max-width:100%;margin:1rem 0}
</style><h1>Cases by doubt</h1><p>Doubt is epistemic uncertainty summed over the voxels, divided by
the predicted volume. Low and high are over the members, which is no interval.</p>"""


def by_doubt(rows: Sequence[Row]) -> list[Row]:
    """Rows of structures, the most doubtful first."""
    return sorted(rows, key=lambda row: -row["eu_per_volume"])


def write_folder(
    cases: Sequence[Case],
    folder: Path,
    *,
    worst: int,
    progress: Callable[[int, int], None],
    **settings: Any,
) -> list[Examined]:
    """Tables of all cases, and maps and figures of the ``worst``; see `_finish` for the
    ``settings``.
    """
    (folder / ".finished").mkdir(parents=True, exist_ok=True)
    few = len(cases) <= worst  # then all are shown, and read only once
    examined = []
    for i, case in enumerate(cases):
        progress(i, len(cases))
        examined.append(_finish(case, folder, show=few, **settings))
    rows = [row for one in examined for row in one.structures]
    names = list(dict.fromkeys(row["case"] for row in by_doubt(rows)))[:worst]
    for case in cases:
        if case.name in names and not few:
            _finish(case, folder, show=True, **settings)
    write_rows(folder / "cases.csv", rows)
    write_rows(folder / "components.csv", [row for one in examined for row in one.components])
    if settings["figures"]:
        write_file(folder / "index.html", _page(names, rows))
    return examined


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write a table as CSV."""
    columns = list(rows[0]) if rows else ["case"]
    lines = csv_texts([columns, *(list(row.values()) for row in rows)])
    write_file(path, "".join(lines))


def _finish(
    case: Case,
    folder: Path,
    *,
    show: bool,
    maps: Sequence[str],
    figures: bool,
    loss: Any,
    events: Any,
    **written_as: bool,
) -> Examined:
    """Tables of a case, from an earlier run if nothing has changed since; if they are to be shown,
    its maps and figures, too.
    """
    described = [__version__, show, maps, figures, loss, events, written_as, case.class_names]
    for volume in case.volumes:
        status = volume.file.stat()
        described.append([str(volume.file.resolve()), status.st_size, status.st_mtime_ns])
    key = hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
    record = folder / ".finished" / f"{case.name}-{key}.json"
    if record.is_file():
        return Examined(*json.loads(record.read_text(encoding="utf-8")))
    pictures: dict[str, Picture] = {}

    def use_details(details: Details) -> None:
        if maps:
            only = {part: details.parts[part] for part in maps}
            write_maps(details._replace(parts=only), folder / "maps", loss, **written_as)
        if figures:
            pictures[details.structure.name] = cut_planes(details)

    if show:
        parts = dict.fromkeys([*maps, *(PARTS if figures else ())])
        found = examine(case, loss=loss, events=events, parts=[*parts], use_details=use_details)
    else:
        found = examine(case, loss=loss, events=events)
    for row in by_doubt(found.structures)[: FIGURES if pictures else 0]:
        (folder / "figures").mkdir(exist_ok=True)
        draw(pictures[row["structure"]], folder / _figure(row))
    write_file(record, json.dumps(found))
    return found


def _figure(row: Row) -> str:
    return f"figures/{row['case']}_{file_name(row['structure'])}.png"


def _page(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Cases by doubt with their figures."""
    parts = [START]
    for case in names:
        own = by_doubt([row for row in rows if row["case"] == case])[:FIGURES]
        columns = [name for name in COLUMNS if name in own[0]]
        table = [[row[name] for name in columns] for row in own]
        parts.append(Summary(case, columns, table).html())
        for row in own:
            parts.append(f'<img src="{escape(_figure(row))}" alt="{escape(row["structure"])}">')
    return "\n".join(parts)
