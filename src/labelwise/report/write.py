"""Build and write the report page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from .. import __version__
from .._arrays import to_numpy
from .._frames import columns_by_class, is_positions, same_rows
from .._tables import Shown, Summary, counted
from .._validation.arguments import check_positive
from ..decisions import Costs
from ..decomposition import decompose
from ..distributions import Distribution, Intervals
from ..evaluation import check_ensemble
from ..events import Events, Family, as_events
from ..io import Predictions
from ..io.atomic import write_file
from ..io.overwriting import refuse_overwriting_source
from ..sets._predictor import SetPredictor
from .costs import page_costs
from .embed import thumbnails
from .explanations import FEWEST, LOSSES, PARTS_EXPLAINED, PARTS_OF_INTERVALS
from .page import render
from .sample import choose
from .summary import detection, summarize

MAX_INSTANCES = 10_000  # embedded by default


@dataclass(frozen=True, eq=False, repr=False)
class Report(Shown):
    """A page and its data."""

    html: str
    data: dict[str, Any]
    """The data of the page: numbers, text and encoded predictions."""

    @property
    def n_shown(self) -> int:
        """Number of embedded instances."""
        return int(self.data["sample"]["n"])

    def _summary(self) -> Summary:
        size = len(self.html.encode("utf-8", "replace")) / 1e6
        what = f"{counted(self.data['n'], 'case')}, {self.n_shown:,} of them one by one"
        return Summary(
            f"Report {self.data['title']!r}: {what}; {size:.1f} MB of HTML. Save it with "
            "lw.report.write_report(path, q)"
        )


def build_report(
    q: Distribution | Predictions,
    *,
    y_true: Any = None,
    ids: Any = None,
    images: Any = None,
    image_index: Any = None,
    events: Family | None = None,
    ood: Distribution | Predictions | Mapping[str, Distribution | Predictions] | None = None,
    costs: Costs | None = None,
    sets: SetPredictor | None = None,
    title: str = "Predictions",
    max_instances: int = MAX_INSTANCES,
    rng: int | np.random.Generator | None = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Build an interactive report about predictions of N instances: one self-contained HTML file.

    All summaries are computed here, exactly, over all instances. For exploring single instances and
    changing costs, the page embeds the predictions of all instances, or of a random sample, rounded
    to two bytes each.

    Parameters
    ----------
    q : distribution or Predictions
        Instances on one axis. `Predictions` bring their own labels, ids and images and may be
        larger than memory.
    y_true : array (N,) or, for labels that may occur together, (N, K) of 0 and 1, optional
        True classes as names or positions (integers are names if all class names are integers).
        Without it the page has no accuracy, and its rejection curves show the accuracy expected by
        the model.
    ids : array (N,), optional
        Ids of the instances.
    images : array (n, H, W), (n, H, W, C) or, with 1 or 3 channels, (n, C, H, W), optional
        Shown as thumbnails.
    image_index : array (n,), optional
        Positions of the instances of the images; required unless there are N images.
    events : mapping or Events, optional
        Groups of classes, ordinal cuts and so on instead of single labels (`labelwise.events`).
    ood : distribution or Predictions, or mapping from names to these, optional
        Out-of-distribution instances to detect.
    costs : Costs, optional
        Costs that the page starts with; a matrix must be the sum of what missing the true class and
        a false alarm cost.
    sets : SetPredictor, optional
        Prediction sets fitted on other cases (`labelwise.sets.fit_sets`), for a table of their
        coverage and size; needs true classes.
    title : str
    max_instances : int
        Maximum number of embedded instances.
    rng : int, Generator or None
        Random seed or generator of the sample.
    progress : callable, optional
        Called with (instances done, all instances).

    Examples
    --------
    >>> probs = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.6, 0.4]]])
    >>> q = lw.Ensemble(probs, class_names=["cat", "dog"])
    >>> report = build_report(q, y_true=[0, 1], title="Pets")
    >>> report.n_shown, report.data["accuracy"], report.html[:15]
    (2, 0.5, '<!DOCTYPE html>')
    """
    cases = _with_labels(q, y_true, ids)
    family = as_events(events)
    if family is not None and cases.multilabel:
        raise ValueError(
            "`events` need mutually exclusive classes; multi-label predictions have none"
        )
    labels = cases.names
    if family is not None:
        labels = family.names
    others = _others(ood, cases)
    given, coverage = None, None
    if costs is not None:
        given = page_costs(costs, cases)
    if sets is not None:
        coverage = _coverage(sets, cases)
    images = cases.images if images is None else to_numpy(images)
    sample = choose(
        cases, tuple(LOSSES), len(labels), check_positive(max_instances, "max_instances"), rng
    )
    data = summarize(cases, family, sample, progress)
    tallies = data.pop("scores")
    intervals = isinstance(cases.q, Intervals)
    data |= {
        "title": title,
        "version": __version__,
        "n": len(cases),
        "members": cases.n_members,
        "weighted": cases.weighted,
        "multilabel": cases.multilabel,
        "class_names": cases.names,
        "named": cases.class_names is not None,
        "labels": labels,
        **_events(family, cases),
        "costs": given,
        "detection": detection(tallies, others, family, cases.groups),
        "sets": coverage,
        "check": _check(cases),
        "sources": _sources(cases, family),
        "intervals": intervals,
        "parts_explained": PARTS_OF_INTERVALS if intervals else PARTS_EXPLAINED,
        "fewest": FEWEST,
        "grouped": cases.groups is not None,
        "sample": sample.data(family),
        "images": _images(images, image_index, sample.index, tallies["log"].scores["total"]),
    }
    return Report(render(title, data), data)


