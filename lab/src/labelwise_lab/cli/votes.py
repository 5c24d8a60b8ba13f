"""``labelwise-lab votes``: where does aleatoric uncertainty track people?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from labelwise.cli import echo, echo_json, echo_table, progress_bar, will_read

from ._options import DATA_FOLDER, WRITE_FILE, json_option

KNOWN = ("cifar10h", "chaosnli", "sleep")


@click.command()
@click.argument("sets", metavar="SETS...", nargs=-1, required=True, type=click.Choice(KNOWN))
@click.option(
    "--data-dir",
    type=DATA_FOLDER,
    default=Path("."),
    help="Folder with the files of known data sets.",
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
    splits: int,
    bootstrap: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare claimed uncertainty with people's votes, label by label, on SETS: cifar10h, chaosnli,
    sleep.

    They are read from your own copies in --data-dir: cifar10h (cifar10_8_networks.npz and
    cifar10h-counts.npy), chaosnli (chaosnli_snli.npz), sleep (sleep_dodh.npz). For your own
    predictions and votes there is `labelwise evaluate --votes`.

    \b
    Example:
      labelwise-lab votes cifar10h chaosnli sleep --data-dir ~/data -o votes.json
    """
    from ..votes.benchmark import benchmark_votes
    from ..votes.data import known_files, load_vote_data

    will_read(*known_files(data_dir))
    results: dict[str, Any] = {}
    for name in sets:
        data = load_vote_data(name, data_dir)
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
