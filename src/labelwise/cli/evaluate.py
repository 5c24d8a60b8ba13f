"""``labelwise evaluate``: evaluate the uncertainty of labeled predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._format import fixed, percent
from .._tables import Summary, counted
from ._input import Given, loss_option, predictions_argument, read_predictions
from ._output import Section, echo, echo_json, json_option
from ._paths import PredictionPath, file_option
from ._sources import compare_members
from ._tags import compare_tags, read_tags
from ._votes import compare_votes, find_votes

if TYPE_CHECKING:
    import numpy as np

    from ..io import Predictions
    from ..losses import LossName

MAX_CLASSES = 50  # rows of the table of classes


@click.command()
@predictions_argument
@click.option(
    "--ood", type=PredictionPath(), help="Predictions for out-of-distribution instances to detect."
)
@file_option(
    "votes",
    "People's votes (.npy, or .npz with `votes`, and `annotators` if they are known).  "
    "[default: `votes` of the predictions, if there are any]",
)
@click.option(
    "--sources",
    is_flag=True,
    help="What the models, prompts and so on of the members contribute, and which are off.",
)
@file_option("tags", "Compare the cases with each tag (tags.csv of a report), matched by id.")
@loss_option(default="log")
@json_option()
def command(
    predictions: Given,
    ood: Path | None,
    votes_file: Path | None,
    sources: bool,
    tags_file: Path | None,
    loss: LossName,
    as_json: bool,
) -> None:
    """Evaluate PREDICTIONS with true labels: rejection, calibration and classes; with --ood,
    out-of-distribution detection.

    With --tags, the same numbers for the cases that were tagged on a report's page. With --votes,
    what people say about the same cases; with --sources, where the members' disagreement comes
    from. These two need no true labels. Votes are counts (N, K), or the class
    that each annotator chose (N, A), or for labels that may occur together 0 or 1 (A, N, K); -1 is
    none.

    If the files have `groups`, intervals allow for cases that depend on each other.

    \b
    Examples:
      labelwise evaluate preds.npz
      labelwise evaluate preds.npz --ood other.npz --json
      labelwise evaluate model1.csv model2.csv --labels truth.csv
      labelwise evaluate preds.npz --votes votes.npy
      labelwise evaluate preds.npz --tags tags.csv
      labelwise evaluate results/*/samples_*.jsonl --sources
    """
    loaded = read_predictions(predictions, quiet=as_json)
    _check_instances(loaded, predictions.name)
    votes = find_votes(predictions, votes_file, loaded.ids)
    needs_labels = ood is not None or tags_file is not None
    if loaded.y_true is None and (needs_labels or not (votes or sources)):
        raise ValueError(
            f"{predictions.name} has no `y_true`; evaluation needs true labels (--labels FILE)"
        )
    data: dict[str, Any] = {}
    texts = []
    if loaded.y_true is not None:
        tags = None
        if tags_file is not None:
            tags = read_tags(tags_file, loaded)
        numbers, text = evaluate_instances(loaded, loss, tags)
        data |= numbers
        texts.append(text)
    if ood is not None:
        given = predictions.other(ood)
        other = _read_ood_predictions(given, loaded, predictions.name, quiet=as_json)
        numbers, text = evaluate_detection(loaded, other, given.name, loss)
        data |= numbers
        texts.append(text)
    if votes:
        data["votes"], text = compare_votes(loaded.distribution(), loaded.groups, **votes)
        texts.append(text)
    if sources:
        data["sources"], text = compare_members(loaded, loss)
        texts.append(text)
    if as_json:
        echo_json(data)
    else:
        echo("\n\n".join(texts))


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
        note = (
            f"only one of {name} and {given.name} has `groups`, so the intervals of AUROC take all "
            "instances as independent"
        )
        echo(f"Note: {note}", err=True)
    return other


def evaluate_instances(
    loaded: Predictions, loss: LossName, tags: np.ndarray | None = None
) -> Section:
    """All numbers of labeled predictions; accuracy and uncertainty for each of the ``tags``, too.
    For labels that may occur together, accuracy is the share of labels that are right; one member
    has no epistemic uncertainty.
    """
    from ..calibration import calibration_errors
    from ..calibration.check import confidence_sentence, mean_overconfidence
    from ..calibration.errors import top_label_error
    from ..evaluation import check_ensemble, rejection_curve
    from ..evaluation._one_pass import summarize_instances

    found = summarize_instances(loaded, loss)
    right, confidence = found.right, found.confidence
    n = instances = counted(len(loaded), "instance")
    accuracy_name, certainty = "accuracy", "maximum probability"
    if loaded.multilabel:
        accuracy_name, certainty = "share of labels right", "mean certainty"
        instances = f"the labels of {n}"
        error = calibration_errors(loaded, loaded.y_true).classwise.value.mean()
    else:
        error = top_label_error(confidence, right)

    single = loaded.n_members == 1
    rejection: dict[str, dict[str, Any]] = {}
    for name, score in {**found.scores, certainty: -confidence}.items():
        curve = rejection_curve(score, utility=right)
        rejection[name] = {
            "area": curve.area,
            "normalized_area": curve.normalized_area,
            "augrc": 0.5 + curve.augrc,  # of the risk 1 − utility
            "accuracy_at_80": curve.at_coverage(0.8),
        }
    if single:
        rejection["epistemic"] = dict.fromkeys(rejection["epistemic"])
    accuracy, expected = float(right.mean()), float(confidence.mean())
    overconfidence = mean_overconfidence(right, confidence, loaded.groups)
    sentence = confidence_sentence(overconfidence, accuracy, expected, instances)
    classes = found.classes.to_records()
    if single:
        for row in classes:
            row |= dict.fromkeys(key for key in row if key.startswith("epistemic"))
    members = None
    if loaded.n_members is not None and not single:
        members = str(check_ensemble(loaded))
    data = {
        "instances": len(loaded),
        "classes_total": loaded.n_classes,
        "loss": loss,
        "members": members,
        "accuracy": accuracy,
        "calibration": {
            "expected_accuracy": expected,
            "overconfidence": overconfidence,
            "sentence": sentence,
        },
        "calibration_error": float(error),
        "rejection": rejection,
        "classes": classes,
    }
    heading = f"{n}, {accuracy_name} {percent(accuracy)}, calibration error {fixed(error, 3)}"
    title = "Classes"
    if not single:
        title += ", most disagreement among the members first"
    if len(classes) > MAX_CLASSES:
        title += f" (the first {MAX_CLASSES} of {len(classes):,}; --json has all)"
    rows = [list(row.values()) for row in classes[:MAX_CLASSES]]
    class_table = Summary(title, list(classes[0]), rows)
    text = (
        f"{_table_of_scores(heading, 'reject by', rejection)}\n\n{sentence}\n{class_table.text()}"
    )
    if members is not None:
        text += f"\n\n{members}"
    if tags is not None:
        if single:  # which has none
            del found.scores["epistemic"]
        data["tags"], table = compare_tags(found, tags)
        text += f"\n\n{table}"
    return data, text


def evaluate_detection(
    loaded: Predictions, other: Predictions, name: str, loss: LossName
) -> Section:
    """How well each part tells ``other``, the predictions called ``name``, from ``loaded``."""
    from ..evaluation import detection_scores
    from ..evaluation._one_pass import uncertainty_scores
    from ..evaluation.detection import as_numbers

    inside, outside = uncertainty_scores(loaded, loss), uncertainty_scores(other, loss)
    groups: dict[str, Any] = {}
    n_groups = None
    title = f"Out-of-distribution detection: {counted(len(other), 'instance')} of {name}"
    if loaded.groups is not None and other.groups is not None:
        groups = {"groups_in": loaded.groups, "groups_out": other.groups}
        n_groups = len({*map(str, loaded.groups), *map(str, other.groups)})
        title += f", intervals over {counted(n_groups, 'group')}"
    detection: dict[str, dict[str, Any]] = {}
    for part, score in inside.items():
        detection[part] = as_numbers(detection_scores(score, outside[part], **groups))
    if loaded.n_members == 1:  # as `other` has, too
        detection["epistemic"] = dict.fromkeys(detection["epistemic"])
    data = {"out_of_distribution": len(other), "groups": n_groups, "detection": detection}
    return data, _table_of_scores(title, "score", detection)


def _table_of_scores(title: str, first: str, numbers: dict[str, dict[str, Any]]) -> str:
    """A table with a row for each score."""
    rows = [(score, *row.values()) for score, row in numbers.items()]
    return Summary(title, (first, *next(iter(numbers.values()))), rows).text()
