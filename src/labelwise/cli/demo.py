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
    from ..decomposition import PARTS
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
        result = summarize_page(report.data)
        who, cases, right = "Five networks", "test images", "accuracy"
    else:
        ecg = load_ecg_ensemble()
        report = write_report(output, ecg.ensemble, y_true=ecg.y_true, title="ECG")
        result = summarize_page(report.data)
        result["votes"] = compare_votes(ecg.ensemble, None, ecg.votes, annotators=ecg.readers)
        who, cases, right = "Ten networks", "ECGs", "share of labels right"
    if as_json:
        echo_json({**result, "output": str(output)})
        return
    echo(
        f"{who}, {count(result['instances'])} {cases}: {right} {percent(result['accuracy'])}.\n"
        f"{result['calibration']}\n"
    )
    rows: list[list[str]] = []
    for x in result["classes"]:
        parts = [fixed(x[part], 3) for part in PARTS]
        rows.append([x["class"], *parts, percent(x["epistemic_share"], 0)])
    title = "Mean uncertainty over the cases of each class, in bits"
    echo_table(title, ("class", *PARTS, "epistemic share"), rows)
    echo(f"{PARTS_EXPLAINED}\n")
    echo_table(
        "After rejecting the most uncertain 20 %",
        ("reject by", f"{right} of the rest"),
        [(part, percent(x, 2)) for part, x in result["accuracy_at_80"].items()],
    )
    if result["detection"]:
        rows = []
        for name, scores in result["detection"].items():
            rows.append([name, *(fixed(scores[part], 3) for part in PARTS)])
        echo_table("Out-of-distribution detection (AUROC)", ("data set", *PARTS), rows)
    if "votes" in result:
        show_votes(result["votes"])
    echo(f"To explore single cases and costs, open {output.resolve().as_uri()} in a browser.")


def summarize_page(data: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the tables, from the page's data."""
    loss = data["losses"][0]
    classes = []
    for k, name in enumerate(data["labels"]):
        means = {part: float(values[k]) for part, values in loss["labels"]["own"].items()}
        classes.append({"class": name, **means})
    fifth = int(0.2 * len(data["rejection"]["grid"]))
    kept = {part: float(curve["value"][fifth]) for part, curve in loss["rejection"].items()}
    detection = {}
    for other in data["detection"]:
        scores = other["losses"][loss["key"]]
        detection[other["name"]] = {part: scores[part]["auroc"] for part in scores}
    return {
        "instances": data["n"],
        "accuracy": data["accuracy"],
        "calibration": data["calibration"]["sentence"],
        "loss": loss["key"],
        "classes": sorted(classes, key=lambda x: -x["total"]),
        "accuracy_at_80": kept,
        "detection": detection,
    }


def _refuse_foreign_file(path: Path) -> None:
    """Do not overwrite a file that is not a report."""
    if path.is_file() and b"labelwise</title>" not in path.read_bytes()[:2000]:
        raise FileExistsError(
            f"{str(path)!r} exists and is not a labelwise report; choose another name with -o"
        )
