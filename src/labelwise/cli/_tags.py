"""Tags that people gave to cases on the page of a report, which exports them as tags.csv."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import did_you_mean
from .._tables import Summary, counted, enumerated
from ._output import echo

if TYPE_CHECKING:
    import numpy as np

    from ..evaluation._one_pass import InstanceSummary
    from ..io import Predictions

ALL, UNTAGGED = "all", "no tag"


def read_tags(path: Path, cases: Predictions) -> np.ndarray:
    """The tag of each case, empty where it has none. How the rows were matched, and which were
    not, is said on standard error.
    """
    from ..report.metadata import join_metadata

    found = join_metadata(path, cases.ids, len(cases), cases.names)
    if "tag" not in found.columns:
        raise ValueError(f"{path.name} must have a column `tag`, as in the tags.csv of a report")
    for note in found.notes:
        echo(f"  {note}", err=True)
    return found.columns["tag"]


def candidates(tags: np.ndarray, only: Sequence[str], exclude: Sequence[str]) -> np.ndarray:
    """Which cases may be chosen: those with one of the tags ``only``, if there are any, and with
    none of ``exclude``.
    """
    import numpy as np

    known = _distinct(tags)
    for tag in (*only, *exclude):
        if tag not in known:
            others = did_you_mean(tag, known) or f"; the tags are {enumerated(known)}"
            raise ValueError(f"no case has the tag {tag!r}{others}")
    chosen = ~np.isin(tags, exclude)
    if only:
        chosen &= np.isin(tags, only)
    return chosen


def compare_tags(found: InstanceSummary, tags: np.ndarray) -> tuple[list[dict[str, Any]], str]:
    """Accuracy and uncertainty of the cases with each tag, beside all of them."""
    groups = {ALL: tags == tags}
    groups |= {tag: tags == tag for tag in _distinct(tags)}
    groups[UNTAGGED] = tags == ""
    records = []
    for tag, here in groups.items():
        if not here.any():
            continue
        numbers = {
            "accuracy": found.right[here].mean(),
            "expected_accuracy": found.confidence[here].mean(),
        }
        for part, score in found.scores.items():
            numbers[part] = score[here].mean()
        records.append({"tag": tag, "instances": int(here.sum()), **numbers})
    title = f"Tags of {counted(int((tags != '').sum()), 'instance')}"
    table = Summary(title, list(records[0]), [list(record.values()) for record in records])
    return records, table.text()


def _distinct(tags: np.ndarray) -> list[str]:
    """The tags that cases have, in alphabetical order."""
    return sorted(set(tags.tolist()) - {""})
