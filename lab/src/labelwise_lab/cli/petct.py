"""``labelwise-lab petct``: from PET/CT volumes to label-wise uncertainty per slice and per
study.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelwise import load_predictions
from labelwise.cli import echo, echo_json, echo_table, progress_bar
from labelwise.decisions import Costs

from ..text import one_line, percent
from ._options import READ_FILE, READ_FOLDER, WRITE_FOLDER, json_option, loss_option

if TYPE_CHECKING:
    from ..petct import Prepared


@click.group()
def command() -> None:
    """Whole-body PET/CT: from volumes to label-wise uncertainty.

    \b
    Try it on synthetic patients, in a few minutes:
      labelwise-lab petct phantom studies
      labelwise-lab petct prepare studies -o slices --size 48 --step 8 --suv-max 12 --test-size 0.3 --val-size 0.1 --hold-back "bone metastases"
      labelwise-lab petct train slices -o trained --network cnn --augment --epochs 12
      labelwise-lab petct report slices trained -o report
    """  # noqa: E501


@command.command()
@click.argument("folder", type=WRITE_FOLDER)
@click.option("--patients", type=click.IntRange(1), default=40, help="Number of patients.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Random seed.")
@click.option(
    "--voxel", type=click.FloatRange(1, 60), default=8.0, help="Mean voxel size in millimeters."
)
def phantom(folder: Path, patients: int, seed: int, voxel: float) -> None:
    """Write synthetic patients to FOLDER, in the layout of the published data set.

    Ellipsoid bodies with lung cancer, lymphoma, melanoma, bone metastases or no lesion, with varied
    orientation and voxel size.
    """
    from ..petct import write_phantoms

    written = write_phantoms(folder, patients=patients, rng=seed, voxel=voxel)
    kinds = Counter(kind for _, _, kind in written)
    echo(
        f"wrote {len(written)} studies of {patients} phantom patients to {folder}: "
        + ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    )


@command.command()
@click.argument("studies", type=READ_FOLDER)
@click.option(
    "-o",
    "--output",
    required=True,
    type=WRITE_FOLDER,
    help="Folder for the slices and their manifest.",
)
@click.option(
    "--table",
    type=READ_FILE,
    help="CSV with patient, study and diagnosis.  [default: the one in STUDIES]",
)
@click.option("--size", type=click.IntRange(8, 4096), default=400, help="Pixels along each side.")
@click.option(
    "--window",
    type=float,
    nargs=2,
    default=(-160, 240),
    help="Hounsfield units drawn black and white in the CT channel.",
)
@click.option("--suv-max", type=float, default=20.0, help="SUV drawn white in the PET channel.")
@click.option(
    "--step", type=float, default=3.0, help="Millimeters between planes; 0 takes every plane."
)
@click.option(
    "--lesion-free",
    type=click.Choice(["negative", "study", "skip"]),
    default="negative",
    help=(
        "Label of a slice without a lesion in a study with lesions: negative, the study's "
        "diagnosis, or none."
    ),
)
@click.option(
    "--diagnosis",
    "diagnoses",
    multiple=True,
    help="A class; repeat in the order of the classes.  [default: the published four]",
)
@click.option(
    "--hold-back",
    multiple=True,
    help="A diagnosis to exclude from training, validation and test; repeatable.",
)
@click.option("--test-size", type=float, default=0.2, help="Fraction of patients for testing.")
@click.option(
    "--val-size",
    type=float,
    default=0.15,
    help="Fraction of patients for validation (choosing the epoch).",
)
@click.option("--seed", "rng", type=click.IntRange(0), default=0, help="Random seed for the split.")
@click.option(
    "--n-jobs",
    type=click.IntRange(1),
    help="Studies processed in parallel.  [default: by number of processors]",
)
def prepare(studies: Path, output: Path, diagnoses: tuple[str, ...], **options: Any) -> None:
    """Cut the volumes in STUDIES into coronal slices, and split the patients.

    STUDIES has the layout of the published data set (patient / study / CTres, SUV and SEG as
    .nii.gz, and a CSV file with the diagnoses), or --table names the files. Unusable studies are
    skipped with a message. After an interruption, the same command resumes.
    """
    from ..petct import DIAGNOSES, Settings
    from ..petct import prepare as run

    settings = Settings(
        **{name: options.pop(name) for name in ("size", "window", "suv_max", "step")}
    )
    started = time.monotonic()
    with progress_bar("prepare") as progress:
        prepared = run(
            studies,
            output,
            settings=settings,
            diagnoses=diagnoses or DIAGNOSES,
            progress=progress,
            **options,
        )
    for line in prepared.manifest["skipped"]:
        echo(one_line(f"skipped {line['patient']}/{line['study']}: {line['why']}"), err=True)
    _print_parts(prepared)
    echo(f"wrote {output / 'manifest.json'} after {time.monotonic() - started:.0f} s")


def _print_parts(prepared: Prepared) -> None:
    entries = prepared.manifest["studies"]
    rows = []
    for part in dict.fromkeys(
        entry["part"]
        for entry in sorted(entries, key=lambda e: ["train", "val", "test"].count(e["part"]) == 0)
    ):
        chosen = [entry for entry in entries if entry["part"] == part]
        kinds = Counter(entry["diagnosis"] for entry in chosen)
        slices = sum(len(entry["planes"]) for entry in chosen)
        patients = len({entry["patient"] for entry in chosen})
        rows.append(
            (
                part,
                patients,
                len(chosen),
                slices,
                ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())),
            )
        )
    echo_table(
        f"{len(entries)} studies, {len(prepared.manifest['skipped'])} skipped",
        ("part", "patients", "studies", "slices", "diagnoses"),
        rows,
    )


@command.command()
@click.argument("folder", type=READ_FOLDER)
@click.option(
    "-o",
    "--output",
    required=True,
    type=WRITE_FOLDER,
    help="Folder for checkpoints and predictions.",
)
@click.option(
    "--recipe", type=click.Choice(["paper", "code"]), default="paper", help="Training settings."
)
@click.option(
    "--network",
    type=click.Choice(["resnet50", "resnet18", "cnn", "mlp"]),
    help="Network.  [default: resnet50]",
)
@click.option("--augment", is_flag=True, help="Augment by random flips and shifts of up to 1 %.")
@click.option(
    "--members", "n_members", type=click.IntRange(1), default=5, help="Size of the ensemble."
)
@click.option("--epochs", type=click.IntRange(1), help="Epochs.  [default: 40]")
@click.option(
    "--seed", "rng", type=click.IntRange(0), default=0, help="Random seed for the ensemble."
)
@click.option("--resume", is_flag=True, help="Resume an interrupted training.")
@click.option(
    "--n-jobs",
    type=click.IntRange(1),
    help="Members trained in parallel.  [default: by number of processors]",
)
@click.option(
    "--top",
    "k",
    type=click.IntRange(1),
    default=5,
    help="Most suspicious slices of each member that are combined into a study.",
)
def train(folder: Path, output: Path, **options: Any) -> None:
    """Train an ensemble on the slices in FOLDER and predict its test patients.

    The epoch of each member is chosen on the validation patients. Slices that do not fit in memory
    are read from disk on demand.
    """
    from ..petct import train as run

    started = time.monotonic()
    files = run(folder, output, **options)
    for name, path in files.items():
        stored = load_predictions(path)
        line = f"{name}: {len(stored):,}"
        if stored.y_true is not None and stored.probs is not None:
            line += (
                ", accuracy "
                f"{percent((stored.probs.mean(0).argmax(-1) == stored.true_class).mean())}"
            )
        echo(f"{line}; written to {path}")
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    echo(f"done after {minutes} min {seconds} s")


@command.command()
@click.argument("folder", type=READ_FOLDER)
@click.argument("trained", type=READ_FOLDER)
@click.option(
    "-o",
    "--output",
    required=True,
    type=WRITE_FOLDER,
    help="Folder for figures, numbers and the page.",
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    help="A patient, patient/study or patient/study#plane to draw; also a held-back one.",
)
@click.option(
    "--costs",
    "costs_file",
    type=READ_FILE,
    help="Costs of choosing one diagnosis that the page starts with (.toml).",
)
@loss_option(default="log")
@click.option(
    "--show", type=click.IntRange(1), default=6, help="Number of most uncertain studies to draw."
)
@json_option()
def report(
    folder: Path,
    trained: Path,
    output: Path,
    cases: tuple[str, ...],
    costs_file: Path | None,
    loss: Any,
    show: int,
    as_json: bool,
) -> None:
    """Write figures and numbers about the predictions in TRAINED for the test patients in FOLDER.

    The interactive page is that of `labelwise report TRAINED/studies.npz`; the same command shows
    single slices with TRAINED/slices.npz.
    """
    from ..petct.report import PAGE, sentences, write_report

    costs = None if costs_file is None else Costs.from_toml(costs_file)
    numbers = write_report(folder, trained, output, loss=loss, costs=costs, cases=cases, show=show)
    if as_json:
        echo_json(numbers)
        return
    for line in sentences(numbers):
        echo(line)
    rows = []
    for row in numbers["diagnoses"]:
        recall = [f"{row['recall'][key]:.3f}" for key in ("value", "low", "high")]
        rows.append((row["diagnosis"], row["unit"], row["n"], row["found"], *recall))
    columns = ("diagnosis", "of", "number", "found", "recall", "low", "high")
    echo_table("Recall, with 95 % intervals over patients", columns, rows)
    echo(f"written to {output / PAGE}; single slices: labelwise report {trained / 'slices.npz'}")
