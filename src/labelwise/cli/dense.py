"""``labelwise dense``: volumes, their structures and lesions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .._errors import InputError
from .._tables import counted
from ._input import _class_names as names_in_order
from ._input import loss_option
from ._output import echo, echo_json, echo_table, json_option, progress_bar
from ._paths import InputPath, OutputPath

SHOWN = 10  # rows of the table
COLUMNS = (
    "case", "structure", "ml", "ml_low", "ml_high", "pairwise_dice", "eu_per_volume",
    "au_per_volume", "dice",  # the last with truth
)  # fmt: skip


def _class_names(context: Any, option: Any, value: str | None) -> Any:
    """Names in order, or by label value."""
    if value is None or "=" not in value:
        return names_in_order(value)
    pairs = (text.partition("=") for text in value.split(","))
    return {label.strip(): name.strip() for label, _, name in pairs}


def _events(context: Any, option: Any, values: tuple[str, ...]) -> dict[str, list[str]]:
    """Classes by the name of the event."""
    found = {}
    for text in values:
        name, _, labels = text.partition("=")
        if not name or not labels:
            raise InputError(f'--event: expected such as "tumor=2,3"; got {text!r}')
        found[name] = labels.split(",")
    return found


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
    callback=_class_names,
    help="background,liver,tumor, or 1=necrosis,2=edema,4=core.  [default: from dataset.json]",
)
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="NAME=LABELS",
    callback=_events,
    help='A structure made of others, such as "tumor=2,3"; may be repeated.',
)
@click.option(
    "--maps",
    multiple=True,
    type=click.Choice(["epistemic", "aleatoric", "total", "none"]),
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
@loss_option(default="log")
@json_option("tables")
def command(
    members: tuple[Path, ...],
    output: Path,
    images: Path | None,
    truth: Path | None,
    class_names: Any,
    maps: tuple[str, ...],
    worst: int,
    as_json: bool,
    **settings: Any,
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
    from ..dense.folder import by_doubt, write_folder
    from ..dense.scores import detect_segmentation_failures
    from ..dense.structures import Settings

    found = find_cases(*members, images=images, truth=truth, class_names=class_names)
    parts = [part for part in dict.fromkeys(maps) if part != "none"]
    with progress_bar("dense") as progress:
        examined = write_folder(found, output, Settings(parts=parts, **settings), worst, progress)
    rows = [row for one in examined for row in one["structures"]]
    detection = detect_segmentation_failures(rows)
    if as_json:
        echo_json({"structures": rows, "failure_detection": detection})
        return
    for sentence in dict.fromkeys(one["sentence"] for one in examined):
        size = f"{counted(len(members), 'member')} × {counted(len(found), 'case')}"
        echo(f"{size}: {sentence}", err=True)
    if not all(case.grid.placed for case in found):
        echo("Files without an affine: voxels are taken to be 1 mm apart", err=True)
    columns = COLUMNS if truth else COLUMNS[:-1]
    shown = [[row[key] for key in columns] for row in by_doubt(rows)[:SHOWN]]
    echo_table(f"{len(shown)} of {len(rows)} structures, by doubt", columns, shown)
    if detection:
        title = "Failure detection: area under risk (1 − Dice) and coverage, lower is better"
        echo_table(title, list(detection[0]), [list(entry.values()) for entry in detection])
    echo(f"Written to {output}")
