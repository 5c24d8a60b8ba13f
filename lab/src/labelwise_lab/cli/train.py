"""``labelwise-lab train``: train a deep ensemble and predict the test set."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labelwise._format import percent
from labelwise.cli._output import echo, echo_json
from labelwise.cli._paths import (
    DATA_FOLDER,
    WRITE_FILE,
    WRITE_FOLDER,
    Command,
    InputName,
    will_read,
)

from ._options import sha256_option

if TYPE_CHECKING:
    import numpy as np

    from ..datasets import Dataset

QUICK = {"members": 2, "epochs": 2, "train": 2000, "test": 1000}


def _known_names() -> list[str]:
    from ..datasets import names

    return list(names())


@click.command(cls=Command)
@click.argument("name", type=InputName(_known_names))
@click.option(
    "-o", "--output", required=True, type=WRITE_FILE, help="Prediction file to write (.npz)."
)
@click.option("--members", type=click.IntRange(1), help="Size of the ensemble.  [default: 5]")
@click.option(
    "--epochs",
    type=click.IntRange(1),
    help="Passes over the data; the learning-rate schedule is stretched.  [default: the recipe's]",
)
@click.option(
    "--recipe",
    type=click.Choice(["paper", "code", "default"]),
    help="Training settings.  [default: the paper's, if it has any for this data set]",
)
@click.option(
    "--network",
    type=click.Choice(["cnn", "resnet18", "resnet50", "mlp"]),
    help="Network.  [default: the recipe's]",
)
@click.option(
    "--augment",
    is_flag=True,
    help="Augment the training images with random crops and flips, where the recipe does not.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    help="Random seed; the same seed gives the same ensemble.",
)
@click.option(
    "--data-dir",
    type=DATA_FOLDER,
    help="Folder with the data sets.  [default: LABELWISE_DATA, or the cache]",
)
@click.option("--download", is_flag=True, help="Download missing files from their publisher.")
@sha256_option()
@click.option(
    "--work-dir",
    type=WRITE_FOLDER,
    help="Folder for checkpoints and metrics.  [default: OUTPUT.training]",
)
@click.option("--resume", is_flag=True, help="Resume an interrupted training.")
@click.option(
    "--n-jobs",
    type=click.IntRange(1),
    help="Members trained in parallel.  [default: by number of processors]",
)
@click.option(
    "--quick", is_flag=True, help="Trial run: 2 members, 2 epochs, at most 2000 instances."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    name: str,
    output: Path,
    members: int | None,
    epochs: int | None,
    recipe: str | None,
    network: str | None,
    augment: bool,
    seed: int,
    data_dir: Path | None,
    download: bool,
    sha256: dict[str, str],
    work_dir: Path | None,
    resume: bool,
    n_jobs: int | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Train a deep ensemble on a data set and write its predictions for the test set.

    NAME is a data set that `labelwise_lab.datasets` knows, a folder of images (one subfolder per
    class) or a table (.csv, .arff; the last column is the label). A checkpoint is written after
    every epoch; after an interruption, the same command with --resume gives the same result.

    \b
    Examples:
      labelwise-lab train fashion-mnist -o preds.npz --download
      labelwise-lab train ./photos -o preds.npz
      labelwise-lab train cifar10 -o preds.npz --members 10 --resume
      labelwise-lab train mnist -o trial.npz --quick
    """
    from labelwise.io import check_format

    from ..datasets import standardize
    from ..datasets.load import data_files
    from ..training import find_recipe, fit_ensemble, predict_ensemble

    check_format(output)
    will_read(*data_files(name, data_dir))
    if not output.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(output.parent)!r} for the prediction file"
        )
    if output.exists() and not resume:
        raise FileExistsError(
            f"{str(output)!r} exists already; choose another name, or resume with --resume"
        )
    started = time.monotonic()
    data = _load(name, data_dir, download, sha256)
    if data.train is None:
        raise FileNotFoundError(
            f"the training set of {name} was not found, only its test set; --download gets it"
        )
    if data.train.x.ndim == 2:
        data = standardize(data)
    data = _cut(data) if quick else data
    if data.train is None:  # for the type checker: _cut keeps it
        return
    members = members or (QUICK["members"] if quick else 5)
    epochs = epochs or (QUICK["epochs"] if quick else None)
    shape = data.train.x.shape[1:]
    chosen = find_recipe(name, recipe, shape=shape if data.train.x.ndim == 2 else (1, *shape[:2]))
    chosen = replace(chosen, network=network or chosen.network, augment=augment or chosen.augment)
    folder = work_dir or output.with_suffix(".training")
    echo(
        f"{name}: {members} × {chosen.network}, {epochs or chosen.epochs} epochs, "
        f"{len(data.train):,} training instances; "
        f"checkpoints and metrics in {folder}",
        err=as_json,
    )
    fitted = fit_ensemble(
        chosen.network,
        data,
        n_members=members,
        recipe=chosen,
        rng=seed,
        out_dir=folder,
        resume=resume,
        epochs=epochs,
        n_jobs=n_jobs,
    )
    each, together = _accuracies(predict_ensemble(fitted, data.test, out=output).probs, data.test.y)
    n = len(data.test)
    elapsed = time.monotonic() - started
    if as_json:
        found = {
            "output": str(output),
            "instances": n,
            "members": len(each),
            "accuracy": together,
            "accuracy_of_members": each,
        }
        echo_json({**found, "seconds": elapsed})
        return
    echo(
        f"accuracy on {n:,} test instances: members {percent(sum(each) / len(each), 2)} on average "
        f"({percent(min(each), 2)} to {percent(max(each), 2)}), "
        f"ensemble {percent(together, 2)}"
    )
    minutes, seconds = divmod(round(elapsed), 60)
    echo(f"wrote {output} after {minutes} min {seconds} s")


def _load(name: str, data_dir: Path | None, download: bool, sha256: dict[str, str]) -> Dataset:
    """A data set by name, from a folder of images or from a table."""
    from labelwise.io.files import look_alike

    from ..datasets import load, load_image_folder, load_table, names

    path = Path(name)
    if name not in names() and path.is_dir():
        return load_image_folder(path)
    if name not in names() and path.suffix.lower() in (".csv", ".arff") and path.is_file():
        return load_table(path)
    if name not in names() and (path.name != name or path.suffix):
        raise FileNotFoundError(
            f"there is no folder or table {name!r}{look_alike(path)}. NAME is a folder of images "
            "(one subfolder per class), a table (.csv, .arff), "
            f"or one of {', '.join(names())}"
        )
    return load(name, data_dir=data_dir, download=download, sha256=sha256)


def _cut(data: Dataset) -> Dataset:
    """The first instances of a data set, for a trial run."""
    train, val = (
        None if part is None else part[: QUICK["train"]] for part in (data.train, data.val)
    )
    return replace(data, train=train, val=val, test=data.test[: QUICK["test"]])


def _accuracies(probs: np.ndarray, y: np.ndarray) -> tuple[list[float], float]:
    """Accuracy of each member and of their mean, in blocks."""
    import numpy as np

    members, ensemble = np.zeros(len(probs)), 0
    for start in range(0, len(y), 10_000):
        part, true = probs[:, start : start + 10_000], y[start : start + 10_000]
        members += (part.argmax(-1) == true).sum(1)
        ensemble += int((part.mean(0).argmax(-1) == true).sum())
    return (members / len(y)).tolist(), ensemble / len(y)
