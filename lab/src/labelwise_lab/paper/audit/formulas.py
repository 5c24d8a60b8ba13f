"""Formulas of the audit, written out again in float64 and as directly as possible, with NumPy,
SciPy and scikit-learn alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

__all__ = [
    "AREA_TOLERANCE",
    "MEASURES",
    "PAIRS",
    "PARTS",
    "TOLERANCE",
    "Check",
    "Recomputed",
    "all_scores",
    "area",
    "auroc",
    "compare_drops",
    "compare_ends",
    "compare_runs",
    "complement",
    "delong",
    "entropy",
    "opened",
    "own_runs",
    "read_probs",
    "select",
]

PARTS = ("total", "aleatoric", "epistemic")
MEASURES = ("variance", "label-wise entropy", "entropy")
PAIRS = tuple(combinations(MEASURES, 2))
TOLERANCE = 5e-5
"""Half of the last printed digit of an AUROC's difference; the package ranks in single precision,
which moves a run by up to 2e-5.
"""
AREA_TOLERANCE = 5e-6  # areas under rejection curves are printed with one more digit


class Check(NamedTuple):
    """A number as stored and as recomputed; ``None`` and NaN: not defined."""

    name: str
    stored: float | None
    recomputed: float
    tolerance: float = TOLERANCE


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The arrays of a .npz file; whatever is wrong with it is said with its name."""
    try:
        with path.open("rb") as raw:
            if raw.read(4) != b"PK\x03\x04":
                raise ValueError("it is not a .npz file")
            raw.seek(0)
            with np.load(raw, allow_pickle=False) as file:
                yield file
    except Exception as error:  # NumPy, zipfile, zlib and lzma each raise their own
        what = error.args[0] if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise ValueError(f"{path.parent.name}/{path.name}: {what}") from error


