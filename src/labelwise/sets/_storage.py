"""Fitted sets as .npz files: their arrays, and everything else as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.atomic import replacing
from ..io.files import reading
from ._predictor import EventScores, SetPredictor
from ._quantiles import as_level

if TYPE_CHECKING:
    from .labels import LabelThresholds

SETS, LABELS = "labelwise sets 3", "labelwise label thresholds 3"
SETTINGS = ("coverage", "per", "cover")


def write_values(path: str | os.PathLike[str], kind: str, values: dict[str, Any]) -> Path:
    """Write the fields of fitted sets."""
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"fitted sets are written as .npz; got {path.name!r}")
    arrays: dict[str, Any] = {key: x for key, x in values.items() if isinstance(x, np.ndarray)}
    settings = {key: x for key, x in values.items() if key not in arrays}
    with replacing(path) as file:
        np.savez(file, settings=json.dumps({"format": kind, **settings}), **arrays)
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
    from .labels import thresholds_from

    path = Path(path)
    with reading(path), np.load(path, allow_pickle=False) as file:
        if "settings" not in file:
            raise ValueError("it is damaged, or no file of fitted sets: it has no `settings`")
        values = dict(file)
        values |= json.loads(str(values.pop("settings")))
        kind = values.pop("format")
        if kind not in (SETS, LABELS):
            raise ValueError(
                f"`path` must be a file of fitted sets, written by `save`; got {kind!r:.60}"
            )
        values["class_names"] = tuple(values["class_names"])
        if len(set(values["class_names"])) < len(values["class_names"]):
            raise ValueError("it is damaged: `class_names` names something twice")
        if kind == LABELS:
            return thresholds_from(values)
        return _predictor_from(values)


def save_predictor(fitted: SetPredictor, path: str | os.PathLike[str]) -> Path:
    """Write a fitted predictor."""
    events = fitted.events
    values = {key: getattr(fitted, key) for key in ("class_names", *SETTINGS)}
    values |= {
        "event_names": [event.name for event in events],
        "n_cases": [event.n_cases for event in events],
        "n_groups": [event.n_groups for event in events],
        "n_scores": [len(event.scores) for event in events],
        "inside": np.stack([event.inside for event in events]),
        "scores": np.concatenate([event.scores for event in events]),
        "weights": None,
    }
    weights = [event.weights for event in events if event.weights is not None]
    if weights:
        values["weights"] = np.concatenate(weights)
    if fitted.order is not None:
        values["order"] = fitted.order
    return write_values(path, SETS, values)


def _predictor_from(values: dict[str, Any]) -> SetPredictor:
    as_level(values["coverage"])
    inside, scores = values["inside"], values["scores"]
    shape = (len(values["event_names"]), len(values["class_names"]))
    fits = inside.shape == shape and sum(values["n_scores"]) == len(scores)
    if not fits or not inside.any(axis=0).all() or np.isnan(scores).any():
        raise ValueError("it is damaged: scores, events and classes do not fit each other")
    ends = np.cumsum(values["n_scores"])[:-1]
    weights: list[Any] = [None] * len(inside)
    if values["weights"] is not None:
        weights = np.split(values["weights"], ends)
    events = map(
        EventScores,
        values["event_names"],
        inside,
        np.split(scores, ends),
        weights,
        values["n_cases"],
        values["n_groups"],
    )
    settings = {key: values[key] for key in SETTINGS}
    return SetPredictor(tuple(events), values["class_names"], **settings, order=values.get("order"))
