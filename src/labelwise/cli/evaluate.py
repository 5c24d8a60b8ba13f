"""``labelwise evaluate``: evaluate the uncertainty of labeled predictions."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._format import fixed, percent
from .._tables import counted
from ._input import Given, predictions_argument, read_predictions
from ._output import echo, echo_json, echo_table, interval_of, json_option, loss_option
from ._paths import READ_PREDICTIONS, Command

if TYPE_CHECKING:
    from ..evaluation import ByClass
    from ..io import Predictions
    from ..losses import LossName

REJECTION = ("area", "normalized_area", "augrc", "accuracy_at_80")
CLASSES = ("epistemic_own", "epistemic_all", "epistemic_share")


@click.command(cls=Command)
@predictions_argument()
@click.option(
    "--ood", type=READ_PREDICTIONS, help="Predictions for out-of-distribution instances to detect."
)
@loss_option(default="log")
@json_option()
def command(predictions: Given, ood: Path | None, loss: LossName, as_json: bool) -> None:
    """Evaluate PREDICTIONS with `y_true`: rejection, calibration, classes and, with --ood,
    out-of-distribution detection.

    The interval of an AUROC is DeLong's; if both files have `groups`, instances of the same group
    may depend on each other.

    \b
    Examples:
      labelwise evaluate preds.npz
      labelwise evaluate preds.npz --ood other.npz --json
      labelwise evaluate model1.csv model2.csv --labels truth.csv
    """
    stored = read_predictions(predictions, quiet=as_json)
    _check_instances(stored, predictions.name)
    if stored.y_true is None:
        raise ValueError(
            f"{predictions.name} has no `y_true`; evaluation needs true labels (--labels FILE)"
        )
    other = None
    if ood is not None:
        other = _read_other(predictions.other(ood), stored, predictions.name, quiet=as_json)
    result = evaluate(stored, other, loss)
    if as_json:
        echo_json(result)
        return
    right = "accuracy" if not stored.multilabel else "share of labels right"
    echo_table(
        (
            f"{counted(result['instances'], 'instance')}, {right} {percent(result['accuracy'])}, "
            f"calibration error {fixed(result['calibration_error'], 3)}"
        ),
        ("reject by", f"area under {right}", "normalized area", "AUGRC", f"{right} at 80 %"),
        [(part, *(_cell(x[key]) for key in REJECTION)) for part, x in result["rejection"].items()],
    )
    echo(result["calibration"]["sentence"])
    echo_table(
        "Classes"
        if stored.n_members == 1
        else "Classes, most disagreement among the members first",
        (
            "class",
            "instances",
            "epistemic, own instances",
            "epistemic, all",
            "epistemic share, own instances",
        ),
        [
            (x["class"], x["instances"], *(_cell(x[key]) for key in CLASSES))
            for x in result["classes"]
        ],
    )
    if result["members"] is not None:
        echo(result["members"])
    if "detection" in result:
        groups = (
            ""
            if result["groups"] is None
            else f", intervals over {counted(result['groups'], 'group')}"
        )
        echo_table(
            (
                "Out-of-distribution detection: "
                f"{counted(result['out_of_distribution'], 'instance')} of {ood}{groups}"
            ),
            ("score", "AUROC", "95 % interval", "AUPR", "FPR at 95 % TPR"),
            [
                (
                    part,
                    _cell(x["auroc"]),
                    _interval(x["low"], x["high"]),
                    _cell(x["aupr"]),
                    _cell(x["fpr95"]),
                )
                for part, x in result["detection"].items()
            ],
        )


def _cell(x: float | None) -> float | str:
    return "–" if x is None else x


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{fixed(low, 4)} to {fixed(high, 4)}"


def _check_instances(stored: Predictions, name: str) -> None:
    if not len(stored):
        raise ValueError(f"{name} must have at least one instance; it has none")


def _read_other(given: Given, stored: Predictions, name: str, *, quiet: bool) -> Predictions:
    """The out-of-distribution predictions, of the same classes and kind as those called
    ``name``.
    """
    if stored.multilabel:
        given = Given(given.files, {**given.options, "multilabel": True})
    other = read_predictions(given, quiet=quiet)
    _check_instances(other, given.name)
    if other.multilabel and not stored.multilabel:
        raise ValueError(
            f"the labels of {given.name} may occur together, and {name} has one class for each "
            "instance; they must come from the same model"
        )
    stored.check_same_model(other, given.name)
    if (stored.groups is None) != (other.groups is None):
        having, lacking = (name, given.name) if other.groups is None else (given.name, name)
        echo(
            (
                f"Note: {having} has `groups` and {lacking} has none, so the intervals of AUROC "
                "take all instances as independent"
            ),
            err=True,
        )
    return other


def evaluate(stored: Predictions, other: Predictions | None, loss: LossName) -> dict[str, Any]:
    """All numbers of the command, as plain data, ``None`` where undefined; for labels that may
    occur together, accuracy is the share of labels that are right. One member has no epistemic
    uncertainty.
    """
    import numpy as np

    from ..calibration import calibration_errors
    from ..decomposition import PARTS, decompose
    from ..evaluation import by_class, check_ensemble, ranking_scores, rejection_curve

    q = stored.distribution()
    u, mean, y = decompose(q, loss), q.mean(), stored.true_class
    total = u.sum() if u.loss.smooth else ranking_scores(q, loss)  # a kink has exact ties
    scores = {part: getattr(total, part) for part in PARTS}
    errors = calibration_errors(q, stored.y_true if not stored.multilabel else y)
    if stored.multilabel:
        correct = ((mean > 0.5) == y).mean(-1)
        confidence = np.maximum(mean, 1 - mean).mean(-1)
        certainty = "mean certainty", -confidence
    else:
        correct = mean.argmax(-1) == y
        confidence = mean.max(-1)
        certainty = "maximum probability", -confidence
    ranked = dict([*scores.items(), certainty])
    kind = "utility" if stored.multilabel else "correct"
    single = stored.n_members == 1
    rejection = {}
    for name, score in ranked.items():
        c = rejection_curve(score, **{kind: correct})
        augrc = rejection_curve(
            score, risk=1.0 - correct
        ).augrc  # multi-label: share of wrong labels
        numbers = dict(
            zip(REJECTION, (c.area, c.normalized_area, augrc, c.at_coverage(0.8)), strict=True)
        )
        rejection[name] = _known(numbers, single and name == "epistemic")
    result: dict[str, Any] = {
        "instances": len(stored),
        "classes_total": stored.n_classes,
        "loss": loss,
        "members": str(check_ensemble(stored)) if (stored.n_members or 0) > 1 else None,
        "accuracy": float(correct.mean()),
        "calibration": _calibration(stored, correct, confidence),
        "calibration_error": float(
            errors.classwise.value.mean() if errors.ece is None else errors.ece.value
        ),
        "rejection": rejection,
        "classes": _classes(
            by_class(u, stored.y_true if not stored.multilabel else y, mean=mean), single
        ),
    }
    if other is not None:
        outside = (
            decompose(other.distribution(), loss).sum()
            if u.loss.smooth
            else ranking_scores(other.distribution(), loss)
        )
        result |= _detection(
            scores, {part: getattr(outside, part) for part in PARTS}, stored, other
        )
    return result


def _calibration(stored: Predictions, correct: Any, confidence: Any) -> dict[str, Any]:
    """Expected against observed accuracy, with the direction and size of the difference."""
    from ..calibration.check import confidence_sentence, mean_overconfidence

    overconfidence = mean_overconfidence(correct.astype(float), confidence, stored.groups)
    accuracy, expected = float(correct.mean()), float(confidence.mean())
    among = f"{'the labels of ' if stored.multilabel else ''}{counted(len(stored), 'instance')}"
    return {
        "expected_accuracy": expected,
        "overconfidence": interval_of(overconfidence),
        "sentence": confidence_sentence(overconfidence, accuracy, expected, among),
    }


def _detection(
    inside: dict[str, Any], outside: dict[str, Any], stored: Predictions, other: Predictions
) -> dict[str, Any]:
    import numpy as np

    from ..evaluation import detection_scores
    from ..evaluation.detection import as_numbers

    groups: dict[str, Any] = {}
    if stored.groups is not None and other.groups is not None:
        groups = {"groups_in": np.asarray(stored.groups), "groups_out": np.asarray(other.groups)}
    single = 1 in (stored.n_members, other.n_members)
    return {
        "out_of_distribution": len(other),
        "groups": len(np.unique(np.concatenate(list(groups.values())))) if groups else None,
        "detection": {
            part: _known(
                as_numbers(detection_scores(score, outside[part], **groups)),
                single and part == "epistemic",
            )
            for part, score in inside.items()
        },
    }


def _classes(by: ByClass, single: bool) -> list[dict[str, Any]]:
    own = by.own or by.everywhere
    columns = (own.epistemic.value, by.everywhere.epistemic.value, own.epistemic_share)
    rows = []
    for name in by.ranking:
        k = by.class_names.index(name)
        numbers = {key: float(column[k]) for key, column in zip(CLASSES, columns, strict=True)}
        rows.append(
            {
                "class": name,
                "instances": None if by.counts is None else int(by.counts[k]),
                **_known(numbers, single),
            }
        )
    return rows


def _known(numbers: dict[str, float], unknown: bool) -> dict[str, float | None]:
    """``None`` instead of what is undefined, or of all numbers."""
    return {key: None if unknown or isnan(x) else x for key, x in numbers.items()}
