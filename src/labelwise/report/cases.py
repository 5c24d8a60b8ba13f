"""The rows of the page: which cases, and what is said about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._column_words import is_called_id
from .._tables import shortened
from .._validation.arguments import as_rng
from ..decomposition import PARTS
from ..io import Predictions
from ..sets._result import PredictionSets
from .collect import Collected
from .columns import MANY_ROWS, PROBABILITIES, SQUARES, PageData, smallest_type
from .images import positions_of_images, thumbnails
from .members import (
    DRAWS,
    NUMBERS,
    NUMBERS_OF_MANY_ROWS,
    classes_of_case,
    embed_members,
)
from .metadata import Metadata, add_metadata
from .strata import Chosen, choose_rows, number_strata

MAX_ROWS = 1_000_000
MAX_VOTES = 4_000_000  # cases × classes
LONGEST_ID = 500
"""Maximum length of embedded ids: many ids of any length could be too large for a page."""


@dataclass(frozen=True, eq=False)
class Cases:
    """All that is known of the cases, those out of distribution after the others."""

    found: Collected
    others: Mapping[str, Predictions]
    """Those out of distribution, by the name of their data set."""
    metadata: Metadata
    votes: tuple[np.ndarray, np.ndarray] | None
    """Votes for each class (N, K), and all votes (N,)."""
    sets: PredictionSets | None
    with_ids: bool

    @property
    def parts(self) -> list[Predictions]:
        return [self.found.cases, *self.others.values()]

    def id_note(self, page: PageData) -> str | None:
        """Which identifiers the file contains."""
        if not self.with_ids:
            return "Ids were left out, and groups are numbered."
        names = {column["name"] for column in page.columns}
        known = {"id": "the ids of its cases", "group": "the names of its groups"}
        held = [words for name, words in known.items() if name in names]
        held += [f"column {name!r}" for name in self.metadata.columns if is_called_id(name)]
        if not held:
            return None
        return f"This file contains {' and '.join(held)}."


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of the page, as positions among all cases, and those with members."""

    rows: np.ndarray
    weight: np.ndarray | None
    """How many cases each row stands for, of a sample."""
    with_members: Chosen
    """Positions among the rows."""
    luck: np.ndarray
    """A random number for each row: images and members are then of the same cases."""


