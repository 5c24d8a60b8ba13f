"""Fitted sets and label thresholds as .npz files of one text: their fields as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..io.atomic import replacing
from ..io.files import reading
from ._predictor import EventThreshold, SetPredictor
from ._quantiles import as_level
from .labels import LabelThresholds

SETS, LABELS = "labelwise sets 5", "labelwise label thresholds 4"


def save_fitted(
    fitted: SetPredictor | LabelThresholds, kind: str, path: str | os.PathLike[str]
) -> Path:
    """Write fitted sets or label thresholds."""
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"fitted sets are written as .npz; got {path.name!r}")
    fields = {"format": kind, **asdict(fitted)}
    with replacing(path) as file:
        np.savez(file, settings=json.dumps(fields, default=np.ndarray.tolist))
    return path


def load_sets(path: str | os.PathLike[str]) -> SetPredictor | LabelThresholds:
    """Fitted sets, or label thresholds, from a file written by their ``save``; the file is checked.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> p = np.random.default_rng(0).dirichlet([1, 1], 60)
    >>> sets = lw.sets.fit_sets(p, p.argmax(axis=1), coverage=0.8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bool((load_sets(sets.save(pathlib.Path(folder, "sets.npz"))).thresholds == sets.thresholds).all())
    True
    """  # noqa: E501
    path = Path(path)
    with reading(path), np.load(path, allow_pickle=False) as file:
        if "settings" not in file:
            raise ValueError("it is damaged, or no file of fitted sets: it has no `settings`")
        fields = json.loads(str(file["settings"]))
        kind = fields.pop("format")
        if kind not in (SETS, LABELS):
            raise ValueError(
                f"`path` must be a file of fitted sets, written by `save`; got {kind!r:.60}"
            )
        fields["class_names"] = tuple(fields["class_names"])
        if len(set(fields["class_names"])) < len(fields["class_names"]):
            raise ValueError("it is damaged: `class_names` names something twice")
        if kind == LABELS:
            return _label_thresholds(fields)
        return _set_predictor(fields)


def _set_predictor(fields: dict[str, Any]) -> SetPredictor:
    as_level(fields["coverage"])
    fields["thresholds"] = _numbers(fields, "thresholds")
    events = []
    for event in fields["events"]:
        events.append(EventThreshold(**event | {"classes": tuple(event["classes"])}))
    in_an_event = {k for event in events for k in event.classes}
    if in_an_event != {*range(len(fields["class_names"]))}:
        raise ValueError("it is damaged: events and classes do not fit each other")
    return SetPredictor(**fields | {"events": tuple(events)})


def _label_thresholds(fields: dict[str, Any]) -> LabelThresholds:
    for name in ("lower", "upper", "n_present", "n_absent"):
        fields[name] = _numbers(fields, name)
    if not (fields["lower"] <= fields["upper"]).all():
        raise ValueError("it is damaged: the thresholds do not fit each other")
    return LabelThresholds(**fields)


def _numbers(fields: dict[str, Any], name: str) -> np.ndarray:
    """One number for each class."""
    numbers = np.asarray(fields[name])
    if numbers.shape != (len(fields["class_names"]),) or np.isnan(numbers).any():
        raise ValueError(f"it is damaged: `{name}` must be a number for each class")
    return numbers
