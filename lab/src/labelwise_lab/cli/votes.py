"""``labelwise-lab votes``: where does aleatoric uncertainty track people?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labelwise.cli._input import Given, read_predictions
from labelwise.cli._output import echo, echo_json, echo_table, json_option, progress_bar
from labelwise.cli._paths import DATA_FOLDER, READ_FILE, WRITE_FILE, Command, InputName, will_read

if TYPE_CHECKING:
    from ..votes.data import VoteData


def _known_names() -> list[str]:
    from ..votes.data import KNOWN

    return list(KNOWN)


@click.command(cls=Command)
@click.argument("sets", metavar="SETS...", nargs=-1, required=True, type=InputName(_known_names))
@click.option(
    "--data-dir",
    type=DATA_FOLDER,
    default=Path("."),
    help="Folder with the files of known data sets.",
)
@click.option(
    "--votes",
    "votes_file",
    type=READ_FILE,
    help="Votes for your own predictions: .npy (N, K), or .npz with `votes`.",
)
@click.option(
    "--splits",
    type=click.IntRange(2),
    default=20,
    help="Random halves: repair on one, judge on the other.",
)
@click.option("--bootstrap", type=click.IntRange(20), default=100, help="Replicates of each test.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, help="Random seed for the splits and the tests."
)
@click.option("-o", "--output", type=WRITE_FILE, help="Write all numbers as .json.")
@json_option()
def command(
    sets: tuple[str, ...],
    data_dir: Path,
    votes_file: Path | None,
    splits: int,
    bootstrap: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare claimed uncertainty with people's votes, label by label, on SETS: data sets with
    votes, or your prediction files.

    Known sets, read from your own copies in --data-dir: cifar10h (cifar10_8_networks.npz and
    cifar10h-counts.npy), chaosnli (chaosnli_snli.npz), sleep (sleep_dodh.npz). A prediction file
    needs --votes, or an array `votes` of its own (N, K); with `annotators` it holds the class that
    each chose (N, A).

    \b
    Examples:
      labelwise-lab votes cifar10h chaosnli sleep --data-dir ~/data -o votes.json
      labelwise-lab votes preds.npz --votes votes.npy
    """
    from ..votes.benchmark import benchmark_votes
    from ..votes.data import known_files

    will_read(*known_files(data_dir))
    results: dict[str, Any] = {}
    for name in sets:
        data = _load(name, data_dir, votes_file, quiet=as_json)
        with progress_bar(data.name) as progress:
            found = benchmark_votes(
                data.q,
                data.votes,
                annotators=data.annotators,
                groups=data.groups,
                n_splits=splits,
                n_bootstrap=bootstrap,
                rng=seed,
                progress=progress,
            )
        results[data.name] = {"note": data.note, "seed": seed, **found}
        if not as_json:
            _show(data.name, results[data.name])
    if output is not None:
        from ..files import write_file

        write_file(output, json.dumps(results, separators=(",", ":"), ensure_ascii=False) + "\n")
    if as_json:
        echo_json(results)


def _load(name: str, data_dir: Path, votes_file: Path | None, *, quiet: bool) -> VoteData:
    from ..votes.data import KNOWN, load_vote_data, with_votes

    if name in KNOWN:
        return load_vote_data(name, data_dir)
    if not Path(name).exists() and not Path(name).suffix:
        raise ValueError(
            f"{name!r} is neither a file nor one of the data sets with votes: {', '.join(KNOWN)}"
        )
    return with_votes(
        Path(name).stem, read_predictions(Given((Path(name),)), quiet=quiet), votes_file
    )


def _show(name: str, result: dict[str, Any]) -> None:
    parts = list(result["reliability"])
    rows = [
        (label, *(_ratio(result["reliability"][part]["labels"]["ratio"], k) for part in parts))
        for k, label in enumerate(result["class_names"])
    ]
    rows.append(("sum", *(_ratio(result["reliability"][part]["sum"]["ratio"]) for part in parts)))
    echo_table(
        f"{name}: claimed ÷ observed, {result['cases']:,} cases, 95 % intervals",
        ("label", *parts),
        rows,
    )
    if result["note"]:
        echo(result["note"])
    if result["hard"]:
        (claimed, error), (claimed2, error2) = (
            result["total_scores"][key] for key in ("claimed", "repaired")
        )
        echo(
            f"Held out: TU claimed {claimed:.4f}, squared error of a vote {error:.4f}; with the "
            f"mean repaired {claimed2:.4f} and {error2:.4f}."
        )
        return
    from ..votes.benchmark import REFERENCE

    echo_table(
        (
            f"{name}: held-out squared error against the votes, × 10,000, summed over the labels; "
            f"{result['splits']} splits"
        ),
        ("claim", "score", "calibration", "resolution", f"score − that of “{REFERENCE}”"),
        [
            (
                claim,
                *(1e4 * x[key] for key in ("score", "calibration", "resolution")),
                "{:+.2f} ({:+.2f} to {:+.2f})".format(*(1e4 * d for d in x["difference"])),
            )
            for claim, x in result["scores"].items()
        ],
    )
    for key, words in (("claimed", "As claimed"), ("repaired", "Repaired")):
        test = result["test"][key]
        echo(
            f"{words}: the test rejects in {test['rejected']:.0%} of the splits; right within "
            f"{100 * test['within']:.0f} % (median)."
        )


def _ratio(ratio: list[Any], k: int | None = None) -> str:
    value, low, high = ratio if k is None else (x[k] for x in ratio)
    if value is None:
        return "–"
    return f"{value:.2f}" if low is None else f"{value:.2f} ({low:.2f} to {high:.2f})"
