"""``labelwise evaluate``: evaluate the uncertainty of labeled predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._input import predictions_argument, read_predictions
from ._output import echo_json, echo_table, loss_option


@click.command()
@predictions_argument()
@click.option("--ood", type=click.Path(path_type=Path), help="Predictions for out-of-distribution instances to detect.")
@loss_option(default="log")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed for the bootstrap intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(predictions: Path, ood: Path | None, loss: str, seed: int, as_json: bool) -> None:
    """Evaluate PREDICTIONS with `y_true`: rejection, calibration, classes and, with --ood, out-of-distribution detection.

    \b
    Examples:
      labelwise evaluate preds.npz
      labelwise evaluate preds.npz --ood other.npz --json
    """
    stored = read_predictions(predictions)
    if stored.y_true is None:
        raise ValueError(f"{predictions.name} has no `y_true`; evaluation needs true labels")
    if stored.multilabel:
        raise ValueError(f"{predictions.name} has multi-label predictions; use `labelwise report` for them")
    other = None if ood is None else read_predictions(ood)
    if other is not None and other.n_classes != stored.n_classes:
        raise ValueError(
            f"{predictions.name} has {stored.n_classes} classes and {ood.name if ood else ''} {other.n_classes}; they must come from the same model"
        )
    result = evaluate(stored, other, loss, seed)
    if as_json:
        echo_json(result)
        return
    echo_table(
        f"{result['instances']:,} instances, accuracy {result['accuracy']:.1%}, calibration error {result['calibration_error']:.3f}",
        ("reject by", "area under accuracy", "normalized area", "AUGRC", "accuracy at 80 %"),
        [(part, x["area"], x["normalized_area"], x["augrc"], x["accuracy_at_80"]) for part, x in result["rejection"].items()],
    )
    echo_table(
        "Classes, least known first",
        ("class", "instances", "epistemic, own instances", "epistemic, all", "epistemic share"),
        [(x["class"], x["instances"], x["epistemic_own"], x["epistemic_all"], x["share"]) for x in result["classes"]],
    )
    if "detection" in result:
        echo_table(
            f"Out-of-distribution detection: {result['out_of_distribution']:,} instances of {ood}",
            ("score", "AUROC", "95 % interval", "AUPR", "FPR at 95 % TPR"),
            [(part, x["auroc"], f"{x['low']:.4f} to {x['high']:.4f}", x["aupr"], x["fpr95"]) for part, x in result["detection"].items()],
        )


def evaluate(stored: Any, other: Any, loss: str, seed: int) -> dict[str, Any]:
    """All numbers of the command, as plain data."""
    import numpy as np

    from ..calibration import calibration_errors
    from ..decomposition import PARTS, decompose
    from ..evaluation import by_class, detection_scores, rejection_curve

    q = stored.distribution()
    u, mean, y = decompose(q, loss), q.mean(), np.asarray(stored.y_true)
    correct = mean.argmax(-1) == stored.true_class
    total = u.sum()
    curves = {part: rejection_curve(getattr(total, part), correct=correct) for part in PARTS}
    curves["maximum probability"] = rejection_curve(-mean.max(-1), correct=correct)
    by = by_class(u, y, mean=mean, rng=seed, n_bootstrap=200)
    ece = calibration_errors(q, y).ece
    result: dict[str, Any] = {
        "instances": len(stored),
        "classes_total": stored.n_classes,
        "loss": loss,
        "accuracy": float(correct.mean()),
        "calibration_error": float(ece.value) if ece is not None else None,
        "rejection": {
            name: {"area": c.area, "normalized_area": c.normalized_area, "augrc": c.augrc, "accuracy_at_80": c.at_coverage(0.8)}
            for name, c in curves.items()
        },
        "classes": [
            {
                "class": name,
                "instances": int(by.counts[k]) if by.counts is not None else None,
                "epistemic_own": float(by.own.epistemic.value[k]) if by.own is not None else None,
                "epistemic_all": float(by.everywhere.epistemic.value[k]),
                "share": float(by.ratio.value[k]),
            }
            for name in by.ranking
            for k in [by.class_names.index(name)]
        ],
    }
    if other is not None:
        outside = decompose(other.distribution(), loss).sum()
        result["out_of_distribution"] = len(other)
        result["detection"] = {}
        for part in PARTS:
            found = detection_scores(getattr(total, part), getattr(outside, part), rng=seed, n_bootstrap=200)
            result["detection"][part] = {
                "auroc": float(found.auroc.value),
                "low": float(found.auroc.low),
                "high": float(found.auroc.high),
                "aupr": float(found.aupr.value),
                "fpr95": float(found.fpr95.value),
            }
    return result
