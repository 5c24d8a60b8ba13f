"""From predictions to the page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._arrays import to_numpy
from ..distributions import Distribution
from ..events import Family, as_events
from ..io import Predictions
from ..io.atomic import replacing
from .embed import thumbnails
from .explanations import LOSSES, SENTENCES, SHORT
from .page import render
from .sample import choose
from .summary import detection, summarise

MOST = 10_000
"""Instances that the page can show one by one, unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Report:
    """A page and the numbers on it."""

    html: str
    data: dict[str, Any]
    """What the page is made of: plain numbers and text, and packed predictions."""

    @property
    def n_shown(self) -> int:
        """Instances that can be looked at one by one."""
        return int(self.data["sample"]["n"])


def build_report(
    q: Distribution | Predictions,
    *,
    y_true: Any = None,
    ids: Any = None,
    images: Any = None,
    image_index: Any = None,
    events: Family | None = None,
    ood: Mapping[str, Distribution | Predictions] | None = None,
    multilabel: bool = False,
    title: str = "Predictions",
    most: int = MOST,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """The explorer page for predictions of N instances: one HTML file that needs nothing else.

    All summaries are computed here, exactly, over all instances. For looking at single instances, sorting, and changing costs, the
    page holds the predictions of all instances, or of a random sample of as many as fit, rounded to two bytes each.

    Parameters
    ----------
    q : distribution or Predictions
        Instances on one axis. `Predictions` bring their own labels, ids and images and may be larger than memory.
    y_true : array (N,) or, for labels that may occur together, (N, K) of 0 and 1, optional
        True classes: names or positions; integers are names where all class names are integers.
        Without it the page has no accuracies, and its rejection curves show what the model itself expects.
    ids : array (N,), optional
        What the instances are called.
    images : array (n, H, W) or (n, H, W, C), optional
        Shown as thumbnails.
    image_index : array (n,), optional
        Which instances the images belong to; without it there must be N.
    events : mapping or Events, optional
        Ask about groups of classes, ordinal cuts and so on instead of single labels (`labelwise.events`).
    ood : mapping from names to distributions or Predictions, optional
        Instances from elsewhere, for out-of-distribution detection.
    multilabel : bool
        Stored ``probs`` are of labels that may occur together.
    title : str
    most : int
        Embed at most so many instances.
    seed : int
        Of the sample.
    progress : callable, optional
        Called with the numbers of instances done and of all.

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.6, 0.4]]]), class_names=["cat", "dog"])
    >>> report = build_report(q, y_true=[0, 1], title="Pets")
    >>> report.n_shown, report.data["accuracy"], report.html[:15]
    (2, 0.5, '<!DOCTYPE html>')
    """
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise ValueError(f"`most` must be a positive number of instances; got {most!r}")
    cases = _with_labels(q, y_true, ids, multilabel)
    family = as_events(events)
    if family is not None and cases.multilabel:
        raise ValueError("`events` have no meaning where labels may occur together; leave `events` out")
    sets = None if family is None else family.resolve(cases.n_classes, cases.class_names)
    labels = cases.names if family is None else family.names
    others = _others(ood, cases, multilabel)
    sample = choose(cases, tuple(LOSSES), len(labels), int(most), seed)
    data = summarise(cases, family, sample, progress)
    tallies = data.pop("scores")
    images = cases.images if images is None else to_numpy(images)
    data |= {
        "title": title,
        "version": __version__,
        "n": len(cases),
        "members": cases.n_members,
        "weighted": cases.weighted,
        "multilabel": cases.multilabel,
        "classes_names": cases.names,
        "named": cases.class_names is not None,
        "labels": labels,
        "events": None if family is None else [{"inside": a, "rest": b, "given": family.given is not None} for a, b in sets or ()],
        "averaged": family is not None and family.structure(cases.n_classes, cases.names) in ("overlapping", "pairs"),
        "detection": detection(tallies, others, family),
        "sentences": SENTENCES,
        "short": SHORT,
        "sample": sample.data(family),
        "images": _images(images, image_index, sample.index, tallies["log"].scores["total"]),
    }
    return Report(render(title, data), data)


def write_report(path: str | os.PathLike[str], q: Distribution | Predictions, **options: Any) -> Report:
    """Write the explorer page for ``q`` to a file; options as for `build_report`.

    A file that was there before stays until the new one is complete.
    """
    path = Path(path)
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"a report is an .html file; got {path.name!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path.name!r}: there is no folder {str(path.parent)!r}")
    report = build_report(q, **options)
    with replacing(path) as file:
        file.write(report.html.encode("utf-8"))
    return report


def _with_labels(q: Distribution | Predictions, y_true: Any, ids: Any, multilabel: bool) -> Predictions:
    """The predictions, with these labels and ids instead of their own, if any are given."""
    p = q if isinstance(q, Predictions) else Predictions(q=q, multilabel=multilabel or None)
    y = None if y_true is None else to_numpy(y_true)
    several = p.multilabel or multilabel or (p.q is None and y is not None and y.ndim == 2)
    p = replace(p, y_true=p.y_true if y is None else y, ids=p.ids if ids is None else to_numpy(ids), multilabel=several)
    if not len(p):
        raise ValueError("there are no instances to report on")
    return p


def _others(ood: Mapping[str, Any] | None, cases: Predictions, multilabel: bool) -> dict[str, Predictions]:
    others = {str(name): _with_labels(q, None, None, multilabel) for name, q in (ood or {}).items()}
    for name, other in others.items():
        if other.n_classes != cases.n_classes:
            raise ValueError(
                f"`ood` {name!r} has {other.n_classes} classes; the predictions have {cases.n_classes}: they must be of one model"
            )
    return others


def _images(images: Any, image_index: Any, chosen: np.ndarray, score: np.ndarray) -> dict[str, Any] | None:
    """Thumbnails of the chosen instances that have an image, and which those are (positions in the sample).

    The most uncertain come first, so that they have theirs where there is no room for all.
    """
    if images is None:
        return None
    n = len(score)
    if len(images.shape) not in (3, 4):
        raise ValueError(f"`images` must have shape (n, H, W) or (n, H, W, C); got {images.shape}")
    count = images.shape[0]
    where = np.arange(count) if image_index is None else np.asarray(to_numpy(image_index))
    if image_index is None and count != n:
        raise ValueError(f"there are {count} `images` for {n} instances; say which they belong to with `image_index`")
    if where.shape != (count,) or where.dtype.kind not in "iu" or np.any(where < 0) or np.any(where >= n):
        raise ValueError(f"`image_index` must be a position from 0 to {n - 1} for each of the {count} images")
    _, at, source = np.intersect1d(chosen, where, return_indices=True)
    if not at.size:
        return None
    order = np.argsort(-score[chosen[at]], kind="stable")
    found = thumbnails(images, source[order])
    return {"at": at[order][: len(found)], "png": found}
