"""Tags that people gave to cases on the page of a report, which exports them as tags.csv."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tables import Summary, enumerated
from ._output import echo

if TYPE_CHECKING:
    import numpy as np

    from ..evaluation._one_pass import InstanceSummary
    from ..io import Predictions


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

    for tag in (*only, *exclude):
        if tag not in tags:
            known = enumerated(sorted(set(tags) - {""}))
            raise ValueError(f"no case has the tag {tag!r}; the tags are {known}")
    chosen = ~np.isin(tags, exclude)
    if only:
        chosen &= np.isin(tags, only)
    return chosen


def compare_tags(found: InstanceSummary, tags: np.ndarray) -> tuple[list[dict[str, Any]], str]:
    """Accuracy and uncertainty of the cases with each tag, beside all of them."""
    numbers = {"accuracy": found.right, "expected_accuracy": found.confidence, **found.scores}
    rows = {"all cases": slice(None)}
    for tag in sorted(set(tags) - {""}):
        rows[tag] = tags == tag
    records = []
    for tag, here in rows.items():
        record = {"tag": tag, "instances": len(tags[here])}
        for name, values in numbers.items():
            record[name] = values[here].mean()
        records.append(record)
    table = Summary("Tags", list(records[0]), [list(record.values()) for record in records])
    return records, table.text()
