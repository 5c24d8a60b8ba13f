"""The rows of the page: which cases, and what is said about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._column_words import is_called_id
from .._tables import shortened
from .._validation.arguments import as_rng
from ..decomposition import PARTS
from ..io import Predictions
from ..sets._result import PredictionSets
from .collect import MAX_BITS, Collected
from .columns import MANY_ROWS, PageData, smallest_type
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
    parts: Sequence[Predictions]
    ood_names: Sequence[str]
    metadata: Metadata
    votes: tuple[np.ndarray, np.ndarray] | None
    """Votes for each class (N, K), and all votes (N,)."""
    sets: PredictionSets | None
    with_ids: bool

    def of_all(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """Values of the N cases, and ``missing`` for those out of distribution."""
        n_others = self.found.rows - self.found.n
        return np.concatenate([values, np.full((n_others, *values.shape[1:]), missing)])

    @property
    def keys(self) -> list[np.ndarray]:
        """What makes a stratum: truth and prediction (multi-label data: the number of wrong
        labels), and the data set.
        """
        found = self.found
        keys: list[np.ndarray] = [found.predicted, found.dataset]
        if found.cases.y_true is not None:
            keys.insert(0, found.truth)
            if found.cases.multilabel:
                del keys[1]
        return keys

    @property
    def interest(self) -> list[np.ndarray]:
        """What comes first in a stratum: confident errors, then what is most uncertain."""
        found = self.found
        confident = np.where(found.wrong, found.top, -np.inf)
        return [confident, found.scores["epistemic.log"], found.scores["aleatoric.log"]]

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


def choose_cases(about: Cases, rng: Any) -> Rows:
    """All cases up to a million, and some of them with their members."""
    found, cases = about.found, about.found.cases
    luck = as_rng(rng).random(found.rows)
    rows, weight = np.arange(found.rows), None
    keys, interest = about.keys, about.interest
    if found.rows > MAX_ROWS:
        sample = choose_rows(number_strata(keys, MAX_ROWS // 2), interest, MAX_ROWS, luck)
        rows, weight, luck = sample.rows, sample.weight, luck[sample.rows]
        keys, interest = [key[rows] for key in keys], [score[rows] for score in interest]
    numbers = NUMBERS
    if len(rows) > MANY_ROWS:
        numbers = NUMBERS_OF_MANY_ROWS
    each = (cases.n_members or DRAWS) * classes_of_case(cases.n_classes)
    most = max(1, min(len(rows), numbers // each))
    members = choose_rows(number_strata(keys, most), interest, most, luck)
    if weight is not None:
        members = Chosen(members.rows, members.weight * weight[members.rows])
    return Rows(rows, weight, members, luck)


def add_columns(about: Cases, chosen: Rows) -> PageData:
    """All columns and blocks but the images."""
    found, cases, rows = about.found, about.found.cases, chosen.rows
    page = PageData(len(rows))
    if cases.multilabel:
        for name, bits in found.bits.items():
            page.add_block(name, bits[rows], "u1")
    else:
        page.add_category("predicted", "predicted", found.predicted[rows], "classes")
        page.add_category("second", "second choice", found.second[rows], "classes")
        if cases.y_true is not None:
            page.add_category("truth", "truth", found.truth[rows], "classes")
    page.add_number("top", "probability of the prediction", found.top[rows], tail="low")
    for loss in found.losses:
        for part in PARTS:
            name = f"{part}.{loss}"
            score = found.scores[name][rows]
            page.add_number(name, name, score, tail="high", coarse=loss != "log")
    if 1 < (cases.n_members or 1) <= MAX_BITS:
        dtype = smallest_type(1 << (cases.n_members or 1))
        page.add_block("agree", found.agree[rows], dtype)
        if cases.y_true is not None:
            page.add_block("right", found.right[rows], dtype)
    _add_groups(page, about, rows)
    if about.ood_names:
        names = ["in distribution", *about.ood_names]
        page.add_category("dataset", "data set", found.dataset[rows], names)
    if about.sets is not None:
        _add_sets(page, about, rows)
    if about.votes is not None:
        _add_votes(page, about, rows)
    _add_ids(page, about, rows)
    if chosen.weight is not None:
        page.add_block("weight", chosen.weight, "f4")
    if found.by_label:
        page.add_probabilities("mean", found.by_label["mean"][rows])
        for name in ("aleatoric", "epistemic"):
            page.add_uncertainties(name, found.by_label[name][rows])
    members = chosen.with_members
    embed_members(page, about.parts, rows[members.rows], found.truth)
    page.add_rows("members.rows", members.rows)
    page.add_block("members.weight", members.weight, "f4")
    columns = about.metadata.columns
    if not about.with_ids:
        columns = {name: x for name, x in columns.items() if not _identifies(name, x)}
    in_metadata = np.where(rows < found.n, rows, -1)
    add_metadata(page, columns, in_metadata)
    return page


def _identifies(name: str, texts: np.ndarray) -> bool:
    """Whether a column of metadata is called like an id, or another text for almost each case."""
    distinct = set(texts.tolist())
    numbers = all(x.replace(".", "").replace("-", "").isdigit() for x in distinct if x)
    return is_called_id(name) or (not numbers and len(distinct) > 0.5 * len(texts))


def _add_groups(page: PageData, about: Cases, rows: np.ndarray) -> None:
    """The groups by name; numbered in the order of the cases where ids are left out."""
    if about.found.cases.groups is None:
        return
    texts = []
    for part in about.parts:
        if part.groups is None:
            texts.append(np.full(len(part), "", dtype=object))
        else:
            texts.append(np.asarray(part.groups[:]).astype(str).astype(object))
    groups = np.concatenate(texts)[rows]
    names, first, codes = np.unique(groups.astype(str), return_index=True, return_inverse=True)
    shown = [shortened(name, LONGEST_ID) for name in names.tolist()]
    if not about.with_ids:
        order = np.argsort(np.argsort(first))
        shown = [str(place + 1) for place in order.tolist()]
    codes = codes.copy()
    if names[0] == "":  # no group
        codes, shown = codes - 1, shown[1:]
    page.add_category("group", "group", codes, shown, source="file")


def _add_sets(page: PageData, about: Cases, rows: np.ndarray) -> None:
    found, sets = about.found, about.sets
    if sets is None:
        return
    size = sets.size
    names = list(map(str, range(int(size.max()) + 1)))
    page.add_category("set_size", "set size", about.of_all(size, -1)[rows], names, source="sets")
    covered = about.of_all(sets.member[np.arange(found.n), found.truth[: found.n]].astype(int), -1)
    page.add_category("covered", "truth in the set", covered[rows], ["no", "yes"], source="sets")


def _add_votes(page: PageData, about: Cases, rows: np.ndarray) -> None:
    """The votes for each class, and how much the readers disagree."""
    if about.votes is None:
        return
    counts, total = about.votes
    share = counts / np.where(total > 0, total, np.nan)[:, None]
    if about.found.cases.multilabel:
        disagreement = np.minimum(share, 1 - share).mean(axis=-1)
    else:
        disagreement = 1 - share.max(axis=-1)
    values = about.of_all(disagreement, np.nan)[rows]
    page.add_number("reader_disagreement", "readers disagree", values, source="votes")
    if counts.size <= MAX_VOTES:
        page.add_block("votes", about.of_all(counts, 0)[rows], "u2")
        page.add_block("votes.total", about.of_all(total, 0)[rows], "u2")


def _add_ids(page: PageData, about: Cases, rows: np.ndarray) -> None:
    """The ids; of a sample of cases that have none, their numbers from 1."""
    found = about.found
    sampled = len(rows) < found.rows
    if not about.with_ids or (found.cases.ids is None and not sampled):
        return
    ids: list[str] = []
    for prefix, part in zip(["", *about.ood_names], about.parts, strict=True):
        if part.ids is not None:
            ids += np.asarray(part.ids[:]).astype(str).tolist()
        else:
            ids += [f"{prefix} {i + 1}".strip() for i in range(len(part))]
    page.add_text("id", "id", [shortened(ids[i], LONGEST_ID) for i in rows], source="file")


def embed_images(
    page: PageData, about: Cases, chosen: Rows, images: Any, image_index: Any
) -> dict[str, Any] | None:
    """Thumbnails of some rows of every stratum; how many, of how many."""
    where = positions_of_images(images, image_index, about.found.n)
    _, at, source = np.intersect1d(chosen.rows, where, return_indices=True)
    if not at.size:
        return None
    keys = [key[chosen.rows[at]] for key in about.keys]
    interest = [score[chosen.rows[at]] for score in about.interest]

    def choose(most: int) -> np.ndarray:
        return choose_rows(number_strata(keys, most), interest, most, chosen.luck[at]).rows

    shown, files = thumbnails(images, source, choose)
    page.add_rows("images.rows", at[shown])
    page.arrays["images"] = "\n".join(files)
    return {"count": len(files), "of": len(where)}
