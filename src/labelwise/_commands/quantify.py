"""``labelwise quantify``: label-wise uncertainty of stored predictions."""

from __future__ import annotations

from pathlib import Path

import click

from ._output import echo_table, loss_option


@click.command()
@click.argument("predictions", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write (.npz).")
@loss_option(multiple=True)
def command(predictions: Path, output: Path, loss: tuple[str, ...]) -> None:
    """Write the label-wise total, aleatoric and epistemic uncertainty of PREDICTIONS.

    The output holds, for each loss, arrays `LOSS_total`, `LOSS_aleatoric` and `LOSS_epistemic` (instances x classes), their sums
    `LOSS_sum_total` and so on, and `class_names` and `ids` as they came.

    \b
    Example:
      labelwise quantify preds.npz -o uncertainty.npz --loss log --loss squared
    """
    import numpy as np

    from .._npz import replacing, write_npz
    from ..decomposition import decompose
    from ..io import load_predictions

    if output.suffix != ".npz":
        raise ValueError(f"the output must end in .npz; got {output.name!r}")
    stored = load_predictions(predictions)
    q = stored.distribution()
    arrays = {}
    rows = []
    for name in dict.fromkeys(loss or ("log",)):
        u = decompose(q, name)
        total = u.sum()
        for part in ("total", "aleatoric", "epistemic"):
            arrays[f"{name}_{part}"] = np.ascontiguousarray(getattr(u, part))
            arrays[f"{name}_sum_{part}"] = np.ascontiguousarray(getattr(total, part))
        rows += [(name, *(float(np.mean(getattr(total, part))) if len(stored) else 0.0 for part in ("total", "aleatoric", "epistemic")))]
    arrays["class_names"] = np.asarray(u.names)
    if stored.ids is not None:
        arrays["ids"] = np.asarray(stored.ids)
    with replacing(output) as file:
        write_npz(file, arrays)
    echo_table(f"{len(stored):,} instances, {stored.n_classes} classes", ("loss", "total", "aleatoric", "epistemic"), rows)
    click.echo(f"Means of the sums over the classes; written to {output}")