def read_probs(path: Path, members: int | None = None) -> np.ndarray:
    """Stored logarithms of the first ``members`` as probabilities that sum to 1."""
    with opened(path) as file:
        p = np.exp(file["log_probs"][:members].astype(np.float32)).astype(np.float64)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def xlog2(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x log2 y, 0 for x = 0."""
    return np.asarray(x * np.log2(np.where(x > 0, y, 1.0)))


def complement(p: np.ndarray) -> np.ndarray:
    """The sum of the other classes: 1 − p without its rounding error."""
    before = np.cumsum(p, axis=-1)
    after = np.cumsum(p[..., ::-1], axis=-1)[..., ::-1]
    zero = np.zeros_like(p[..., :1])
    return np.asarray(
        np.concatenate([zero, before[..., :-1]], axis=-1)
        + np.concatenate([after[..., 1:], zero], axis=-1)
    )


def all_scores(p: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """(measure, part) -> one number per instance, for probabilities (members, instances,
    classes).
    """
    mean, rest = p.mean(axis=0), complement(p)
    mean_rest = rest.mean(axis=0)
    joint, other = (
        (
            -xlog2(m, m).sum(axis=-1),
            -xlog2(x, x).sum(axis=-1).mean(axis=0),
            xlog2(x, x / np.where(m > 0, m, 1)).sum(axis=-1).mean(axis=0),
        )
        for x, m in ((p, mean), (rest, mean_rest))
    )
    variance = (
        (mean * mean_rest).sum(axis=-1),
        (p * rest).sum(axis=-1).mean(axis=0),
        ((p - mean) ** 2).sum(axis=-1).mean(axis=0),
    )
    both = [a + b for a, b in zip(joint, other, strict=True)]
    found = {"variance": variance, "label-wise entropy": both, "entropy": joint}
    return {
        (measure, part): value
        for measure, values in found.items()
        for part, value in zip(PARTS, values, strict=True)
    }


def auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """P(outside > inside) + P(equal) / 2."""
    return float(
        roc_auc_score(np.r_[np.zeros(len(inside)), np.ones(len(outside))], np.r_[inside, outside])
    )


def delong(inside: list[np.ndarray], outside: list[np.ndarray]) -> tuple[float, float]:
    """The difference of two AUROCs of the same instances and half the width of DeLong's 95 %
    interval, from each instance's share of pairs that it wins.
    """
    from scipy.stats import rankdata

    wins_in, wins_out = [], []
    for a, b in zip(inside, outside, strict=True):
        ranks = rankdata(np.r_[a, b])
        wins_out.append((ranks[len(a) :] - rankdata(b)) / len(a))
        wins_in.append(1 - (ranks[: len(a)] - rankdata(a)) / len(b))
    of_in, of_out = wins_in[0] - wins_in[1], wins_out[0] - wins_out[1]
    variance = of_in.var(ddof=1) / len(of_in) + of_out.var(ddof=1) / len(of_out)
    return float(of_out.mean()), 1.959964 * float(np.sqrt(variance))


def area(score: np.ndarray, correct: np.ndarray) -> float:
    """Accuracy averaged over all numbers of instances that are kept; among equal scores in random
    order, on average.
    """
    _, level, counts = np.unique(score, return_inverse=True, return_counts=True)
    each = (np.bincount(level, weights=correct) / counts)[np.sort(level)]
    return float(np.mean(np.cumsum(each) / np.arange(1, len(each) + 1)))


def own_runs(folder: Path, about: dict[str, Any]) -> Iterator[tuple[Path, np.ndarray, np.ndarray]]:
    """For each run its folder, its probabilities on its own test set, and whether it is right."""
    data = about["setting"]["data"]
    for r in range(about["runs"]):
        path = folder / f"run-{r}" / f"{data}.npz"
        probs = read_probs(path, about["setting"]["members"])
        with opened(path) as file:
            labels = file["y_true"].astype(int)
        yield path.parent, probs, probs.mean(axis=0).argmax(axis=-1) == labels


def select(records: list[dict[str, Any]], **about: Any) -> list[dict[str, Any]]:
    """The stored records about something."""
    return [
        record for record in records if all(record[name] == value for name, value in about.items())
    ]


class Recomputed:
    """Recomputed numbers of each run, by quantity and by what they are about."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, tuple[tuple[str, Any], ...]], list[float]] = {}

    def add(self, quantity: str, value: Any, **about: Any) -> None:
        """The value in the next run."""
        self.values.setdefault((quantity, tuple(about.items())), []).append(float(value))

    def checks(self, stored: dict[str, Any], tolerance: float = TOLERANCE) -> Iterator[Check]:
        """Compare everything with what is stored."""
        for (quantity, about), values in self.values.items():
            cell = select(stored[quantity], **dict(about))[0] if about else stored[quantity]
            name = ", ".join([quantity, *(str(value) for _, value in about)])
            for check in compare_runs(name, cell, values):
                yield check._replace(tolerance=tolerance)


def compare_runs(name: str, cell: dict[str, Any], values: list[float]) -> Iterator[Check]:
    """Each run, the mean and, of several runs, the deviation and the 95 % t-interval."""
    for r, (stored, value) in enumerate(zip(cell["runs"], values, strict=True)):
        yield Check(f"{name}, run {r}", stored, value)
    mean, n = float(np.mean(values)), len(values)
    yield Check(f"{name}, mean", cell["mean"], mean)
    if n > 1:
        from scipy.stats import t

        sd = float(np.std(values, ddof=1))
        reach = float(t.ppf(0.975, n - 1)) * sd / np.sqrt(n)
        yield Check(f"{name}, sd", cell["sd"], sd)
        yield from compare_ends(name, cell, mean, reach)


def compare_ends(name: str, cell: dict[str, Any], value: float, reach: float) -> Iterator[Check]:
    """The ends of an interval."""
    yield Check(f"{name}, low", cell["low"], value - reach)
    yield Check(f"{name}, high", cell["high"], value + reach)


def entropy(loss: str, p: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The generalized entropy G of one label."""
    if loss == "log":
        return np.asarray(-xlog2(p, p) - xlog2(rest, rest))
    if loss == "squared":
        return np.asarray(p * rest)
    if loss == "spherical":
        return np.asarray(1 - np.sqrt(p**2 + rest**2))
    false_positive, false_negative = {
        "zero-one": (1, 1),
        "cost 1 : 9": (1, 9),
        "cost 9 : 1": (9, 1),
    }[loss]
    return np.asarray(np.minimum(false_negative * p, false_positive * rest))


def compare_drops(
    name: str, table: dict[str, Any], before: np.ndarray, after: np.ndarray, label: np.ndarray
) -> Iterator[Check]:
    """Table 2 from mean EU (runs, classes) and the class that got new data in each run; and how
    often the EU of another class rises.
    """
    for kind in ("absolute", "relative"):
        drop = (before - after) / (before if kind == "relative" else 1)
        others = np.stack([np.delete(row, k) for row, k in zip(drop, label, strict=True)])
        columns = {
            "selected": drop[np.arange(len(label)), label],
            "others": others.mean(axis=1),
            "next highest": others.max(axis=1),
        }
        for column, values in columns.items():
            cell = table["drop"][kind][column]
            yield Check(f"{name}{kind}, {column}", cell["mean"], float(np.mean(values)))
            yield Check(f"{name}{kind}, {column}, sd", cell["sd"], float(np.std(values)))
    rises, cases = table["EU of another class rises"]
    yield Check(f"{name}EU of another class rises", rises, float((others < 0).sum()))
    yield Check(f"{name}other classes", cases, float(others.size))
