"""``labelwise demo``: what `labelwise evaluate` prints, and a report page, of the bundled
predictions.
"""

from __future__ import annotations

from pathlib import Path

import click

from ._output import echo
from ._paths import output_option
from ._votes import compare_votes
from .evaluate import evaluate_detection, evaluate_instances


@click.command()
@click.argument("data", type=click.Choice(["fashion", "ecg"]), default="fashion")
@output_option("Page to write (.html).", default="report.html")
def command(data: str, output: Path) -> None:
    """Evaluate bundled predictions and write a report about them, in seconds.

    DATA is fashion, five networks on FashionMNIST and on images of other kinds, or ecg, ten
    networks on electrocardiograms with six findings that may occur together, and what five readers
    said about them. Nothing is trained or downloaded. The report page shows individual cases.

    \b
    Examples:
      labelwise demo
      labelwise demo ecg -o ecg.html
    """
    from ..demo import load_ecg_ensemble, load_fashion_ensemble
    from ..io import Predictions
    from ..report import write_report

    if output.is_file() and b"labelwise</title>" not in output.read_bytes()[:2000]:
        raise FileExistsError(
            f"{str(output)!r} exists and is not a labelwise report; choose another name with -o"
        )
    others = {}
    if data == "fashion":
        fashion = load_fashion_ensemble()
        cases = Predictions(q=fashion.ensemble, y_true=fashion.y_true)
        others = {name: Predictions(q=q) for name, q in fashion.ood.items()}
        write_report(
            output,
            cases,
            images=fashion.images,
            image_index=fashion.image_index,
            ood=fashion.ood,
            title="FashionMNIST",
        )
    else:
        ecg = load_ecg_ensemble()
        cases = Predictions(q=ecg.ensemble, y_true=ecg.y_true)
        write_report(output, cases, title="ECG")
    sections = [evaluate_instances(cases, "log")]
    for name, other in others.items():
        sections.append(evaluate_detection(cases, other, name, "log"))
    if data == "ecg":
        sections.append(compare_votes(ecg.ensemble, None, ecg.votes, annotators=ecg.readers))
    for _, text in sections:
        echo(f"{text}\n")
    echo(f"To explore single cases and costs, open {output.resolve().as_uri()} in a browser.")
