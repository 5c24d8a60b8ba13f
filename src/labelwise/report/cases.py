"""The rows of the page: which cases, and what is said about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._column_words import is_called_id
from .._tables import shortened
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
from .metadata import Metadata, add_metadata, as_numbers
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
        known = {"id": "the ids of its cases", "group": "the names of its groups"}
        held = [words for name, words in known.items() if name in page.arrays]
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


def choose_cases(found: Collected) -> Rows:
    """All cases up to a million, and some of them with their members."""
    rows, weight, numbers = np.arange(found.rows), None, NUMBERS
    if found.rows > MAX_ROWS:
        sample = _choose(found, rows, MAX_ROWS)
        rows, weight = sample.rows, sample.weight
    if len(rows) > MANY_ROWS:
        numbers = NUMBERS_OF_MANY_ROWS
    each = (found.cases.n_members or DRAWS) * classes_of_case(found.cases.n_classes)
    members = _choose(found, rows, min(len(rows), numbers // each))
    if weight is not None:
        members = Chosen(members.rows, members.weight * weight[members.rows])
    return Rows(rows, weight, members)


def _choose(found: Collected, rows: np.ndarray, most: int) -> Chosen:
    """At most so many of the rows (at least one), some of each truth, prediction and data set:
    confident errors first, then what is most uncertain, then random ones, which are the same
    whenever they are chosen.
    """
    most = max(most, 1)
    keys = [key[rows] for key in (found["truth"], found["predicted"], found.dataset)]
    confident = np.where(found.wrong, found["top"], -np.inf)
    scores = (confident, found["epistemic.log"], found["aleatoric.log"])
    luck = np.random.default_rng(0).random(found.rows)[rows]
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
        titles = {"predicted": "predicted", "second": "second choice"}
        if labelled:
            titles["truth"] = "truth"
        for name, title in titles.items():
            page.add_category(name, title, found[name][rows], "classes")
    page.add_number("top", "probability of the prediction", found["top"][rows], tail="low")
    for name in found.scores:
        coarse = not name.endswith(".log")
        page.add_number(name, name, found[name][rows], tail="high", coarse=coarse)
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
        _add_votes(page, about, *about.votes, place)
    sampled = len(rows) < found.rows
    if about.with_ids and (cases.ids is not None or sampled):
        ids = _texts(about.parts, "ids")
        names = [shortened(ids[row] or f"#{row + 1}", LONGEST_ID) for row in rows]
        page.add_text("id", names, "row" if cases.ids is None else "file")
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
    distinct = len(set(texts.tolist())) > 0.5 * len(texts)
    return is_called_id(name) or (distinct and as_numbers(texts) is None)


def _add_groups(page: PageData, about: Cases, rows: np.ndarray) -> None:
    """The groups by name, in the order of the cases; numbered where ids are left out."""
    if about.found.cases.groups is None:
        return
    texts = _texts(about.parts, "groups")
    codes = {"": -1}
    column = np.array([codes.setdefault(texts[row], len(codes) - 1) for row in rows])
    names = [shortened(name, LONGEST_ID) for name in codes][1:]
    if not about.with_ids:
        names = [str(code + 1) for code in range(len(names))]
    page.add_category("group", "group", column, names, source="file")


def _texts(parts: Sequence[Predictions], key: str) -> list[str]:
    """The ids or groups of all cases, empty where there are none."""
    texts: list[str] = []
    for part in parts:
        given = getattr(part, key)
        if given is None:
            texts += [""] * len(part)
        else:
            texts += np.asarray(given[:]).astype(str).tolist()
    return texts


def _add_votes(
    page: PageData, about: Cases, counts: np.ndarray, total: np.ndarray, place: np.ndarray
) -> None:
    """The votes for each class, and how much the readers disagree."""
    share = counts / np.where(total > 0, total, np.nan)[:, None]
    disagreement = 1 - share.max(axis=-1)
    if about.found.cases.multilabel:
        disagreement = np.minimum(share, 1 - share).mean(axis=-1)
    values = np.append(disagreement, np.nan)[place]
    page.add_number("reader_disagreement", "readers disagree", values, source="votes")
    if counts.size <= MAX_VOTES:
        none = np.zeros_like(counts[:1])
        page.add_block("votes", np.concatenate([counts, none])[place], "u2")
        page.add_block("votes.total", np.append(total, 0)[place], "u2")


def embed_images(
    page: PageData, found: Collected, chosen: Rows, images: Any, image_index: Any
) -> dict[str, Any] | None:
    """Thumbnails of some rows of every stratum; how many, of how many."""
    where = positions_of_images(images, image_index, found.n)
    rows, at, source = np.intersect1d(chosen.rows, where, return_indices=True)
    if not rows.size:
        return None

    def choose(most: int) -> np.ndarray:
        return _choose(found, rows, most).rows

    shown, files = thumbnails(images, source, choose)
    page.add_rows("images.rows", at[shown])
    page.arrays["images"] = "\n".join(files)
    return {"count": len(files), "of": len(where)}
