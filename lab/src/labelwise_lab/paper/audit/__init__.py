"""Recompute the stored results with plain NumPy, SciPy and scikit-learn: nothing else of this
package is imported.

What follows from stored predictions needs nothing more. Human votes and the authors' own arrays
belong to others and are not stored: their numbers are recomputed where a data directory has the
files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from typing import Any

from .formulas import DAMAGED, Check
from .from_others import compare_votes, find, published
from .from_predictions import CHECKS

__all__ = ["AUDITED", "TOLERANCE", "Audit", "audit"]

TOLERANCE = 5e-5
"""Half of the last printed digit of an AUROC's difference; the package ranks in single precision,
which moves a run by up to 2e-5.
"""
OTHER_TOLERANCES = {": area": 5e-6, ", distance of ": 0.05}
"""Areas under rejection curves are printed with one more digit, distances in standard errors with
one digit.
"""
AUDITED = (
    "AUROCs, areas, correlations, hold-out effects and counts, distances from the paper's and "
    "their intervals, but not monotonicity, the effects of "
    "rounding and of single precision on the entropies, bootstrap intervals of the votes, lines "
    "fitted to our hold-out, and what is made of the numbers when the "
    "page is written (simultaneous intervals, verdicts)"
)


@dataclass(eq=False)
class Audit:
    """What an audit found."""

    count: int = 0
    """Numbers recomputed."""
    different: list[Check] = field(default_factory=list)
    """Those that differ by more than `TOLERANCE` (some by `OTHER_TOLERANCES`)."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Result -> why its file, or one that its numbers follow from, cannot be read."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Result -> why it was not recomputed, although nothing is wrong with it."""

    @property
    def passed(self) -> bool:
        """Whether numbers were recomputed, none differs and every result could be read."""
        return self.count > 0 and not self.different and not self.unreadable


def audit(
    results: Path, say: Callable[[str], None] = lambda text: None, *, data_dirs: Sequence[Path] = ()
) -> Audit:
    """Recompute the numbers of each result in the folder; what cannot be read is reported, and the
    audit goes on.

    ``data_dirs`` are searched for the counts of CIFAR-10H and for the authors' arrays.
    """
    done = Audit()
    for path in sorted(results.glob("*/*.json")):
        name = f"{path.parent.name}/{path.name}"
        try:
            found = _checks(path, data_dirs)
            each = (
                found
                if isinstance(found, str)
                else [(f"{name[:-5]}: {key}", _number(a), _number(b)) for key, a, b in found]
            )
        except DAMAGED as error:
            done.unreadable[name] = (
                f"it has no {error}"
                if isinstance(error, KeyError)
                else str(error) or type(error).__name__
            )
            say(f"{name}: cannot be read: {done.unreadable[name]}")
            continue
        if isinstance(each, str):
            done.skipped[name] = each
            say(f"{name}: not recomputed, {each}")
            continue
        wrong = [check for check in each if not _same(*check)]
        say(f"{name}: {len(each)} numbers, {len(wrong)} differ")
        done.count, done.different = done.count + len(each), done.different + wrong
    return done


def _number(value: Any) -> float:
    """A number; one that is not defined is stored as null."""
    return nan if value is None else float(value)


def _same(name: str, stored: float, again: float) -> bool:
    tolerance = next(
        (tolerance for words, tolerance in OTHER_TOLERANCES.items() if words in name), TOLERANCE
    )
    return abs(stored - again) <= tolerance or (isnan(stored) and isnan(again))


def _checks(path: Path, data_dirs: Sequence[Path]) -> Iterator[Check] | str:
    """The numbers of one stored result, or why they cannot be recomputed."""
    folder, experiment = path.parent, path.stem
    if folder.name != "published" and experiment not in {*CHECKS, "human"}:
        return "it is no experiment of this package"
    stored = json.loads(path.read_text(encoding="utf-8"))
    if not (
        isinstance(stored, dict)
        and all(isinstance(stored.get(key), dict) for key in ("about", "numbers"))
    ):
        raise ValueError("it must hold `about` and `numbers`")
    numbers, about = stored["numbers"], stored["about"]
    if folder.name == "published":
        name = f"label_uq_holdout_{experiment}.npz"
        arrays = find(name, data_dirs)
        return (
            f"the authors' {name} is in no data directory"
            if arrays is None
            else published(arrays, numbers)
        )
    if not (
        any(folder.glob("run-*/*.npz"))
        or (folder / "runs.npz").is_file()
        or experiment == "fingerprint"
    ):
        return "its predictions are not stored"
    if experiment == "human":
        if about["votes"] != "CIFAR-10H":
            return "a trial with votes that nobody cast"
        name = "cifar10h-counts.npy"
        counts = find(name, data_dirs)
        return (
            f"{name} (CIFAR-10H) is in no data directory"
            if counts is None
            else compare_votes(folder, counts, numbers, about)
        )
    return CHECKS[experiment](folder, numbers, about)
