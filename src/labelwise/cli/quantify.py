"""``labelwise quantify``: label-wise uncertainty of stored predictions of any size."""

from __future__ import annotations

from pathlib import Path

import click

from ._input import predictions_argument
from ._output import echo, echo_json, echo_table, loss_option, progress_bar


@click.command()
@predictions_argument()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write (.npz, .zarr or .parquet).")
@loss_option(multiple=True)
@click.option("--sums-only", is_flag=True, help="Write only the sums over the classes.")
@click.option("--memory", default="500MB", show_default=True, help="How much to hold at once.")
@click.option("--scheduler", metavar="ADDRESS", help="Let the workers of a running Dask scheduler compute.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    predictions: Path, output: Path, loss: tuple[str, ...], sums_only: bool, memory: str, scheduler: str | None, as_json: bool
) -> None:
    """Write the label-wise total, aleatoric and epistemic uncertainty of PREDICTIONS (.npz, .npy, .zarr or .parquet; - for an .npz from
    standard input).

    The predictions are read a block at a time. After an interruption the same command resumes where it stopped; predictions that
    have changed meanwhile are computed again. The output holds, for each loss, `LOSS_total`, `LOSS_aleatoric` and `LOSS_epistemic`
    (instances x classes) and their sums `LOSS_sum_total` and so on.

    \b
    Examples:
      labelwise quantify preds.npz -o uncertainty.npz --loss log --loss squared
      labelwise quantify huge.npy -o uncertainty.parquet --memory 2GB
    """
    from ..decomposition import PARTS
    from ..io.quantify import quantify

    with progress_bar("quantify") as progress:
        done = quantify(
            predictions, output, losses=tuple(dict.fromkeys(loss or ("log",))), labelwise=not sums_only, memory=memory, scheduler=scheduler,
            progress=progress,
        )  # fmt: skip
    if as_json:
        echo_json(
            {"output": str(done.path), "instances": done.instances, "blocks": done.blocks, "computed": done.computed, "means": done.means}
        )
        return
    rows = [(name, *(means[part] for part in PARTS)) for name, means in done.means.items()]
    echo_table(f"{done.instances:,} instances", ("loss", *PARTS), rows)
    echo(f"Means of the sums over the classes; written to {output}")
