"""Formulas of the audit, written out again in float64 and as directly as possible, with NumPy,
SciPy and scikit-learn alone.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

__all__ = [
    "DAMAGED",
    "MEASURES",
    "PAIRS",
    "PARTS",
    "Check",
    "all_scores",
    "area",
    "auroc",
    "compare_drops",
    "compare_runs",
    "complement",
    "delong",
    "entropy",
    "opened",
    "read_labels",
    "read_probs",
    "run_folders",
]

PARTS = ("total", "aleatoric", "epistemic")
MEASURES = ("variance", "label-wise entropy", "entropy")
PAIRS = tuple(combinations(MEASURES, 2))
Check = tuple[str, float, float]
"""Name of the number, as stored, as recomputed."""
DAMAGED = (
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
)
"""What reading a damaged file, or looking for numbers that are not in it, may raise."""


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
    except DAMAGED as error:
        what = error.args[0] if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise ValueError(f"{path.parent.name}/{path.name}: {what}") from error


def read_probs(path: Path, members: int | None = None) -> np.ndarray:
    """Stored logarithms of the first ``members`` as probabilities that sum to 1."""
    with opened(path) as file:
        p = np.exp(file["log_probs"][:members].astype(np.float32)).astype(np.float64)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def read_labels(path: Path) -> np.ndarray:
    """The true labels beside stored predictions."""
    with opened(path) as file:
        return np.asarray(file["y_true"].astype(int))


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


def delong(inside: list[np.ndarray], outside: list[np.ndarray]) -> tuple[float, float, float]:
    """The difference of two AUROCs of the same instances with DeLong's 95 % interval, from each
    instance's share of pairs that it wins.
    """
    from scipy.stats import rankdata

    wins_in, wins_out = [], []
    for a, b in zip(inside, outside, strict=True):
        ranks = rankdata(np.r_[a, b])
        wins_out.append((ranks[len(a) :] - rankdata(b)) / len(a))
        wins_in.append(1 - (ranks[: len(a)] - rankdata(a)) / len(b))
    of_in, of_out = wins_in[0] - wins_in[1], wins_out[0] - wins_out[1]
    value, reach = (
        float(of_out.mean()),
        1.959964
        * float(np.sqrt(of_in.var(ddof=1) / len(of_in) + of_out.var(ddof=1) / len(of_out))),
    )
    return value, value - reach, value + reach


def area(score: np.ndarray, correct: np.ndarray) -> float:
    """Accuracy averaged over all numbers of instances that are kept; among equal scores in random
    order, on average.
    """
    _, level, counts = np.unique(score, return_inverse=True, return_counts=True)
    each = (np.bincount(level, weights=correct) / counts)[np.sort(level)]
    return float(np.mean(np.cumsum(each) / np.arange(1, len(each) + 1)))


def run_folders(folder: Path, about: dict[str, Any]) -> Iterator[tuple[int, Path]]:
    """Number and folder of each run."""
    for r in range(about["runs"]):
        yield r, folder / f"run-{r}"


def compare_runs(name: str, cell: dict[str, Any], values: list[float]) -> Iterator[Check]:
    """Each run, the mean and, of several runs, the deviation and the 95 % t-interval."""
    yield from (
        (f"{name}, run {r}", a, b)
        for r, (a, b) in enumerate(zip(cell["runs"], values, strict=True))
    )
    yield f"{name}, mean", cell["mean"], float(np.mean(values))
    if len(values) > 1:
        sd = float(np.std(values, ddof=1))
        yield f"{name}, sd", cell["sd"], sd
        if "low" in cell:
            from scipy.stats import t

            reach = float(t.ppf(0.975, len(values) - 1)) * sd / np.sqrt(len(values))
            yield f"{name}, low", cell["low"], float(np.mean(values)) - reach
            yield f"{name}, high", cell["high"], float(np.mean(values)) + reach


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
    """Table 2 from mean EU (runs, classes) and the class that got new data in each run."""
    for kind in ("absolute", "relative"):
        drop = (before - after) / (before if kind == "relative" else 1)
        own = [row[k] for row, k in zip(drop, label, strict=True)]
        others = [np.delete(row, k) for row, k in zip(drop, label, strict=True)]
        columns = {
            "selected": own,
            "others": [x.mean() for x in others],
            "next highest": [x.max() for x in others],
        }
        for column, values in columns.items():
            yield (
                f"{name}{kind}, {column}",
                table["drop"][kind][column]["mean"],
                float(np.mean(values)),
            )
            yield (
                f"{name}{kind}, {column}, sd",
                table["drop"][kind][column]["sd"],
                float(np.std(values)),
            )