def choose_cases(found: Collected, rng: Any) -> Rows:
    """All cases up to a million, and some of them with their members."""
    luck = as_rng(rng).random(found.rows)
    rows, weight = np.arange(found.rows), None
    if found.rows > MAX_ROWS:
        sample = _choose(found, rows, MAX_ROWS, luck)
        rows, weight, luck = sample.rows, sample.weight, luck[sample.rows]
    numbers = NUMBERS
    if len(rows) > MANY_ROWS:
        numbers = NUMBERS_OF_MANY_ROWS
    each = (found.cases.n_members or DRAWS) * classes_of_case(found.cases.n_classes)
    members = _choose(found, rows, min(len(rows), numbers // each), luck)
    if weight is not None:
        members = Chosen(members.rows, members.weight * weight[members.rows])
    return Rows(rows, weight, members, luck)


def _choose(found: Collected, rows: np.ndarray, most: int, luck: np.ndarray) -> Chosen:
    """At most so many of the rows (at least one), some of each truth, prediction and data set:
    confident errors first, then what is most uncertain.
    """
    most = max(most, 1)
    keys = [key[rows] for key in (found["truth"], found["predicted"], found.dataset)]
    confident = np.where(found.wrong, found["top"], -np.inf)
    scores = (confident, found["epistemic.log"], found["aleatoric.log"])
    stratum = number_strata(keys, most // 2)
    return choose_rows(stratum, [score[rows] for score in scores], most, luck)


def add_columns(about: Cases, chosen: Rows) -> PageData:
    """All columns and blocks but the images."""
    found, cases, rows = about.found, about.found.cases, chosen.rows
    labelled = cases.y_true is not None
    page = PageData(len(rows))
    if cases.multilabel:
        page.add_block("predicted_labels", found["predicted_labels"][rows], "u1")
        if labelled:
            page.add_block("truth_labels", found["truth_labels"][rows], "u1")
    else:
        titles = {"predicted": "predicted", "second": "second choice", "truth": "truth"}
        for name, title in titles.items():
            if name != "truth" or labelled:
                page.add_category(name, title, found[name][rows], "classes")
    page.add_number("top", "probability of the prediction", found["top"][rows], tail="low")
    for loss in found.losses:
        for part in PARTS:
            name = f"{part}.{loss}"
            page.add_number(name, name, found[name][rows], tail="high", coarse=loss != "log")
    if "agree" in found.columns:
        dtype = smallest_type(1 << (cases.n_members or 1))
        page.add_block("agree", found["agree"][rows], dtype)
        if labelled:
            page.add_block("right", found["right"][rows], dtype)
    _add_groups(page, about, rows)
    if about.others:
        names = ["in distribution", *about.others]
        page.add_category("dataset", "data set", found.dataset[rows], names)
    # what is known of the N cases alone: -1 is the last of its values, "missing"
    place = np.where(rows < found.n, rows, -1)
    if about.sets is not None:
        size = about.sets.size
        covered = about.sets.member[np.arange(found.n), found["truth"][: found.n]]
        sizes = list(map(str, range(int(size.max()) + 1)))
        page.add_category("set_size", "set size", np.append(size, -1)[place], sizes, source="sets")
        values = np.append(covered.astype(int), -1)[place]
        page.add_category("covered", "truth in the set", values, ["no", "yes"], source="sets")
    if about.votes is not None:
        _add_votes(page, about.votes, place, multilabel=bool(cases.multilabel))
    _add_ids(page, about, rows)
    if chosen.weight is not None:
        page.add_block("weight", chosen.weight, "f4")
    if "mean" in found.columns:
        page.add_by_label("mean", found["mean"][rows], PROBABILITIES)
        for name in ("aleatoric", "epistemic"):
            page.add_by_label(name, found[name][rows], SQUARES * found[name].max())
    members = chosen.with_members
    embed_members(page, about.parts, rows[members.rows], found["truth"])
    page.add_rows("members.rows", members.rows)
    page.add_block("members.weight", members.weight, "f4")
    columns = about.metadata.columns
    if not about.with_ids:
        columns = {name: x for name, x in columns.items() if not _identifies(name, x)}
    add_metadata(page, columns, place)
    return page


def _identifies(name: str, texts: np.ndarray) -> bool:
    """Whether a column of metadata is called like an id, or another text for almost each case."""
    distinct = set(texts.tolist())
    numbers = all(x.replace(".", "").replace("-", "").isdigit() for x in distinct if x)
    return is_called_id(name) or (not numbers and len(distinct) > 0.5 * len(texts))


def _add_groups(page: PageData, about: Cases, rows: np.ndarray) -> None:
    """The groups by name, in the order of the cases; numbered where ids are left out."""
    if about.found.cases.groups is None:
        return
    texts: list[str] = []
    for part in about.parts:
        if part.groups is None:
            texts += [""] * len(part)
        else:
            texts += np.asarray(part.groups[:]).astype(str).tolist()
    codes = {"": -1}
    column = np.array([codes.setdefault(texts[row], len(codes) - 1) for row in rows])
    names = [shortened(name, LONGEST_ID) for name in codes][1:]
    if not about.with_ids:
        names = [str(code + 1) for code in range(len(names))]
    page.add_category("group", "group", column, names, source="file")


def _add_votes(
    page: PageData, votes: tuple[np.ndarray, np.ndarray], place: np.ndarray, *, multilabel: bool
) -> None:
    """The votes for each class, and how much the readers disagree."""
    counts, total = votes
    share = counts / np.where(total > 0, total, np.nan)[:, None]
    disagreement = 1 - share.max(axis=-1)
    if multilabel:
        disagreement = np.minimum(share, 1 - share).mean(axis=-1)
    values = np.append(disagreement, np.nan)[place]
    page.add_number("reader_disagreement", "readers disagree", values, source="votes")
    if counts.size <= MAX_VOTES:
        none = np.zeros_like(counts[:1])
        page.add_block("votes", np.concatenate([counts, none])[place], "u2")
        page.add_block("votes.total", np.append(total, 0)[place], "u2")


def _add_ids(page: PageData, about: Cases, rows: np.ndarray) -> None:
    """The ids; of a sample of cases that have none, their numbers from 1."""
    found = about.found
    sampled = len(rows) < found.rows
    if not about.with_ids or (found.cases.ids is None and not sampled):
        return
    ids: list[str] = []
    for prefix, part in zip(["", *about.others], about.parts, strict=True):
        if part.ids is not None:
            ids += np.asarray(part.ids[:]).astype(str).tolist()
        else:
            ids += [f"{prefix} {i + 1}".strip() for i in range(len(part))]
    page.add_text("id", "id", [shortened(ids[i], LONGEST_ID) for i in rows], source="file")


def embed_images(
    page: PageData, found: Collected, chosen: Rows, images: Any, image_index: Any
) -> dict[str, Any] | None:
    """Thumbnails of some rows of every stratum; how many, of how many."""
    where = positions_of_images(images, image_index, found.n)
    rows, at, source = np.intersect1d(chosen.rows, where, return_indices=True)
    if not rows.size:
        return None

    def choose(most: int) -> np.ndarray:
        return _choose(found, rows, most, chosen.luck[at]).rows

    shown, files = thumbnails(images, source, choose)
    page.add_rows("images.rows", at[shown])
    page.arrays["images"] = "\n".join(files)
    return {"count": len(files), "of": len(where)}
