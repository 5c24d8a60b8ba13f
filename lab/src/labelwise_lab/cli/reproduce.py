"""``labelwise-lab reproduce``: the paper's experiments on real data, saved to a results folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from labelwise.cli import InputPath, OutputPath, echo, echo_table, will_write

from ..files import reading
from ..text import counted
from ._options import DATA_FOLDER, READ_FILE, READ_FOLDER, sha256_option

RESULTS = Path("lab/results")
BUNDLED = Path("src/labelwise/demo/fashion.npz")
# default data set of each experiment
DEFAULT_DATA = {
    "arc": "fashion-mnist",
    "ood": "fashion-mnist",
    "losses": "fashion-mnist",
    "gallery": "mnist",
    "holdout": "fashion-mnist",
    "artifact": "cifar10",
    "human": "cifar10",
}


@click.group()
def command() -> None:
    """Reproduce the paper's experiments (published protocol or released code), corrected, with
    control arms.

    \b
    Results are saved run by run. Finished runs are loaded; interrupted ones are resumed.
      labelwise-lab reproduce ood --runs 5 --data-dir DATA
      labelwise-lab reproduce holdout --data cifar10 --runs 2 --arm swap --arm no-swap
      labelwise-lab reproduce arc --quick
      labelwise-lab reproduce page
    """


# The folder is read as a whole, and results are added to it.
RESULTS_OPTION = click.option(
    "-o", "--results", type=READ_FOLDER, default=RESULTS, help="Results folder."
)


def experiment(name: str, summary: str, *more: Any) -> None:
    """Add the command of one experiment; they share their options."""

    def run(
        results: Path,
        data: str | None,
        protocol: str,
        members: int | None,
        change: tuple[str, ...],
        data_dir: Path | None,
        download: bool,
        sha256: dict[str, str],
        n_jobs: int | None,
        quick: bool,
        runs: int | None = None,
        epochs: int | None = None,
        **options: Any,
    ) -> None:
        from ..paper import arc, artifact, gallery, holdout, human, losses, ood
        from ..paper.results_folder import Options
        from ..paper.settings import QUICK, Setting, parse_change

        runners: dict[str, Callable[..., Any]] = {
            "arc": arc.run,
            "ood": ood.run,
            "losses": losses.run,
            "gallery": gallery.run,
            "holdout": holdout.run,
            "artifact": artifact.run,
            "human": human.run,
        }
        if quick and data not in (None, "digits"):
            raise ValueError(
                f"--quick uses scikit-learn's digits; it cannot be combined with --data {data}"
            )
        setting = Setting(
            "digits" if quick else data or DEFAULT_DATA[name],
            protocol,
            members or (QUICK["members"] if quick else 5),
            epochs or (QUICK["epochs"] if quick and name != "holdout" else None),
            tuple(parse_change(text) for text in change),
        )
        setting = holdout.canonical(setting) if name == "holdout" else setting.canonical()
        about = Options(
            results, data_dir, download, n_jobs, lambda text: echo(text, err=True), _typed(), sha256
        )
        numbers = runners[name](
            setting,
            runs or (QUICK["runs"] if quick else 1),
            about,
            **{key: value for key, value in options.items() if value},
        )
        folder = results / (f"holdout-{setting.name}" if name == "holdout" else setting.name)
        if not numbers:
            echo("trained; nothing is computed without the runs before --first-run")
            return
        _echo_tables(folder / f"{name}.json")
        echo(f"wrote {folder / name}.json and its figure")

    decorated: Any = run
    for option in (*more, *_shared(name)):
        decorated = option(decorated)
    command.command(name, help=summary)(decorated)


def _shared(name: str) -> list[Any]:
    from ..paper.settings import DATA

    count = click.IntRange(1)
    epochs = click.option(
        "--epochs",
        type=count,
        help="Epochs; the learning-rate schedule is scaled.  [default: the recipe's]",
    )
    runs = click.option(
        "--runs",
        type=count,
        help="Number of independent ensembles; run r has random seed r.  [default: 1]",
    )
    return [
        click.option(
            "--quick",
            is_flag=True,
            help="Quick trial on scikit-learn's digits: 2 runs of 2 members.",
        ),
        click.option(
            "--n-jobs",
            type=count,
            help="Members trained in parallel.  [default: by number of processors]",
        ),
        sha256_option(),
        click.option(
            "--download", is_flag=True, help="Download missing files from their publisher."
        ),
        click.option(
            "--data-dir",
            type=DATA_FOLDER,
            help="Folder with the data sets.  [default: LABELWISE_DATA, or the cache]",
        ),
        click.option(
            "--change",
            multiple=True,
            metavar="FIELD=VALUE",
            help="Change a setting of the recipe, e.g. batch_size=64; repeatable.",
        ),
        *[epochs] * (name != "holdout"),  # it has a fixed number
        click.option("--members", type=count, help="Size of the ensemble.  [default: 5]"),
        *[runs] * (name != "gallery"),  # it shows the first
        click.option(
            "--protocol",
            type=click.Choice(["paper", "code"]),
            default="paper",
            help="Settings of the paper's text or of the released code.",
        ),
        click.option(
            "--data",
            type=click.Choice(list(DATA)),
            help=f"Data set.  [default: {DEFAULT_DATA[name]}]",
        ),
        RESULTS_OPTION,
    ]


def _holdout_options() -> list[Any]:
    from ..paper.holdout import ARMS

    words = "Arm to run, with the one it is compared with; repeatable.  [default: all]"
    return [
        _first_run(),
        click.option("--arm", "arms", multiple=True, type=click.Choice(list(ARMS)), help=words),
    ]


def _first_run() -> Any:
    words = (
        "First run to train; earlier ones are used if stored, so that machines can share the work. "
        " [default: 0]"
    )
    return click.option("--first-run", type=click.IntRange(0), help=words)


def _typed() -> str:
    """The command line without local folders."""
    words, skip = [], False
    for word in sys.argv[1:]:
        if skip or word in ("--data-dir", "-o", "--results", "--n-jobs"):
            skip = not skip
            continue
        if not word.startswith(("--data-dir=", "--results=", "--n-jobs=")):
            words.append(word)
    return " ".join(["labelwise", *words])


def _echo_tables(path: Path, prefix: str = "") -> None:
    from ..paper.tables import tables

    for title, columns, rows in tables(path):
        echo_table(prefix + title, columns, rows)


experiment(
    "arc",
    "Accuracy–rejection curves of total, aleatoric and epistemic uncertainty by three measures.",
)
experiment("ood", "Out-of-distribution detection: AUROC of three measures.", _first_run())
experiment("losses", "Compare six losses for rejection and out-of-distribution detection.")
experiment("gallery", "The most uncertain instances of the first run, with label-wise bars.")
experiment("artifact", "Effect of preprocessing alone on the AUROC of CIFAR-10 against itself.")
experiment("human", "Label-wise aleatoric uncertainty against human votes (CIFAR-10H).")
experiment(
    "holdout",
    "New data for the class with the highest epistemic uncertainty, with control arms.",
    *_holdout_options(),
)


@command.command()
@click.argument("files", nargs=-1, required=True, type=READ_FILE)
@RESULTS_OPTION
def published(files: tuple[Path, ...], results: Path) -> None:
    """Recompute Table 2 from the authors' published arrays: .npz FILES with `eus_before` and
    `eus_after`.

    The data set is taken from the end of the file name, as in label_uq_holdout_cifar.npz.
    """
    from ..paper.holdout_numbers import published as recompute
    from ..paper.results_folder import Options, record

    for path in files:
        name = path.stem.rpartition("_")[2]
        with reading(path):
            numbers, drops = recompute(path)
        record(
            "published",
            name,
            numbers,
            Options(results, command=f"labelwise-lab reproduce published {path.name}"),
            runs=drops.n_runs,
        )
        _echo_tables(results / "published" / f"{name}.json", f"{name}: ")


@command.command()
@click.option(
    "--training",
    "trainings",
    multiple=True,
    type=InputPath(exists=True, file_okay=False),
    help="Add a training: a folder with run-0 and so on; repeatable.",
)
@RESULTS_OPTION
def fingerprint(trainings: tuple[Path, ...], results: Path) -> None:
    """Compare AUROCs and their differences between measures with the paper's Table 1: for 2 to 15
    members, and for other trainings.
    """
    from ..paper.fingerprint import run
    from ..paper.results_folder import Options

    run(Options(results, command="labelwise-lab reproduce fingerprint"), trainings)
    _echo_tables(results / "fingerprint" / "fingerprint.json")


@command.command()
@click.option(
    "--output",
    type=OutputPath(dir_okay=False),
    default=BUNDLED,
    help="File to write.",
)
@RESULTS_OPTION
def bundle(results: Path, output: Path) -> None:
    """Regenerate the bundled predictions from run 0 of `reproduce ood --data fashion-mnist`."""
    from ..datasets import load
    from ..paper.bundle import OOD
    from ..paper.bundle import bundle as write
    from ..paper.results_folder import Options, predictions
    from ..paper.settings import Setting, TestImages

    wanted = [TestImages(name) for name in ("fashion-mnist", *OOD)]
    options = Options(results, say=lambda text: echo(text, err=True))
    inside, *outside = predictions(Setting("fashion-mnist"), 0, wanted, options).values()
    images = load("fashion-mnist").test.x
    write(inside, dict(zip(OOD, outside, strict=True)), images, output)
    echo(f"wrote {output}")


@command.command()
@click.option(
    "--data-dir",
    "data_dirs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help=(
        "Folder with cifar10h-counts.npy or the authors' label_uq_holdout_*.npz; repeatable.  "
        "[default: LABELWISE_DATA and the cache]"
    ),
)
@RESULTS_OPTION
def audit(results: Path, data_dirs: tuple[Path, ...]) -> None:
    """Recompute the stored results with plain NumPy and scikit-learn.

    What follows from stored predictions needs nothing more. Numbers that need human votes or the
    authors' arrays are recomputed if a data directory has them. Exits with 1 if a number differs,
    if a file cannot be read, or if nothing could be recomputed.
    """
    from ..datasets.load import data_places
    from ..paper.audit import TOLERANCE
    from ..paper.audit import audit as recompute

    if not results.is_dir():
        raise FileNotFoundError(f"there is no results folder {str(results)!r}")
    found = recompute(results, echo, data_dirs=data_dirs or data_places())
    if found.different:
        rows = [
            (check.name, str(check.stored), f"{check.recomputed:.7f}") for check in found.different
        ]
        echo_table("Numbers that differ", ("number", "stored", "recomputed"), rows)
    limits = f"differ by more than {TOLERANCE:g} (areas 5e-06, distances in standard errors 0.05)"
    echo(f"{found.count} numbers recomputed, {len(found.different)} {limits}")
    echo(
        f"{counted(len(found.skipped), 'result')} not recomputed, {len(found.unreadable)} "
        "unreadable"
    )
    if not found.count:
        echo(
            (
                f"Error: nothing in {str(results)!r} could be recomputed; an audit of nothing does "
                "not pass"
            ),
            err=True,
        )
    if not found.passed:
        raise SystemExit(1)


@command.command()
@click.option(
    "--output",
    type=OutputPath(file_okay=False, replaced=False),
    default=Path("docs/lab"),
    help="Folder to write to.",
)
@RESULTS_OPTION
def page(results: Path, output: Path) -> None:
    """Write claims.md, what of the paper holds; its appendix, results-tables.md; and their pictures
    to the folder OUTPUT.
    """
    from ..files import write_file
    from ..paper.appendix import appendix
    from ..paper.claims import claims_page
    from ..paper.dotplots import draw
    from ..paper.provenance import Results

    if not results.is_dir():
        raise FileNotFoundError(f"there is no results folder {str(results)!r}")
    folder = Results(results, output)
    made = draw(folder, output.parent / "pictures")
    for name, write in (("claims.md", claims_page), ("results-tables.md", appendix)):
        write_file(will_write(output / name), write(folder))
        made.append(output / name)
    echo(f"wrote {', '.join(map(str, made))}")
