"""``labelwise demo``: real predictions that come with the package, as tables and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._output import echo, echo_json, echo_table


@click.command()
@click.option("-o", "--output", default="report.html", show_default=True, type=click.Path(path_type=Path), help="Page to write (.html).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(output: Path, as_json: bool) -> None:
    """See what it does, in seconds: five networks on FashionMNIST, which classes they are unsure about, and why.

    Nothing is trained and nothing is downloaded. The predictions are in the package; the page shows them one by one.

    \b
    Examples:
      labelwise demo
      labelwise demo -o fashion.html
    """
    from ..datasets import load_fashion_ensemble
    from ..report import write_report

    _keep_what_is_not_ours(output)
    fashion = load_fashion_ensemble()
    report = write_report(
        output,
        fashion.ensemble,
        y_true=fashion.y_true,
        images=fashion.images,
        image_index=fashion.image_index,
        ood=fashion.ood,
        title="FashionMNIST",
    )
    found = summary(report.data)
    if as_json:
        echo_json({**found, "output": str(output)})
        return
    echo(f"Five networks, {found['instances']:,} test images of clothes: {found['accuracy']:.1%} right.\n")
    echo_table(
        "Which classes are they unsure about? Mean over the images of each class, in bits",
        ("class", "total", "aleatoric", "epistemic", "share", "would data help?"),
        [
            (x["class"], f"{x['total']:.3f}", f"{x['aleatoric']:.3f}", f"{x['epistemic']:.3f}", f"{x['share']:.0%}", x["data_would_help"])
            for x in found["classes"]
        ],
    )
    echo_table(
        "Without the most uncertain fifth",
        ("most uncertain by", "right among the rest"),
        [(part, f"{x:.2%}") for part, x in found["accuracy_without_a_fifth"].items()],
    )
    echo_table(
        "Do other pictures stand out? (AUROC)",
        ("pictures", "total", "aleatoric", "epistemic"),
        [(name, *(f"{x:.3f}" for x in scores.values())) for name, scores in found["detection"].items()],
    )
    echo(f"Look at single images, and at what mistakes cost: open {output.resolve().as_uri()} in a browser.")


def summary(data: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the tables, from those of the page."""
    from ..decomposition import PARTS
    from ..report.explanations import HELP

    loss = data["losses"][0]
    means, verdicts = loss["labels"]["own"], loss["verdicts"]["own"]
    order = sorted(range(len(data["labels"])), key=lambda k: -means["total"][k])
    fifth = int(0.2 * len(data["rejection"]["grid"]))
    return {
        "instances": data["n"],
        "accuracy": data["accuracy"],
        "loss": loss["key"],
        "classes": [
            {
                "class": data["labels"][k],
                **{part: float(means[part][k]) for part in PARTS},
                "share": float(means["epistemic"][k] / means["total"][k]),
                "data_would_help": HELP[verdicts[k]],
            }
            for k in order
        ],
        "accuracy_without_a_fifth": {part: float(curve["value"][fifth]) for part, curve in loss["rejection"].items()},
        "detection": {
            other["name"]: {part: found["auroc"] for part, found in other["losses"][loss["key"]].items()} for other in data["detection"]
        },
    }


def _keep_what_is_not_ours(path: Path) -> None:
    """A demonstration must not take the place of somebody's file."""
    if path.is_file() and b"labelwise</title>" not in path.read_bytes()[:2000]:
        raise FileExistsError(f"{str(path)!r} exists and is not a labelwise report; choose another name with -o")
