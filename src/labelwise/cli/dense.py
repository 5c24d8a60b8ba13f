"""``labelwise dense``: volumes, their structures and lesions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._errors import InputError
from .._tables import counted
from ._input import Choice, loss_option
from ._output import echo, echo_json, echo_table, json_option, progress_bar
from ._paths import InputPath, OutputPath

if TYPE_CHECKING:
    from ..losses import LossName

SHOWN = 10  # rows of the table


@click.command()
@click.argument("members", metavar="MEMBERS...", nargs=-1, required=True, type=InputPath())
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPath(replaced=False),
    help="Folder for tables, maps and figures.",
)
@click.option("--images", type=InputPath(), help="Folder or file of the images, for figures.")
@click.option("--truth", type=InputPath(), help="Folder or file of the true label maps.")
@click.option(
    "--class-names",
    metavar="NAMES",
    callback=lambda context, option, value: _class_names(value),
    help="background,liver,tumor, or 1=necrosis,2=edema,4=core.  [default: from dataset.json]",
)
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="NAME=LABELS",
    help='A structure made of others, such as "tumor=2,3"; may be repeated.',
)
@click.option(
    "--maps",
    multiple=True,
    type=Choice(["epistemic", "aleatoric", "total", "none"]),
    default=("epistemic",),
    help="Maps to write; may be repeated.",
)
@click.option(
    "--worst",
    type=click.IntRange(0),
    default=20,
    help="Maps and figures of so many cases, the most doubtful.",
)
@click.option("--figures/--no-figures", default=True, help="Figures and index.html.")
@click.option("--float32", "as_float", is_flag=True, help="Maps as float32, not as scaled uint16.")
@click.option("--gzip/--no-gzip", "compress", default=True, help="Maps as .nii.gz, or as .nii.")
@click.option("--allow-missing", is_flag=True, help="Leave out cases that some member lacks.")
@loss_option(default="log")
@json_option("tables")
def command(
    members: tuple[Path, ...],
    output: Path,
    images: Path | None,
    truth: Path | None,
    class_names: Any,
    events: tuple[str, ...],
    maps: tuple[str, ...],
    worst: int,
    figures: bool,
    as_float: bool,
    compress: bool,
    allow_missing: bool,
    loss: LossName,
    as_json: bool,
) -> None:
    """Label-wise uncertainty of segmentations: per voxel, structure and connected component.

    Each of MEMBERS is one member: a folder with a file per case (nnU-Net's folder of one fold, or
    label maps of one algorithm or rater), or a file if there is a single case. NIfTI, nnU-Net's
    .npz and .npy are read, and never reoriented. Writes cases.csv, components.csv, maps/, figures/
    and index.html. The same command resumes an interrupted run.

    \b
    Examples:
      labelwise dense fold_0 fold_1 fold_2 fold_3 fold_4 -o out
      labelwise dense a b c --images imagesTs --truth labelsTs --event "tumor=2,3" -o out
      labelwise dense rater1.nii.gz rater2.nii.gz rater3.nii.gz -o out
    """
    from ..dense.cases import cases as find_cases
    from ..dense.folder import Settings, write_folder
    from ..dense.scores import failure_detection

    settings = Settings(
        loss=loss,
        events=_events(events),
        maps=tuple(part for part in dict.fromkeys(maps) if part != "none"),
        worst=worst,
        figures=figures,
        as_float=as_float,
        compress=compress,
    )
    found = find_cases(
        *members,
        images=images,
        truth=truth,
        class_names=class_names,
        allow_missing=allow_missing,
    )
    with progress_bar("dense") as progress:
        written = write_folder(found, output, settings, progress)
    detection = failure_detection(written.structures)
    if as_json:
        echo_json({"structures": written.structures, "failure_detection": detection})
        return
    size = f"{counted(len(members), 'member')} × {counted(len(found), 'case')}"
    for sentence in written.sentences:
        echo(f"{size}: {sentence}", err=True)
    if not any(case.grid.placed for case in found):
        echo("The files have no affine: voxels are taken to be 1 mm apart", err=True)
    _echo_structures(written.structures)
    if detection:
        _echo_detection(detection)
    echo(
        f"Written to {output}; {len(found) - written.computed or 'no'} cases were finished before"
        if written.computed < len(found)
        else f"Written to {output}"
    )


def _echo_structures(rows: list[dict[str, Any]]) -> None:
    """The most doubtful structures."""
    from ..dense.scores import doubt

    columns = ("case", "structure", "ml", "lowest", "highest", "pairwise Dice", "EU/vol", "AU/vol")
    keys = ["case", "structure", "ml", "ml_low", "ml_high", "pairwise_dice"]
    keys += ["eu_per_volume", "au_per_volume"]
    if any("dice" in row for row in rows):
        columns, keys = (*columns, "Dice"), [*keys, "dice"]
    ranked = sorted(rows, key=doubt, reverse=True)[:SHOWN]
    title = f"{len(ranked)} of {counted(len(rows), 'structure')}, most doubtful first"
    echo_table(title, columns, [[row.get(key) for key in keys] for row in ranked])


def _echo_detection(detection: list[dict[str, Any]]) -> None:
    """How well each score finds bad segmentations."""
    rows = []
    for entry in detection:
        interval = f"[{entry['low']:.3f}, {entry['high']:.3f}]"
        rows.append([entry["structure"], entry["score"], entry["aurc"], interval])
        rows[-1] += [entry["random"], entry["oracle"]]
    echo_table(
        f"Failure detection over {detection[0]['cases']} cases: area under risk (1 − Dice) and "
        "coverage, lower is better",
        ("structure", "score", "AURC", "95 % interval", "random", "best possible"),
        rows,
    )


def _class_names(value: str | None) -> Any:
    """Names in order, or by label value."""
    from ._input import _class_names as names_in_order

    if value is None or "=" not in value:
        return names_in_order(value)
    names = {}
    for pair in value.split(","):
        label, _, name = pair.partition("=")
        if not label.strip().lstrip("-").isdigit() or not name.strip():
            raise InputError(f"--class-names: expected such as 1=liver,2=tumor; got {pair!r}")
        names[int(label)] = name.strip()
    return names


def _events(texts: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Events from ``NAME=LABELS``."""
    events = {}
    for text in texts:
        name, _, labels = text.partition("=")
        chosen = [label.strip() for label in labels.split(",") if label.strip()]
        if not name.strip() or not chosen:
            raise InputError(f'--event: expected such as "tumor=2,3"; got {text!r}')
        events[name.strip()] = chosen
    return events or None
