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

from .formulas import TOLERANCE, Check
from .from_others import compare_votes, find, published
from .from_predictions import CHECKS

__all__ = ["AUDITED", "TOLERANCE", "Audit", "audit"]

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
    """Those that differ by more than their tolerance."""
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
            checks = list(_checks(path, data_dirs))
        except Skipped as reason:
            done.skipped[name] = str(reason)
            say(f"{name}: not recomputed, {reason}")
        except KeyError as error:
            done.unreadable[name] = f"it has no {error}"
            say(f"{name}: cannot be read: {done.unreadable[name]}")
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            done.unreadable[name] = str(error) or type(error).__name__
            say(f"{name}: cannot be read: {done.unreadable[name]}")
        else:
            wrong = [check for check in checks if not _agrees(check)]
            say(f"{name}: {len(checks)} numbers, {len(wrong)} differ")
            done.count += len(checks)
            done.different += [
                check._replace(name=f"{name.removesuffix('.json')}: {check.name}")
                for check in wrong
            ]
    return done


def _agrees(check: Check) -> bool:
    stored = nan if check.stored is None else float(check.stored)
    if isnan(stored) or isnan(check.recomputed):
        return isnan(stored) and isnan(check.recomputed)
    return abs(stored - check.recomputed) <= check.tolerance


class Skipped(Exception):
    """Why a result is not recomputed."""


def _checks(path: Path, data_dirs: Sequence[Path]) -> Iterator[Check]:
    """The numbers of one stored result."""
    folder, experiment = path.parent, path.stem
    if folder.name != "published" and experiment not in {*CHECKS, "human"}:
        raise Skipped("it is no experiment of this package")
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
        if arrays is None:
            raise Skipped(f"the authors' {name} is in no data directory")
        return published(arrays, numbers)
    predictions = any(folder.glob("run-*/*.npz")) or (folder / "runs.npz").is_file()
    if not predictions and experiment != "fingerprint":
        raise Skipped("its predictions are not stored")
    if experiment == "human":
        if about["votes"] != "CIFAR-10H":
            raise Skipped("a trial with votes that nobody cast")
        counts = find("cifar10h-counts.npy", data_dirs)
        if counts is None:
            raise Skipped("cifar10h-counts.npy (CIFAR-10H) is in no data directory")
        return compare_votes(folder, counts, numbers, about)
    return CHECKS[experiment](folder, numbers, about)
