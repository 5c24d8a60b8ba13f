"""Recompute the stored results with plain NumPy, SciPy and scikit-learn: nothing else of this package is imported.

What follows from stored predictions needs nothing more. Human votes and the authors' own arrays belong to others and are not stored: their
numbers are recomputed where a data directory has the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .formulas import Check
from .from_others import compare_votes, find, published
from .from_predictions import CHECKS

__all__ = ["AUDITED", "TOLERANCE", "audit"]

TOLERANCE = 5e-5
"""Half of the last printed digit of an AUROC's difference; the package ranks in single precision, which moves a run by up to 2e-5."""
OTHER_TOLERANCES = {": area": 5e-6, ", distance of ": 0.02}
"""Areas under rejection curves are printed with one more digit, distances in standard errors with one digit."""
AUDITED = (
    "AUROCs, areas, correlations, hold-out effects, distances from the paper's and their intervals, but not "
    "monotonicity and what is made of them when the page is written (simultaneous intervals, verdicts)"
)


def audit(results: Path, say: Callable[[str], None] = lambda text: None, *, data_dirs: Sequence[Path] = ()) -> tuple[int, list[Check]]:
    """How many numbers were recomputed, and those that differ by more than `TOLERANCE` (some by `OTHER_TOLERANCES`).

    ``data_dirs`` are searched for the counts of CIFAR-10H and for the authors' arrays.
    """
    count = 0
    different: list[Check] = []
    for path in sorted(results.glob("*/*.json")):
        found = _checks(path, data_dirs)
        if isinstance(found, str):
            say(f"{path.parent.name}/{path.name}: not recomputed, {found}")
            continue
        each = [(f"{path.parent.name}/{path.stem}: {name}", a, b) for name, a, b in found]
        wrong = [check for check in each if not abs(check[1] - check[2]) <= _tolerance(check[0])]
        say(f"{path.parent.name}/{path.name}: {len(each)} numbers, {len(wrong)} differ")
        count, different = count + len(each), different + wrong
    return count, different


def _tolerance(name: str) -> float:
    return next((tolerance for words, tolerance in OTHER_TOLERANCES.items() if words in name), TOLERANCE)


def _checks(path: Path, data_dirs: Sequence[Path]) -> Iterator[Check] | str:
    """The numbers of one stored result, or why they cannot be recomputed."""
    folder, experiment = path.parent, path.stem
    if folder.name != "published" and experiment not in {*CHECKS, "human"}:
        return "it is no experiment of this package"
    stored = json.loads(path.read_text(encoding="utf-8"))
    numbers, about = stored["numbers"], stored["about"]
    if folder.name == "published":
        name = f"label_uq_holdout_{experiment}.npz"
        arrays = find(name, data_dirs)
        return f"the authors' {name} is in no data directory" if arrays is None else published(arrays, numbers)
    if not (any(folder.glob("run-*/*.npz")) or (folder / "runs.npz").is_file() or experiment == "fingerprint"):
        return "its predictions are not stored"
    if experiment == "human":
        if about["votes"] != "CIFAR-10H":
            return "a trial with votes that nobody cast"
        name = "cifar10h-counts.npy"
        counts = find(name, data_dirs)
        return f"{name} (CIFAR-10H) is in no data directory" if counts is None else compare_votes(folder, counts, numbers, about)
    return CHECKS[experiment](folder, numbers, about)
