"""``labelwise evaluate``: evaluate the uncertainty of labeled predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._input import FILE, Given, predictions_argument, read_predictions
from ._output import echo, echo_json, echo_table, json_option, loss_option

if TYPE_CHECKING:
    from ..evaluation import ByClass
    from ..io import Predictions
    from ..losses import LossName


@click.command()
@predictions_argument()
@click.option("--ood", type=FILE, help="Predictions for out-of-distribution instances to detect.")
@loss_option(default="log")
@click.option("--seed", type=click.IntRange(0), default=0, help="Random seed for the bootstrap intervals.")
@json_option()
def command(predictions: Given, ood: Path | None, loss: LossName, seed: int, as_json: bool) -> None:
    """Evaluate PREDICTIONS with `y_true`: rejection, calibration, classes and, with --ood, out-of-distribution detection.

    \b
    Examples:
      labelwise evaluate preds.npz
      labelwise evaluate preds.npz --ood other.npz --json
      labelwise evaluate model1.csv model2.csv --labels truth.csv
    """
    stored = read_predictions(predictions, quiet=as_json)
    if stored.y_true is None:
        raise ValueError(f"{predictions.name} has no `y_true`; evaluation needs true labels (--labels FILE)")
    other = None
    if ood is not None:
        other = read_predictions(predictions.other(ood), quiet=as_json)
        stored.check_same_classes(other, ood.name)
    result = evaluate(stored, other, loss, seed)
    if as_json:
        echo_json(result)
        return
    right = "accuracy" if not stored.multilabel else "share of labels right"
    single = stored.n_members == 1
    echo_table(
        f"{result['instances']:,} instances, {right} {result['accuracy']:.1%}, calibration error {result['calibration_error']:.3f}",
        ("reject by", f"area under {right}", "normalized area", "AUGRC", f"{right} at 80 %"),
        [
            (part, *("–" if single and part == "epistemic" else x[key] for key in ("area", "normalized_area", "augrc", "accuracy_at_80")))
            for part, x in result["rejection"].items()
        ],
    )
    echo_table(
        "Classes, least known first",
        ("class", "instances", "epistemic, own instances", "epistemic, all", "epistemic share, own instances"),
        [
            (x["class"], x["instances"], *("–" if single else x[key] for key in ("epistemic_own", "epistemic_all", "epistemic_share")))
            for x in result["classes"]
        ],
    )
    if result["members"] is not None:
        echo(result["members"])
    if "detection" in result:
        echo_table(
            f"Out-of-distribution detection: {result['out_of_distribution']:,} instances of {ood}",
            ("score", "AUROC", "95 % interval", "AUPR", "FPR at 95 % TPR"),
            [(part, x["auroc"], f"{x['low']:.4f} to {x['high']:.4f}", x["aupr"], x["fpr95"]) for part, x in result["detection"].items()],
        )


def evaluate(stored: Predictions, other: Predictions | None, loss: LossName, seed: int) -> dict[str, Any]:
    """All numbers of the command, as plain data; for labels that may occur together, accuracy is the share of labels that are right."""
    import numpy as np

    from ..calibration import calibration_errors
    from ..decomposition import PARTS, decompose
    from ..evaluation import by_class, check_ensemble, detection_scores, ranking_scores, rejection_curve
    from ..evaluation.detection import as_numbers

    q = stored.distribution()
    u, mean, y = decompose(q, loss), q.mean(), stored.true_class
    total = u.sum() if u.loss.smooth else ranking_scores(q, loss)  # a kink has exact ties
    scores = {part: getattr(total, part) for part in PARTS}
    errors = calibration_errors(q, stored.y_true if not stored.multilabel else y)
    if stored.multilabel:
        correct = ((mean > 0.5) == y).mean(-1)
        certainty = "mean certainty", -np.maximum(mean, 1 - mean).mean(-1)
    else:
        correct = mean.argmax(-1) == y
        certainty = "maximum probability", -mean.max(-1)
    ranked = dict([*scores.items(), certainty])
    kind = "utility" if stored.multilabel else "correct"
    curves = {name: rejection_curve(score, **{kind: correct}) for name, score in ranked.items()}
    augrc = {name: rejection_curve(score, risk=1.0 - correct).augrc for name, score in ranked.items()}  # multi-label: share of wrong labels
    result: dict[str, Any] = {
        "instances": len(stored),
        "classes_total": stored.n_classes,
        "loss": loss,
        "members": str(check_ensemble(stored)) if (stored.n_members or 0) > 1 else None,
        "accuracy": float(correct.mean()),
        "calibration_error": float(errors.classwise.value.mean() if errors.ece is None else errors.ece.value),
        "rejection": {
            name: {"area": c.area, "normalized_area": c.normalized_area, "augrc": augrc[name], "accuracy_at_80": c.at_coverage(0.8)}
            for name, c in curves.items()
        },
        "classes": _classes(by_class(u, stored.y_true if not stored.multilabel else y, mean=mean, rng=seed, n_bootstrap=200)),
    }
    if other is not None:
        outside = decompose(other.distribution(), loss).sum() if u.loss.smooth else ranking_scores(other.distribution(), loss)
        result["out_of_distribution"] = len(other)
        result["detection"] = {
            part: as_numbers(detection_scores(score, getattr(outside, part), rng=seed, n_bootstrap=200)) for part, score in scores.items()
        }
    return result


def _classes(by: ByClass) -> list[dict[str, Any]]:
    return [
        {
            "class": name,
            "instances": int(by.counts[k]) if by.counts is not None else None,
            "epistemic_own": float(by.own.epistemic.value[k]) if by.own is not None else None,
            "epistemic_all": float(by.everywhere.epistemic.value[k]),
            "epistemic_share": float((by.own or by.everywhere).epistemic_share[k]),
        }
        for name in by.ranking
        for k in [by.class_names.index(name)]
    ]
