"""Build and write the report page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._arrays import to_numpy
from .._frames import columns_by_class, is_positions, same_rows
from .._tables import Shown, Summary, counted
from ..decisions import Costs
from ..distributions import Distribution
from ..evaluation.votes import count_votes
from ..events import Family, as_events
from ..io import Predictions
from ..io.atomic import check_place, write_file
from ..io.overwriting import refuse_overwriting_source
from ..losses import LossName
from ..sets._evaluation import evaluate_sets
from ..sets._predictor import SetPredictor
from .cases import (
    add_identities,
    add_predictions,
    add_sets,
    add_votes,
    choose_cases,
    embed_images,
    id_note,
    identifies,
)
from .collect import Progress, collect
from .columns import PageData
from .costs import page_costs
from .exact import summarize
from .members import embed_members
from .metadata import Metadata, add_metadata, join_metadata
from .page import render

LOSSES: tuple[LossName, ...] = ("log", "squared", "spherical", "zero_one")
MAX_ROWS_FOR_ALL_LOSSES = 20_000
IN_DISTRIBUTION = "in distribution"


@dataclass(frozen=True, eq=False, repr=False)
class Report(Shown):
    """A page and its data."""

    html: str
    data: dict[str, Any]
    """What is known of the page's arrays, and all summaries."""
    arrays: dict[str, str]
    """Columns and predictions: deflated bytes as base64."""

    def _summary(self) -> Summary:
        shown = counted(self.data["n"], "case")
        return Summary(
            f"Report {self.data['title']!r}: {shown}; {len(self.html) / 1e6:.1f} MB of HTML. "
            "Save it with lw.report.write_report(path, q)"
        )


