"""Many cases into a folder of tables, maps, figures and a page; finished cases are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from .. import __version__
from .._tables import json_ready
from ..io.atomic import write_file
from ..io.csv import csv_text
from ..losses import LossName
from .cases import Case
from .figures import PARTS as FIGURE_PARTS
from .figures import Picture, cut_planes, draw
from .maps import MapWriter, file_name
from .scores import doubt
from .structures import Details, Events, Examined, Row, examine

FIGURES = 3  # of a case: its most doubtful structures
FINISHED = ".finished"
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;"
    "color:#222}table{border-collapse:collapse;margin:.5rem 0 1rem}td,th{padding:.15rem .8rem;"
    "text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}"
    "img{max-width:100%;border:1px solid #ddd;margin:.3rem 0}section{margin:2.5rem 0}"
)


@dataclass(frozen=True)
class Settings:
    """What to compute and to write."""

    loss: LossName = "log"
    events: Events | None = None
    maps: tuple[str, ...] = ("epistemic",)
    worst: int = 20
    """Maps and figures are made for so many cases, the most doubtful."""
    figures: bool = True
    as_float: bool = False
    compress: bool = True


@dataclass
class Written:
    """What a folder holds."""

    structures: list[Row] = field(default_factory=list)
    components: list[Row] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    """What the members were taken for."""
    computed: int = 0
    """How many cases this call computed; the others were there."""


def write_folder(
    cases: Sequence[Case],
    folder: Path,
    settings: Settings,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Written:
    """Tables of all cases, and maps and figures of the most doubtful."""
    (folder / FINISHED).mkdir(parents=True, exist_ok=True)
    written = Written()
    # Of few cases all are shown, and they are read only once.
    shown = {case.name for case in cases} if len(cases) <= settings.worst else set()
    doubts = {}
    rounds = len(cases) + min(settings.worst, len(cases)) * (not shown)
    for i, case in enumerate(cases):
        progress(i, rounds)
        examined = _examine_once(case, folder, settings, written, show=case.name in shown)
        written.structures += examined.structures
        written.components += examined.components
        if examined.sentence not in written.sentences:
            written.sentences.append(examined.sentence)
        doubts[case.name] = max((doubt(row) for row in examined.structures), default=0.0)
    order = sorted(cases, key=lambda case: -doubts[case.name])[: settings.worst]
    if not shown:
        for i, case in enumerate(order):
            progress(len(cases) + i, rounds)
            _examine_once(case, folder, settings, written, show=True)
    for name, rows in (("cases", written.structures), ("components", written.components)):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        lines = [[row.get(key) for key in columns] for row in rows]
        write_file(folder / f"{name}.csv", csv_text(columns, lines))
    if settings.figures:
        write_file(folder / "index.html", _page(order, written.structures, folder))
    progress(rounds, rounds)
    return written


def _examine_once(
    case: Case, folder: Path, settings: Settings, written: Written, *, show: bool
) -> Examined:
    """Tables of a case, from an earlier run if nothing has changed since; ``show``: its maps and
    figures too.
    """
    record = folder / FINISHED / f"{case.name}{'-shown' if show else ''}.json"
    fingerprint = _fingerprint(case, settings)
    if record.is_file():
        stored = json.loads(record.read_text(encoding="utf-8"))
        if stored.pop("fingerprint", None) == fingerprint:
            return Examined(**stored)
    written.computed += 1
    if show:
        examined = _examine_and_show(case, folder, settings)
    else:
        examined = examine(case, loss=settings.loss, events=settings.events)
    content = {"fingerprint": fingerprint} | asdict(examined)
    write_file(record, json.dumps(json_ready(content)))
    return examined


def _examine_and_show(case: Case, folder: Path, settings: Settings) -> Examined:
    writer = MapWriter(
        folder / "maps",
        settings.maps,
        settings.loss,
        as_float=settings.as_float,
        compress=settings.compress,
    )
    pictures: dict[str, Picture] = {}

    def use_details(details: Details) -> None:
        if settings.maps:
            writer.write(details)
        if settings.figures:
            pictures[details.structure.name] = cut_planes(details)

    parts = dict.fromkeys(settings.maps + (FIGURE_PARTS if settings.figures else ()))
    examined = examine(
        case,
        loss=settings.loss,
        events=settings.events,
        parts=list(parts),
        use_details=use_details,
    )
    if settings.figures:
        (folder / "figures").mkdir(exist_ok=True)
        for row in _most_doubtful(examined.structures):
            draw(pictures[row["structure"]], _figure(folder, case.name, row["structure"]))
    return examined


def _most_doubtful(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=doubt, reverse=True)[:FIGURES]


def _figure(folder: Path, case: str, structure: str) -> Path:
    return folder / "figures" / f"{case}_{file_name(structure)}.png"


def _fingerprint(case: Case, settings: Settings) -> str:
    """Settings and files; sizes and times stand for the content."""
    described: list[Any] = [__version__, asdict(settings) | {"worst": None}]
    described += [dict(case.class_names), case.regions, case.grid.affine.tolist()]
    for path in case.files:
        status = path.stat()
        described.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
    return hashlib.sha256(json.dumps(described, default=str).encode()).hexdigest()


def _page(order: Sequence[Case], rows: Sequence[Row], folder: Path) -> str:
    """Cases by doubt with their figures."""
    sections = []
    for case in order:
        own = _most_doubtful([row for row in rows if row["case"] == case.name])
        cells = []
        pictures = []
        for row in own:
            numbers = [f"{row[key]:.3g}" for key in ("ml", "ml_low", "ml_high")]
            numbers += [f"{row['pairwise_dice']:.3f}", f"{doubt(row):.3f}"]
            if "dice" in row:
                numbers.append(f"{row['dice']:.3f}")
            texts = [escape(row["structure"]), *numbers]
            cells.append("<tr>" + "".join(f"<td>{text}</td>" for text in texts) + "</tr>")
            path = _figure(folder, case.name, row["structure"])
            if path.is_file():
                source = escape(f"figures/{path.name}", quote=True)
                words = escape(f"{case.name}, {row['structure']}", quote=True)
                pictures.append(f'<img src="{source}" alt="{words}" loading="lazy">')
        heads = ["structure", "ml", "lowest", "highest", "pairwise Dice", "EU ÷ volume"]
        if own and "dice" in own[0]:
            heads.append("Dice")
        head = "".join(f"<th>{text}</th>" for text in heads)
        sections.append(
            f"<section><h2>{escape(case.name)}</h2><table><tr>{head}</tr>{''.join(cells)}</table>"
            f"{''.join(pictures)}</section>"
        )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Cases by doubt</title>'
        f"<style>{STYLE}</style><h1>Cases by doubt</h1><p>{len(order)} cases, those whose members "
        "disagree most first: epistemic uncertainty summed over the voxels, divided by the "
        "predicted volume. Lowest and highest are over the members, which is no interval.</p>"
        f"{''.join(sections)}</html>\n"
    )
