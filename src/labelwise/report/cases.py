"""The rows of the page: which cases, and what is said about each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from .._column_words import is_called_id
from ..io import Predictions
from .collect import Collected
from .columns import MANY_ROWS, PROBABILITIES, SQUARES, PageData
from .images import positions_of_images, thumbnails
from .members import DRAWS, NUMBERS, NUMBERS_OF_MANY_ROWS, classes_of_case
from .metadata import as_numbers
from .strata import Chosen, choose_rows, number_strata

MAX_ROWS = 1_000_000
MAX_VOTES = 4_000_000  # cases × classes


def id_note(page: PageData, with_ids: bool, columns: Iterable[str]) -> str | None:
    """Which identifiers the file contains; ``columns`` are those of the metadata."""
    if not with_ids:
        return "Ids were left out, and groups are numbered."
    known = {"id": "the ids of its cases", "group": "the names of its groups"}
    held = [words for name, words in known.items() if name in page.arrays]
    held += [f"column {name!r}" for name in columns if is_called_id(name)]
    if not held:
        return None
    return f"This file contains {' and '.join(held)}."


def choose_cases(found: Collected) -> tuple[Chosen, Chosen]:
    """The rows of the page, all cases up to a million; and those of the rows that have their
    members. Each has the number of cases it stands for.
    """
    rows = _choose(found, np.arange(found.rows), MAX_ROWS)
    numbers = NUMBERS
    if len(rows.rows) > MANY_ROWS:
        numbers = NUMBERS_OF_MANY_ROWS
    each = (found.cases.n_members or DRAWS) * classes_of_case(found.cases.n_classes)
    members = _choose(found, rows.rows, numbers // each)
    return rows, Chosen(members.rows, members.weight * rows.weight[members.rows])


def _choose(found: Collected, rows: np.ndarray, most: int) -> Chosen:
    """At most so many of the rows (at least one), some of each truth, prediction and data set:
    confident errors first, then what is most uncertain, then random ones, which are the same
    whenever they are chosen.
    """
    if len(rows) <= most:
        return Chosen(np.arange(len(rows)), np.ones(len(rows)))
    most = max(most, 1)
    keys = [key[rows] for key in (found["truth"], found["predicted"], found.dataset)]
    confident = np.where(found.wrong, found["top"], -np.inf)
    scores = (confident, found["epistemic.log"], found["aleatoric.log"])
    luck = np.random.default_rng(0).random(found.rows)[rows]
    stratum = number_strata(keys, most // 2)
    return choose_rows(stratum, [score[rows] for score in scores], most, luck)


def add_predictions(page: PageData, found: Collected, rows: np.ndarray) -> None:
    """What is predicted, and how uncertain it is."""
    for name in ("predicted_labels", "truth_labels", "agree", "right"):
        if name in found.columns:
            page.add_block(name, found[name][rows])
    if not found.cases.multilabel:
        titles = {"predicted": "predicted", "second": "second choice"}
        if found.cases.y_true is not None:
            titles["truth"] = "truth"
        for name, title in titles.items():
            page.add_category(name, title, found[name][rows], "classes")
    page.add_number("top", "probability of the prediction", found["top"][rows], tail="low")
    for name in found.scores:
        coarse = not name.endswith(".log")
        page.add_number(name, name, found[name][rows], tail="high", coarse=coarse)
    if "mean" in found.columns:
        page.add_by_label("mean", found["mean"][rows], PROBABILITIES)
        for name in ("aleatoric", "epistemic"):
            page.add_by_label(name, found[name][rows], SQUARES * found[name].max())
    if len(found.sets) > 1:
        page.add_category("dataset", "data set", found.dataset[rows], list(found.sets))


def add_identities(page: PageData, found: Collected, rows: np.ndarray, *, with_ids: bool) -> None:
    """Ids, or in a sample without ids the numbers of the cases; and groups, which are numbered in
    the order of the cases where ids are left out.
    """
    cases = found.cases
    if with_ids and (cases.ids is not None or len(rows) < found.rows):
        ids = _texts(found.sets.values(), "ids")
        page.add_text("id", [ids[row] or f"#{row + 1}" for row in rows])
        page.columns[-1]["numbered"] = cases.ids is None
    if cases.groups is not None:
        groups = _texts(found.sets.values(), "groups")
        groups = [groups[row] for row in rows]
        distinct = list(dict.fromkeys(filter(None, groups)))
        page.add_names("group", groups, distinct, numbered=not with_ids)


def add_sets(page: PageData, size: np.ndarray, covered: np.ndarray, place: np.ndarray) -> None:
    """How large the prediction set of each case is, and whether it has the truth; ``place`` is
    where the rows are among the N cases, -1 if they are none of these.
    """
    sizes = list(map(str, range(int(size.max()) + 1)))
    page.add_category("set_size", "set size", np.append(size, -1)[place], sizes)
    held = np.append(covered, -1)[place]
    page.add_category("covered", "truth in the set", held, ["no", "yes"])


def identifies(name: str, texts: np.ndarray) -> bool:
    """Whether a column of metadata is called like an id, or another text for almost each case."""
    distinct = len(set(texts.tolist())) > 0.5 * len(texts)
    return is_called_id(name) or (distinct and as_numbers(texts) is None)


def _texts(parts: Iterable[Predictions], key: str) -> list[str]:
    """The ids or groups of all cases, empty where there are none."""
    texts = []
    for part in parts:
        given = getattr(part, key)
        if given is None:
            texts += [""] * len(part)
        else:
            texts += np.asarray(given[:]).astype(str).tolist()
    return texts


def add_votes(
    page: PageData, counts: np.ndarray, total: np.ndarray, place: np.ndarray, *, multilabel: bool
) -> None:
    """The votes for each class, and how much the readers disagree; ``place`` as in `add_sets`."""
    share = counts / np.where(total > 0, total, np.nan)[:, None]
    disagreement = 1 - share.max(axis=-1)
    if multilabel:
        disagreement = np.minimum(share, 1 - share).mean(axis=-1)
    values = np.append(disagreement, np.nan)[place]
    page.add_number("reader_disagreement", "readers disagree", values)
    if counts.size <= MAX_VOTES:
        none = np.zeros_like(counts[:1])
        page.add_block("votes", np.concatenate([counts, none])[place], "u2")
        page.add_block("votes.total", np.append(total, 0)[place], "u2")


def embed_images(
    page: PageData, found: Collected, rows: np.ndarray, images: Any, image_index: Any
) -> dict[str, Any] | None:
    """Thumbnails of some rows of every stratum; how many, of how many."""
    where = positions_of_images(images, image_index, found.n)
    pictured, at, source = np.intersect1d(rows, where, return_indices=True)
    if not pictured.size:
        return None

    shown, files = thumbnails(images, source, partial(_choose, found, pictured))
    page.add_rows("images.rows", at[shown])
    page.arrays["images"] = "\n".join(files)
    return {"count": len(files), "of": len(where)}
