"""``labelwise demo``: tables and a report page from the bundled predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .._format import count, fixed, percent
from ._output import echo, echo_json, echo_table, json_option
from ._paths import WRITE_FILE, Command


@click.command(cls=Command)
@click.option(
    "-o", "--output", default="report.html", type=WRITE_FILE, help="Page to write (.html)."
)
@json_option()
def command(output: Path, as_json: bool) -> None:
    """Show the label-wise uncertainty of five networks on FashionMNIST, in seconds.

    The predictions are bundled: nothing is trained or downloaded. The report page shows individual
    images.

    \b
    Examples:
      labelwise demo
      labelwise demo -o fashion.html
    """
    from ..demo import load_fashion_ensemble
    from ..report import write_report
    from ..report.explanations import PARTS_EXPLAINED

    _refuse_foreign_file(output)
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
    echo(
        f"Five networks, {count(found['instances'])} test images: accuracy "
        f"{percent(found['accuracy'])}.\n{found['calibration']}\n"
    )
    echo_table(
        "Mean uncertainty over the images of each class, in bits",
        ("class", "total", "aleatoric", "epistemic", "epistemic share"),
        [
            (
                x["class"],
                fixed(x["total"], 3),
                fixed(x["aleatoric"], 3),
                fixed(x["epistemic"], 3),
                percent(x["epistemic_share"], 0),
            )
            for x in found["classes"]
        ],
    )
    echo(f"{PARTS_EXPLAINED}\n")
    echo_table(
        "Accuracy after rejecting the most uncertain 20 %",
        ("reject by", "accuracy of the rest"),
        [(part, percent(x, 2)) for part, x in found["accuracy_at_80"].items()],
    )
    echo_table(
        "Out-of-distribution detection (AUROC)",
        ("data set", "total", "aleatoric", "epistemic"),
        [
            (name, *(fixed(x, 3) for x in scores.values()))
            for name, scores in found["detection"].items()
        ],
    )
    echo(f"To explore single images and costs, open {output.resolve().as_uri()} in a browser.")


def summary(data: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the tables, from the page's data."""
    from ..decomposition import PARTS

    loss = data["losses"][0]
    means = loss["labels"]["own"]
    order = sorted(range(len(data["labels"])), key=lambda k: -means["total"][k])
    fifth = int(0.2 * len(data["rejection"]["grid"]))
    return {
        "instances": data["n"],
        "accuracy": data["accuracy"],
        "calibration": data["calibration"]["sentence"],
        "loss": loss["key"],
        "classes": [
            {
                "class": data["labels"][k],
                **{part: float(means[part][k]) for part in PARTS},
                "epistemic_share": float(means["epistemic_share"][k]),
            }
            for k in order
        ],
        "accuracy_at_80": {
            part: float(curve["value"][fifth]) for part, curve in loss["rejection"].items()
        },
        "detection": {
            other["name"]: {
                part: found["auroc"] for part, found in other["losses"][loss["key"]].items()
            }
            for other in data["detection"]
        },
    }


def _refuse_foreign_file(path: Path) -> None:
    """Do not overwrite a file that is not a report."""
    if path.is_file() and b"labelwise</title>" not in path.read_bytes()[:2000]:
        raise FileExistsError(
            f"{str(path)!r} exists and is not a labelwise report; choose another name with -o"
        )