def write_report(
    path: str | os.PathLike[str], q: Distribution | Predictions, **options: Any
) -> Report:
    """Write a report about ``q`` to a file; options as for `build_report`.

    A file that was there before stays until the new one is complete.
    """
    path = Path(path)
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"a report is an .html file; got {path.name or str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {path.name!r}: there is no folder {str(path.parent)!r}"
        )
    if isinstance(q, Predictions):
        refuse_overwriting_source(path, q.path)
    report = build_report(q, **options)
    write_file(path, report.html)
    return report


def _events(events: Events | None, cases: Predictions) -> dict[str, Any]:
    """The classes of each event, and whether events are averaged because they overlap."""
    if events is None:
        return {"events": None, "averaged": False}
    given = events.given is not None
    sets = events.resolve(cases.n_classes, cases.class_names)
    structure = events.structure(cases.n_classes, cases.names)
    return {
        "events": [{"inside": inside, "rest": rest, "given": given} for inside, rest in sets],
        "averaged": structure in ("overlapping", "pairs"),
    }


def _with_labels(q: Distribution | Predictions, y_true: Any, ids: Any) -> Predictions:
    """The predictions, with these labels and ids instead of their own, if any are given."""
    y_true, ids = same_rows(q, y_true=y_true, ids=ids)
    if isinstance(q, Predictions):
        p = q
    else:
        p = Predictions(q=q)
        if ids is None and q.ids is not None and not is_positions(q.ids):
            ids = np.asarray(list(map(str, q.ids)))
    changes: dict[str, Any] = {}
    if y_true is not None:
        y = changes["y_true"] = to_numpy(columns_by_class(y_true, p.names, "y_true"))
        # a column of 0 and 1 for each class, of predictions that do not say what they are
        changes["multilabel"] = p.multilabel or (p.q is None and y.ndim == 2)
    if ids is not None:
        changes["ids"] = to_numpy(ids)
    p = replace(p, **changes)
    if not len(p):
        raise ValueError("there are no instances to report on")
    return p


def _coverage(fitted: SetPredictor, cases: Predictions) -> dict[str, Any]:
    """Coverage and size of prediction sets."""
    if not isinstance(cast(Any, fitted), SetPredictor):
        raise TypeError(
            "`sets` must be fitted prediction sets, lw.sets.fit_sets(...); got "
            f"{type(fitted).__name__}"
        )
    if cases.y_true is None:
        raise ValueError("`sets` need the true classes, `y_true`, to show their coverage")
    return fitted.evaluate(cases, cases.y_true, groups=cases.groups).to_dict()


def _check(cases: Predictions) -> dict[str, Any] | None:
    """What is wrong with the members, in a sentence."""
    if (cases.n_members or 0) < 2:
        return None
    check = check_ensemble(cases)
    return {"ok": check.ok, "sentence": str(check)}


def _sources(cases: Predictions, events: Events | None) -> dict[str, Any] | None:
    """Where the disagreement of members with named factors comes from; without numbers where the
    design is not a complete crossing.
    """
    if getattr(cases.q, "factors", None) is None:
        return None
    try:
        found = decompose(cases.distribution(), "log", events=events).sources(rng=0)
    except ValueError as error:
        nothing = dict.fromkeys(("names", "means", "p", "label_p", "smallest_p"), ())
        return {"sentence": f"{error}.", **nothing}
    return {
        "sentence": found.sentence,
        "names": found.names,
        "means": found.means,
        "p": found.p_values,
        "label_p": found.label_p_values,
        "smallest_p": found.smallest_p,
    }


def _others(ood: Any, cases: Predictions) -> dict[str, Predictions]:
    if isinstance(ood, Distribution | Predictions):
        ood = {"out of distribution": ood}
    if ood is not None and not isinstance(ood, Mapping):
        raise TypeError(
            "`ood` must be a distribution, Predictions, or a mapping from names to these; got "
            f"{type(ood).__name__}"
        )
    others = {}
    for name, q in (ood or {}).items():
        others[str(name)] = _with_labels(q, None, None)
        cases.check_same_model(others[str(name)], f"`ood` {str(name)!r}")
    return others


def _images(
    images: Any, image_index: Any, chosen: np.ndarray, score: np.ndarray
) -> dict[str, Any] | None:
    """Thumbnails of the embedded instances that have an image, and their positions in the sample.

    The most uncertain come first, in case there is no space for all.
    """
    if images is None:
        return None
    n = len(score)
    if len(images.shape) not in (3, 4):
        raise ValueError(
            f"`images` must have shape (n, H, W), (n, H, W, C) or (n, C, H, W); got {images.shape}"
        )
    count = images.shape[0]
    if image_index is None:
        if count != n:
            raise ValueError(
                f"there are {count} `images` for {n} instances; say which they belong to with "
                "`image_index`"
            )
        image_index = np.arange(count)
    where = np.asarray(to_numpy(image_index))
    whole = where.shape == (count,) and where.dtype.kind in "iu"
    if not whole or np.any(where < 0) or np.any(where >= n):
        raise ValueError(
            f"`image_index` must be a position from 0 to {n - 1} for each of the {count} images"
        )
    _, at, source = np.intersect1d(chosen, where, return_indices=True)
    if not at.size:
        return None
    order = np.argsort(-score[chosen[at]], kind="stable")
    found = thumbnails(images, source[order])
    return {"at": at[order][: len(found)], "png": found}
