"""Fitted sets and label thresholds as .npz files of one text: their fields as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .._tables import Tabular
from ..io.atomic import replacing
from ..io.files import reading

if TYPE_CHECKING:
    from ._predictor import SetPredictor
    from .labels import LabelThresholds

SETS, LABELS = "labelwise sets 6", "labelwise label thresholds 5"


class Fitted(Tabular):
    """What `load_sets` reads again."""

    _format: ClassVar[str]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to an .npz file of plain numbers and text, for `load_sets`."""
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"fitted sets are written as .npz; got {path.name!r}")
        fields = {"format": self._format, **asdict(self)}  # type: ignore[call-overload]
        with replacing(path) as file:
            np.savez(file, settings=json.dumps(fields, default=np.ndarray.tolist))
        return path


def load_sets(path: str | os.PathLike[str]) -> SetPredictor | LabelThresholds:
    """Fitted sets, or label thresholds, from a file written by their ``save``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> p = np.random.default_rng(0).dirichlet([1, 1], 60)
    >>> sets = lw.sets.fit_sets(p, p.argmax(axis=1), coverage=0.8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = load_sets(sets.save(pathlib.Path(folder, "sets.npz")))
    >>> loaded.guarantee == sets.guarantee
    True
    """
    from ._predictor import EventThreshold, SetPredictor
    from .labels import LabelThresholds

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
        for name in ("thresholds", "lower", "upper", "n_present", "n_absent"):
            if name in fields:  # lists of a number for each class
                fields[name] = np.asarray(fields[name])
        if kind == LABELS:
            return LabelThresholds(**fields)
        events = []
        for event in fields["events"]:
            events.append(EventThreshold(**event | {"classes": tuple(event["classes"])}))
        return SetPredictor(**fields | {"events": tuple(events)})
