"""``labelwise demo``: tables and a report page from the bundled predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .._format import count, fixed, percent
from ._input import Choice
from ._output import echo, echo_json, echo_table, json_option
from ._paths import OutputPath
from ._votes import compare_votes, show_votes


@click.command()
@click.argument("data", type=Choice(["fashion", "ecg"]), default="fashion")
@click.option(
    "-o", "--output", default="report.html", type=OutputPath(), help="Page to write (.html)."
)
@json_option()
def command(data: str, output: Path, as_json: bool) -> None:
    """Show the label-wise uncertainty of bundled predictions, in seconds.

    DATA is fashion, five networks on FashionMNIST and on images of other kinds, or ecg, ten
    networks on electrocardiograms with six findings that may occur together, and what five readers
    said about them. Nothing is trained or downloaded. The report page shows individual cases.

    \b
    Examples:
      labelwise demo
      labelwise demo ecg -o ecg.html
    """
    from ..demo import load_ecg_ensemble, load_fashion_ensemble
    from ..report import write_report
    from ..report.explanations import PARTS_EXPLAINED

    _refuse_foreign_file(output)
    if data == "fashion":
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
        found, words = summary(report.data), ("Five networks", "test images", "accuracy")
    else:
        ecg = load_ecg_ensemble()
        report = write_report(output, ecg.ensemble, y_true=ecg.y_true, title="ECG")
        found, words = summary(report.data), ("Ten networks", "ECGs", "share of labels right")
        found["votes"] = compare_votes(ecg.ensemble, None, ecg.votes, annotators=ecg.readers)
    if as_json:
        echo_json({**found, "output": str(output)})
        return
    who, cases, right = words
    echo(
        f"{who}, {count(found['instances'])} {cases}: {right} {percent(found['accuracy'])}.\n"
        f"{found['calibration']}\n"
    )
    parts = ("total", "aleatoric", "epistemic")
    echo_table(
        "Mean uncertainty over the cases of each class, in bits",
        ("class", *parts, "epistemic share"),
        [
            (x["class"], *(fixed(x[part], 3) for part in parts), percent(x["epistemic_share"], 0))
            for x in found["classes"]
        ],
    )
    echo(f"{PARTS_EXPLAINED}\n")
    echo_table(
        "After rejecting the most uncertain 20 %",
        ("reject by", f"{right} of the rest"),
        [(part, percent(x, 2)) for part, x in found["accuracy_at_80"].items()],
    )
    if found["detection"]:
        echo_table(
            "Out-of-distribution detection (AUROC)",
            ("data set", *parts),
            [
                (name, *(fixed(x, 3) for x in scores.values()))
                for name, scores in found["detection"].items()
            ],
        )
    if "votes" in found:
        show_votes(found["votes"])
    echo(f"To explore single cases and costs, open {output.resolve().as_uri()} in a browser.")


def summary(data: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the tables, from the page's data."""
    loss = data["losses"][0]
    means = loss["labels"]["own"]
    classes = [
        {"class": name, **{key: float(means[key][k]) for key in means}}
        for k, name in enumerate(data["labels"])
    ]
    fifth = int(0.2 * len(data["rejection"]["grid"]))
    detection = {}
    for other in data["detection"]:
        scores = other["losses"][loss["key"]]
        detection[other["name"]] = {part: found["auroc"] for part, found in scores.items()}
    return {
        "instances": data["n"],
        "accuracy": data["accuracy"],
        "calibration": data["calibration"]["sentence"],
        "loss": loss["key"],
        "classes": sorted(classes, key=lambda x: -x["total"]),
        "accuracy_at_80": {
            part: float(curve["value"][fifth]) for part, curve in loss["rejection"].items()
        },
        "detection": detection,
    }


def _refuse_foreign_file(path: Path) -> None:
    """Do not overwrite a file that is not a report."""
    if path.is_file() and b"labelwise</title>" not in path.read_bytes()[:2000]:
        raise FileExistsError(
            f"{str(path)!r} exists and is not a labelwise report; choose another name with -o"
        )
