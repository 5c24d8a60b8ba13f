"""Many cases into a folder of tables, maps, figures and a page; finished cases are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import __version__
from ..io.atomic import write_file
from ..io.csv import csv_texts
from .cases import Case
from .figures import cut_planes, draw
from .maps import write_maps, write_segmentation
from .predictions import PredictedVolumes, file_name
from .structures import Row, Settings, examine, row_of_structure, rows_of_components

FIGURES = 3  # of a case: its most doubtful structures
START = """<!doctype html><meta charset=utf-8><title>Cases by doubt</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}
img{max-width:100%;margin:1rem 0}
</style><h1>Cases by doubt</h1><p>Doubt is epistemic uncertainty summed over the voxels, divided by
the predicted volume. All numbers are in cases.csv and components.csv.</p>"""


def by_doubt(rows: Sequence[Row]) -> list[Row]:
    """Rows of structures, the most doubtful first."""
    return sorted(rows, key=lambda row: -row["eu_per_volume"])


def write_folder(
    cases: Sequence[Case],
    folder: Path,
    settings: Settings,
    worst: int,
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Tables of all cases, and maps, figures and a page of the ``worst``; see `_finish` for what is
    returned of each case.
    """
    (folder / ".finished").mkdir(parents=True, exist_ok=True)
    first = settings
    if len(cases) > worst:
        first = settings._replace(parts=[], figures=False)
    finished = []
    for i, case in enumerate(cases):
        progress(i, len(cases))
        finished.append(_finish(case, folder, first))
    rows = [row for one in finished for row in one["structures"]]
    components = [row for one in finished for row in one["components"]]
    for name, table in (("cases", rows), ("components", components)):
        columns = list(table[0]) if table else ["case"]
        lines = csv_texts([columns, *map(dict.values, table)])
        write_file(folder / f"{name}.csv", "".join(lines))
    by_name = {case.name: case for case in cases}
    page = [START]
    for name in list(dict.fromkeys(row["case"] for row in by_doubt(rows)))[:worst]:
        page.append(f"<h2>{escape(name)}</h2>")
        for figure, text in _finish(by_name[name], folder, settings)["figures"].items():
            page.append(f'<p>{escape(text)}</p><img src="{escape(figure)}" alt="">')
    if settings.figures:
        write_file(folder / "index.html", "\n".join(page))
    return finished


def _finish(case: Case, folder: Path, settings: Settings) -> Any:
    """Tables, maps and figures of a case, from an earlier run if nothing has changed since: the
    rows of its "structures" and "components", its "figures" with what they show, and the
    "sentence" that says what its members were taken for.
    """
    described: list[Any] = [__version__, settings, case.class_names]
    for volume in case.volumes:
        status = volume.file.stat()
        described.append([str(volume.file.resolve()), status.st_size, status.st_mtime_ns])
    key = hashlib.sha256(json.dumps(described).encode()).hexdigest()
    record = folder / ".finished" / f"{case.name}-{key[:16]}.json"
    if record.is_file():
        return json.loads(record.read_text(encoding="utf-8"))
    predicted, pictures = PredictedVolumes(case), {}
    finished: Any = {"structures": [], "components": [], "figures": {}}
    finished["sentence"] = predicted.sentence
    for details in examine(predicted, settings):
        finished["structures"].append(row_of_structure(details))
        finished["components"].extend(rows_of_components(details))
        if settings.parts:
            write_maps(details, folder / "maps", settings)
        if settings.figures:
            pictures[details.name] = cut_planes(details)
    if settings.parts:
        write_segmentation(predicted, folder / "maps", settings)
    for row in by_doubt(finished["structures"])[:FIGURES]:
        if settings.figures:
            name = row["structure"]
            figure = f"figures/{case.name}_{file_name(name)}.png"
            (folder / "figures").mkdir(exist_ok=True)
            draw(pictures[name], f"{case.name}, {name}", folder / figure)
            finished["figures"][figure] = f"{name}: doubt {row['eu_per_volume']:.3g}"
    write_file(record, json.dumps(finished))
    return finished
