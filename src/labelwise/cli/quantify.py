"""``labelwise quantify``: label-wise uncertainty of predictions of any size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._input import Given, echo_reading, loss_option, unlabeled_predictions, warnings_as_notes
from ._output import echo, echo_json, echo_table, json_option, progress_bar
from ._paths import output_option

if TYPE_CHECKING:
    from ..losses import LossName


@click.command()
@unlabeled_predictions
@output_option(
    "File to write (.csv, .npz, .zarr or .parquet).  [default: NAME-uncertainty, in the format of "
    "the predictions, or .npz]"
)
@loss_option(multiple=True)
@click.option("--sums-only", is_flag=True, help="Write only the sums over the classes.")
@click.option("--memory", default="500MB", help="How much to hold at once.")
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let the workers of a running Dask scheduler compute; they must see the same files.",
)
@json_option("a table")
def command(
    predictions: Given,
    output: Path | None,
    loss: tuple[LossName, ...],
    sums_only: bool,
    memory: str,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Write the label-wise total, aleatoric and epistemic uncertainty of PREDICTIONS.

    Several files, or a folder of them, are the members; - is an .npz from standard input. The
    predictions are read a block at a time, and after an interruption the same command resumes. The
    output holds, for each loss, `LOSS_total` and so on (instances x classes) and their sums,
    `LOSS_sum_total` and so on.

    \b
    Examples:
      labelwise quantify preds.npz -o uncertainty.npz --loss log --loss squared
      labelwise quantify model1.csv model2.csv model3.csv -o uncertainty.csv
      labelwise quantify huge.npy -o uncertainty.parquet --memory 2GB
    """
    from ..io.packing import FORMATS
    from ..io.quantify import quantify

    suffix = predictions.files[0].suffix
    output = output or predictions.beside(f"-uncertainty{suffix if suffix in FORMATS else '.npz'}")
    if scheduler is not None:
        echo(f"Connecting to the scheduler at {scheduler} …", err=True)
    with warnings_as_notes(), progress_bar("quantify") as progress:
        done = quantify(
            predictions.files,
            output,
            losses=tuple(dict.fromkeys(loss or ("log",))),
            labelwise=not sums_only,
            memory=memory,
            scheduler=scheduler,
            progress=progress,
            **predictions.options,
        )
    if as_json:
        echo_json(
            {
                "output": str(done.path),
                "instances": done.instances,
                "blocks": done.blocks,
                "computed": done.computed,
                "means": done.means,
            }
        )
        return
    n_members = None
    if len(done.shape) == 3:
        n_members = done.shape[0]
    echo_reading(predictions, done.shape, n_members, done.notes)
    rows = []
    for name, means in done.means.items():
        epistemic = None if n_members == 1 else means["epistemic"]
        rows.append((name, means["total"], means["aleatoric"], epistemic))
    echo_table(f"{done.instances:,} instances", ("loss", "total", "aleatoric", "epistemic"), rows)
    echo(f"Means of the sums over the classes; written to {output}")
