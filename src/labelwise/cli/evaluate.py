"""``labelwise evaluate``: evaluate the uncertainty of labeled predictions."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._format import fixed, percent
from .._tables import counted
from ._input import Given, loss_option, predictions_argument, read_predictions
from ._output import echo, echo_json, echo_table, interval_of, json_option
from ._paths import InputPath, PredictionPath
from ._sources import compare_members, show_members
from ._votes import compare_votes, find_votes, show_votes

if TYPE_CHECKING:
    from ..evaluation.classes import ByClass
    from ..io import Predictions
    from ..losses import LossName

MAX_CLASSES = 50  # rows of the table of classes


@click.command()
@predictions_argument
@click.option(
    "--ood", type=PredictionPath(), help="Predictions for out-of-distribution instances to detect."
)
@click.option(
    "--votes",
    "votes_file",
    type=InputPath(),
    help=(
        "People's votes (.npy, or .npz with `votes`, and `annotators` if they are known).  "
        "[default: `votes` of the predictions, if there are any]"
    ),
)
@click.option(
    "--sources",
    is_flag=True,
    help="What the models, prompts and so on of the members contribute, and which are off.",
)
@loss_option(default="log")
@json_option()
def command(
    predictions: Given,
    ood: Path | None,
    votes_file: Path | None,
    sources: bool,
    loss: LossName,
    as_json: bool,
) -> None:
    """Evaluate PREDICTIONS with `y_true`: rejection, calibration, classes and, with --ood,
    out-of-distribution detection; with --votes, what people say about the same cases; with
    --sources, where the members' disagreement comes from.

    The interval of an AUROC is DeLong's; if both files have `groups`, instances of the same group
    may depend on each other. Votes are counts (N, K), or the class that each annotator chose (N,
    A), or for labels that may occur together 0 or 1 of each annotator (A, N, K); -1 is none. With
    votes or --sources, `y_true` is not needed.

    Arrays in .npy, .zarr and uncompressed .npz files are read in blocks, unless there are votes. Of
    more than 50 classes the table has the 50 with most disagreement; --json has all.

    \b
    Examples:
      labelwise evaluate preds.npz
      labelwise evaluate preds.npz --ood other.npz --json
      labelwise evaluate model1.csv model2.csv --labels truth.csv
      labelwise evaluate preds.npz --votes votes.npy
      labelwise evaluate results/*/samples_*.jsonl --sources
    """
    loaded = read_predictions(predictions, quiet=as_json)
    _check_instances(loaded, predictions.name)
    votes = find_votes(predictions, votes_file)
    result: dict[str, Any] = {}
    if loaded.y_true is not None:
        result = evaluation_numbers(loaded, loss)
        if ood is not None:
            other = _read_ood_predictions(
                predictions.other(ood), loaded, predictions.name, quiet=as_json
            )
            result |= detection_numbers(loaded, other, loss)
    elif ood is not None or not (votes or sources):
        raise ValueError(
            f"{predictions.name} has no `y_true`; evaluation needs true labels (--labels FILE)"
        )
    if votes:
        result["votes"] = compare_votes(loaded.distribution(), loaded.groups, **votes)
    if sources:
        result["sources"] = compare_members(loaded, loss)
    if as_json:
        echo_json(result)
        return
    if loaded.y_true is not None:
        show_evaluation(result, loaded)
    if ood is not None:
        show_detection(result, ood)
    if votes:
        show_votes(result["votes"])
    if sources:
        show_members(result["sources"])


def show_evaluation(result: dict[str, Any], loaded: Predictions) -> None:
    """`evaluation_numbers` as tables and sentences."""
    right = "share of labels right" if loaded.multilabel else "accuracy"
    echo_table(
        f"{counted(result['instances'], 'instance')}, {right} {percent(result['accuracy'])}, "
        f"calibration error {fixed(result['calibration_error'], 3)}",
        ("reject by", f"area under {right}", "normalized area", "AUGRC", f"{right} at 80 %"),
        [(part, *x.values()) for part, x in result["rejection"].items()],
    )
    echo(result["calibration"]["sentence"])
    title = "Classes"
    if loaded.n_members != 1:
        title += ", most disagreement among the members first"
    columns = ("epistemic, own instances", "epistemic, all", "epistemic share, own instances")
    rows = [tuple(x.values()) for x in result["classes"][:MAX_CLASSES]]
    if len(rows) < len(result["classes"]):
        title += f" (the first {len(rows)} of {len(result['classes']):,}; --json has all)"
    echo_table(title, ("class", "instances", *columns), rows)
    if result["members"] is not None:
        echo(result["members"])


def show_detection(result: dict[str, Any], ood: Path | str) -> None:
    """`detection_numbers` as a table."""
    instances = counted(result["out_of_distribution"], "instance")
    title = f"Out-of-distribution detection: {instances} of {ood}"
    if result["groups"] is not None:
        title += f", intervals over {counted(result['groups'], 'group')}"
    rows = []
    for part, x in result["detection"].items():
        interval = None
        if x["low"] is not None and isfinite(x["low"]):
            interval = f"{fixed(x['low'], 4)} to {fixed(x['high'], 4)}"
        rows.append((part, x["auroc"], interval, x["aupr"], x["fpr95"]))
    echo_table(title, ("score", "AUROC", "95 % interval", "AUPR", "FPR at 95 % TPR"), rows)


def _check_instances(loaded: Predictions, name: str) -> None:
    if not len(loaded):
        raise ValueError(f"{name} must have at least one instance; it has none")


def _read_ood_predictions(
    given: Given, loaded: Predictions, name: str, *, quiet: bool
) -> Predictions:
    """The out-of-distribution predictions, of the same classes and kind as those called
    ``name``.
    """
    if loaded.multilabel:
        given = Given(given.files, {**given.options, "multilabel": True})
    other = read_predictions(given, quiet=quiet)
    _check_instances(other, given.name)
    if other.multilabel and not loaded.multilabel:
        raise ValueError(
            f"the labels of {given.name} may occur together, and {name} has one class for each "
            "instance; they must come from the same model"
        )
    loaded.check_same_model(other, given.name)
    if (loaded.groups is None) != (other.groups is None):
        having, lacking = name, given.name
        if loaded.groups is None:
            having, lacking = given.name, name
        note = (
            f"Note: {having} has `groups` and {lacking} has none, so the intervals of AUROC take "
            "all instances as independent"
        )
        echo(note, err=True)
    return other


def evaluation_numbers(loaded: Predictions, loss: LossName) -> dict[str, Any]:
    """All numbers of labeled predictions, as plain data; for labels that
    may occur together, accuracy is the share of labels that are right. One member has no epistemic
    uncertainty.
    """
    from ..calibration import calibration_errors
    from ..calibration.check import confidence_sentence, mean_overconfidence
    from ..calibration.errors import top_label_error
    from ..evaluation import check_ensemble, rejection_curve
    from ..evaluation._one_pass import summarize_instances

    found = summarize_instances(loaded, loss)
    right, confidence = found.right, found.confidence
    instances = counted(len(loaded), "instance")
    if loaded.multilabel:
        certainty, instances = "mean certainty", f"the labels of {instances}"
        error = calibration_errors(loaded, loaded.y_true).classwise.value.mean()
    else:
        certainty = "maximum probability"
        error = top_label_error(confidence, right)

    single = loaded.n_members == 1
    rejection = {}
    for name, score in {**found.scores, certainty: -confidence}.items():
        curve = rejection_curve(score, utility=right)
        numbers: dict[str, Any] = {
            "area": curve.area,
            "normalized_area": curve.normalized_area,
            "augrc": 0.5 + curve.augrc,  # of the risk 1 − utility
            "accuracy_at_80": curve.at_coverage(0.8),
        }
        if single and name == "epistemic":
            numbers = dict.fromkeys(numbers)
        rejection[name] = numbers
    accuracy, expected = float(right.mean()), float(confidence.mean())
    overconfidence = mean_overconfidence(right, confidence, loaded.groups)
    members = None
    if loaded.n_members is not None and not single:
        members = str(check_ensemble(loaded))
    return {
        "instances": len(loaded),
        "classes_total": loaded.n_classes,
        "loss": loss,
        "members": members,
        "accuracy": accuracy,
        "calibration": {
            "expected_accuracy": expected,
            "overconfidence": interval_of(overconfidence),
            "sentence": confidence_sentence(overconfidence, accuracy, expected, instances),
        },
        "calibration_error": float(error),
        "rejection": rejection,
        "classes": _class_rows(found.classes, single),
    }


def detection_numbers(loaded: Predictions, other: Predictions, loss: LossName) -> dict[str, Any]:
    """How well each part tells ``other`` from ``loaded``, as plain data."""
    from ..evaluation import detection_scores
    from ..evaluation._one_pass import uncertainty_scores
    from ..evaluation.detection import as_numbers

    inside, outside = uncertainty_scores(loaded, loss), uncertainty_scores(other, loss)
    groups: dict[str, Any] = {}
    n_groups = None
    if loaded.groups is not None and other.groups is not None:
        groups = {"groups_in": loaded.groups, "groups_out": other.groups}
        n_groups = len({*map(str, loaded.groups), *map(str, other.groups)})
    single = 1 in (loaded.n_members, other.n_members)
    detection = {}
    for part, score in inside.items():
        numbers: dict[str, Any] = as_numbers(detection_scores(score, outside[part], **groups))
        if single and part == "epistemic":
            numbers = dict.fromkeys(numbers)
        detection[part] = numbers
    return {"out_of_distribution": len(other), "groups": n_groups, "detection": detection}


def _class_rows(by: ByClass, single: bool) -> list[dict[str, Any]]:
    """What the members disagree about, class by class, most disagreement first."""
    columns = {
        "epistemic_own": by.ranked_means.epistemic.value,
        "epistemic_all": by.everywhere.epistemic.value,
        "epistemic_share": by.ranked_means.epistemic_share.value,
    }
    rows = []
    for k in by.order.tolist():
        row: dict[str, Any] = {"class": by.class_names[k], "instances": None}
        if by.counts is not None:
            row["instances"] = int(by.counts[k])
        for key, values in columns.items():
            row[key] = float(values[k])
            if single:
                row[key] = None  # one member has no epistemic uncertainty
        rows.append(row)
    return rows