def build_report(
    q: Distribution | Predictions,
    *,
    y_true: Any = None,
    ids: Any = None,
    metadata: Any = None,
    votes: Any = None,
    annotators: Sequence[str] | None = None,
    images: Any = None,
    image_index: Any = None,
    events: Family | None = None,
    ood: Distribution | Predictions | Mapping[str, Distribution | Predictions] | None = None,
    costs: Costs | None = None,
    sets: SetPredictor | None = None,
    title: str = "Predictions",
    progress: Progress | None = None,
) -> Report:
    """Build an interactive report about predictions of N cases: one self-contained HTML file.

    Summaries are computed here, exactly, over all cases. The page holds all cases up to a million,
    as columns of one or two bytes whose bins have exact counts; and the predictions of the members
    for some cases of every kind: confident errors first, most uncertain ones, then random ones.

    Parameters
    ----------
    q : distribution or Predictions
        Cases on one axis. `Predictions` bring their own labels, ids, groups and images and may be
        larger than memory.
    y_true : array (N,) or, for labels that may occur together, (N, K) of 0 and 1, optional
        True classes as names or positions (integers are names if all class names are integers).
    ids : array (N,) or False, optional
        Ids of the cases. ``False``: none are embedded, and groups are numbered, for a page that may
        leave the house.
    metadata : DataFrame, mapping from names to columns, or path of a .csv file, optional
        More about the cases (site, scanner, age): joined by the column that holds the ids, whatever
        its name, or by a column ``row`` of numbers from 1; else by number. A column ``group`` holds
        the groups, and ``votes_melanoma`` how many readers chose a class.
    votes : array, optional
        Votes of readers: counts (N, K), the class that each of the ``annotators`` chose (N, A), or
        for labels that may occur together 0 or 1 of each, (A, N, K).
    annotators : sequence of str, optional
    images : array (n, H, W), (n, H, W, C) or, with 1 or 3 channels, (n, C, H, W), optional
        Shown as thumbnails.
    image_index : array (n,), optional
        Positions of the cases of the images; required unless there are N images.
    events : mapping or Events, optional
        Groups of classes, ordinal cuts and so on instead of single labels (`labelwise.events`).
    ood : distribution or Predictions, or mapping from names to these, optional
        Out-of-distribution cases to detect.
    costs : Costs, optional
        Costs that the page starts with; a matrix must be the sum of what missing the true class and
        a false alarm cost.
    sets : SetPredictor, optional
        Prediction sets fitted on other cases (`labelwise.sets.fit_sets`); needs true classes.
    title : str
    progress : callable, optional
        Called with (cases done, all cases).

    Examples
    --------
    >>> probs = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.6, 0.4]]])
    >>> q = lw.Ensemble(probs, class_names=["cat", "dog"])
    >>> report = build_report(q, y_true=[0, 1], metadata={"site": ["A", "B"]}, title="Pets")
    >>> report.data["exact"]["accuracy"]["value"], report.html[:15]
    (0.5, '<!DOCTYPE html>')
    """
    with_ids = ids is not False
    cases = _as_predictions(q, y_true, ids if with_ids else None)
    family = as_events(events)
    if family is not None and cases.multilabel:
        raise ValueError(
            "`events` need mutually exclusive classes; multi-label predictions have none"
        )
    if isinstance(ood, Distribution | Predictions):
        ood = {"out of distribution": ood}
    if not isinstance(ood or {}, Mapping):
        raise TypeError(
            "`ood` must be a distribution, Predictions, or a mapping from names to these; got "
            f"{type(ood).__name__}"
        )
    others = {str(name): _as_predictions(other) for name, other in (ood or {}).items()}
    for name, other in others.items():
        if name == IN_DISTRIBUTION:
            raise ValueError(f"`ood` must not be called {name!r}, as the other cases are")
        cases.check_same_model(other, f"`ood` {name!r}")
    given = None if costs is None else page_costs(costs, cases)
    joined = Metadata()
    if metadata is not None:
        # votes for labels that may occur together do not say how many readers there were
        voted = () if cases.multilabel else cases.names
        joined = join_metadata(metadata, cases.ids, len(cases), voted)
    if cases.groups is None and joined.groups is not None:
        cases = replace(cases, groups=joined.groups)
    counts = None
    if votes is not None:
        counts = count_votes(cases.distribution(), votes, annotators)
    elif joined.votes is not None:
        counts = joined.votes, joined.votes.sum(axis=1)
    if sets is not None:
        if not isinstance(sets, SetPredictor):
            raise TypeError(
                "`sets` must be fitted prediction sets, lw.sets.fit_sets(...); got "
                f"{type(sets).__name__}"
            )
        if cases.y_true is None:
            raise ValueError("`sets` need the true classes, `y_true`, to show their coverage")
    sets_of_cases = {IN_DISTRIBUTION: cases, **others}
    losses = LOSSES
    if sum(map(len, sets_of_cases.values())) > MAX_ROWS_FOR_ALL_LOSSES:
        losses = ("log",)
    found = collect(sets_of_cases, family, losses, progress)
    chosen, with_members = choose_cases(found)
    rows = chosen.rows
    page = PageData(len(rows))
    add_predictions(page, found, rows)
    add_identities(page, found, rows, with_ids=with_ids)
    if len(rows) < found.rows:
        page.add_block("weight", chosen.weight, "f4")
    embed_members(page, found, rows, with_members)
    place = np.where(rows < len(cases), rows, -1)  # the last value of the N cases is "missing"
    coverage = None
    if sets is not None:
        predicted = sets.predict(cases)
        coverage = evaluate_sets(sets, predicted, cases.y_true, cases.groups, 0.95)
        covered = predicted.member[np.arange(len(cases)), cases.true_class]
        add_sets(page, predicted.size, covered, place)
    if counts is not None:
        add_votes(page, *counts, place, multilabel=bool(cases.multilabel))
    columns = joined.columns
    if not with_ids:
        columns = {name: x for name, x in columns.items() if not identifies(name, x)}
    add_metadata(page, columns, place)
    images = cases.images if images is None else to_numpy(images)
    thumbnails = None
    if images is not None:
        thumbnails = embed_images(page, found, rows, images, image_index)
    resolved = None
    if family is not None:
        resolved = []
        for inside, rest in family.resolve(cases.n_classes, cases.class_names):
            # what an event is compared with, if that is not all other classes
            compared = rest if family.given is not None else None
            resolved.append({"inside": inside, "rest": compared})
    numbers = tuple(str(j + 1) for j in range(cases.n_members or 0))
    data = {
        "title": title,
        "version": __version__,
        "n": len(cases),
        "rows": page.rows,
        "multilabel": bool(cases.multilabel),
        "labelled": cases.y_true is not None,
        "class_names": cases.names,
        "labels": cases.names if family is None else family.names,
        "events": resolved,
        "structure": found.structure,
        "members": cases.member_names or numbers,
        "losses": losses,
        "columns": page.columns,
        "blocks": page.blocks,
        "exact": summarize(found, coverage),
        "costs": given,
        "id_note": id_note(page, with_ids, joined.columns),
        "images": thumbnails,
        "notes": [*cases.notes, *joined.notes],
    }
    return Report(render(title, data, page.arrays), data, page.arrays)


def write_report(
    path: str | os.PathLike[str], q: Distribution | Predictions, **options: Any
) -> Report:
    """Write a report about ``q`` to a file; options as for `build_report`.

    A file that was there before stays until the new one is complete.
    """
    path = Path(path)
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"a report is an .html file; got {str(path)!r}")
    check_place(path)
    if isinstance(q, Predictions):
        refuse_overwriting_source(path, q.path)
    report = build_report(q, **options)
    write_file(path, report.html)
    return report


def _as_predictions(
    q: Distribution | Predictions, y_true: Any = None, ids: Any = None
) -> Predictions:
    """The predictions, with these labels and ids instead of their own, if any are given."""
    y_true, ids = same_rows(q, y_true=y_true, ids=ids)
    if isinstance(q, Predictions):
        p = q
    else:
        p = Predictions(q=q)
        if ids is None and q.ids is not None and not is_positions(q.ids):
            ids = q.ids
    if y_true is not None:
        y = to_numpy(columns_by_class(y_true, p.names, "y_true"))
        # a column of 0 and 1 for each class, of predictions that do not say what they are
        p = replace(p, y_true=y, multilabel=p.multilabel or (p.q is None and y.ndim == 2))
    if ids is not None:
        p = replace(p, ids=to_numpy(ids))
    if not len(p):
        raise ValueError("there are no instances to report on")
    return p
